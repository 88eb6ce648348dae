"""Metrics of sets of labels: MLlib's values, reasons where there are none, and errors that say where."""

import numpy as np
import pyarrow as pa
import pytest
from mllib_metrics import frame_of, metrics_of

from penstock.errors import SchemaError
from penstock.stages.evaluation.multilabel import MultilabelClassificationEvaluator

PYSPARK = "ignore:PySpark does not yet fully support pandas:FutureWarning"
BY_LABEL = ["precisionByLabel", "recallByLabel", "f1MeasureByLabel"]


def evaluated(local, evaluator=None, **columns):
    evaluator = evaluator or MultilabelClassificationEvaluator(metric_label=1)
    return evaluator.evaluate(local.from_arrow(pa.table(columns), fragment_bytes=2000))


def sample(least_predicted, least_true):
    """Return predictions and labels; lists ascend, since to MLlib an exact prediction has the order of the labels."""
    rng = np.random.default_rng(21)
    sides = [
        [sorted(rng.permutation(6)[: rng.integers(least, 5)].astype(float).tolist()) for _ in range(200)]
        for least in (least_predicted, least_true)
    ]
    return dict(zip(("prediction", "label"), sides, strict=True))


@pytest.mark.spark
@pytest.mark.filterwarnings(PYSPARK)
@pytest.mark.parametrize(
    ("least", "undefined"),
    [((1, 1), set()), ((0, 1), set()), ((1, 0), {"recall"}), ((0, 0), {"recall", "accuracy", "f1Measure"})],
)
def test_metrics_are_mllibs_and_none_where_it_has_nan(spark, local, least, undefined):
    from pyspark.ml.evaluation import MultilabelClassificationEvaluator as MLlib

    data = sample(*least)
    mine = MultilabelClassificationEvaluator(metric_label=1)
    found = evaluated(local, mine, **data)
    theirs = metrics_of(MLlib(metricLabel=1.0), frame_of(spark, data), found)
    for name, expected in theirs.items():
        assert found[name] == (None if np.isnan(expected) else pytest.approx(expected, rel=1e-12)), name
        assert mine.is_larger_better(name) == MLlib(metricName=name).isLargerBetter()
    assert {name for name, value in found.items() if value is None} == undefined
    assert found.reasons.keys() == undefined


def test_the_label_of_interest_may_be_a_string(local):
    for label, expected in {"b": 0.5, "c": 1.0}.items():
        evaluator = MultilabelClassificationEvaluator(metric_label=label, metrics=["precisionByLabel"])
        found = evaluated(local, evaluator, prediction=[["a", "b"], ["b", "c"]], label=[["b"], ["c"]])
        assert found == {"precisionByLabel": expected}


def test_a_label_that_does_not_occur_is_told(local):
    evaluator = MultilabelClassificationEvaluator(metrics=BY_LABEL)
    found = evaluated(local, evaluator, prediction=[["a"]], label=[["a"]])
    assert set(found.values()) == {None}
    assert found.reasons == {
        "precisionByLabel": "label 0.0 is never predicted",
        "recallByLabel": "no row has label 0.0",
        "f1MeasureByLabel": "label 0.0 does not occur",
    }


def test_rows_without_labels_are_counted_in_the_reasons(local):
    found = evaluated(local, prediction=[[1], [], [1]], label=[[], [], [1]])
    assert found.reasons["recall"] == "2 rows have no labels"
    assert found.reasons["accuracy"] == found.reasons["f1Measure"] == "1 rows have neither labels nor predictions"


def test_without_any_label_the_sums_over_labels_are_undefined(local):
    empty = pa.array([[]], pa.list_(pa.int64()))
    found = evaluated(local, prediction=empty, label=empty)
    assert found["subsetAccuracy"] == 1.0
    assert found.reasons["hammingLoss"] == found.reasons["microRecall"] == "no row has a label"
    assert found.reasons["microPrecision"] == "no row has a prediction"
    assert found["microF1Measure"] is None


def test_the_table_of_labels_has_the_names_of_the_metrics(local):
    found = evaluated(local, prediction=[["a"], ["b"]], label=[["a"], ["a"]]).tables["byLabel"]
    assert found.to_pylist() == [
        {"label": "a", "weight": 2.0, "precision": 1.0, "recall": 0.5, "f1Measure": pytest.approx(2 / 3)},
        {"label": "b", "weight": 0.0, "precision": 0.0, "recall": None, "f1Measure": 0.0},
    ]


def test_columns_of_other_types_are_refused_before_reading(local, subtests):
    for columns, message in [
        ({"prediction": [1.0], "label": [[1.0]]}, "'prediction' is double, but Multilabel.* takes lists of numbers"),
        ({"prediction": [["a"]], "label": [[1.0]]}, r"'label' is list<.*double>, .* type of column 'prediction'"),
        ({"prediction": [[1]], "label": [[1]], "weight": ["x"]}, "'weight' is string, .* takes numbers or booleans"),
        ({"prediction": [[1]]}, "'label' is not in the data"),
    ]:
        with subtests.test(message):
            evaluator = MultilabelClassificationEvaluator(weight="weight" if "weight" in columns else None)
            with pytest.raises(SchemaError, match=message) as caught:
                evaluated(local, evaluator, **columns)
            assert caught.value.stage == "MultilabelClassificationEvaluator"
