"""The mapping that evaluators give."""

import pickle

from penstock.stages.evaluation import Evaluation


def test_is_a_plain_dict_to_the_reader():
    evaluation = Evaluation({"rmse": 0.5})
    assert repr(evaluation) == "{'rmse': 0.5}"
    assert evaluation == {"rmse": 0.5}
    assert evaluation.reasons == {}


def test_prints_as_an_aligned_table_with_reasons():
    evaluation = Evaluation({"areaUnderROC": 0.75, "r2": None}, {"r2": "the labels do not vary"})
    assert str(evaluation) == "areaUnderROC  0.75\nr2            undefined: the labels do not vary"


def test_of_nothing_prints_as_nothing():
    assert str(Evaluation()) == ""


def test_pickles_with_its_reasons():
    copy = pickle.loads(pickle.dumps(Evaluation({"r2": None}, {"r2": "why"})))
    assert type(copy) is Evaluation
    assert copy == {"r2": None}
    assert copy.reasons == {"r2": "why"}
