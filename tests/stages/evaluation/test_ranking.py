"""Metrics of ranked lists: MLlib's values, closed forms of ours, and errors that say where."""

import numpy as np
import pyarrow as pa
import pytest
from mllib_metrics import frame_of, metrics_of

from penstock.errors import ConfigError, SchemaError
from penstock.stages.evaluation.ranking import RankingEvaluator

PYSPARK = "ignore:PySpark does not yet fully support pandas:FutureWarning"
MLLIBS = ["meanAveragePrecision", "meanAveragePrecisionAtK", "precisionAtK", "ndcgAtK", "recallAtK"]


def evaluated(local, evaluator, **columns):
    return evaluator.evaluate(local.from_arrow(pa.table(columns), fragment_bytes=2000))


def sample(repeats=False):
    """Return rankings of any length and labels, some of both empty."""
    rng = np.random.default_rng(31)
    sides = [
        [rng.choice(9, rng.integers(0, 9), replace=repeats).astype(float).tolist() for _ in range(200)]
        for _ in range(2)
    ]
    return dict(zip(("prediction", "label"), sides, strict=True))


@pytest.mark.spark
@pytest.mark.filterwarnings(PYSPARK)
@pytest.mark.parametrize(("k", "repeats"), [(1, False), (4, True), (10, False), (20, True)])
def test_metrics_are_mllibs(spark, local, k, repeats):
    from pyspark.ml.evaluation import RankingEvaluator as MLlib

    data = sample(repeats)
    mine = RankingEvaluator(k=k, metrics=MLLIBS)
    expected = metrics_of(MLlib(k=k), frame_of(spark, data), MLLIBS)
    assert evaluated(local, mine, **data) == pytest.approx(expected, rel=1e-12)
    assert [mine.is_larger_better(name) for name in MLLIBS] == [MLlib(metricName=n).isLargerBetter() for n in MLLIBS]


def test_the_first_hit_gives_the_reciprocal_rank_and_the_hit_rate(local):
    evaluator = RankingEvaluator(k=2, metrics=["meanReciprocalRank", "hitRateAtK"])
    found = evaluated(local, evaluator, prediction=[[1, 2], [3, 4], [5, 6, 7], [8]], label=[[1], [4, 3], [7], [9]])
    assert found == {"meanReciprocalRank": pytest.approx((1 + 1 + 1 / 3 + 0) / 4), "hitRateAtK": 0.5}


def test_rows_without_labels_are_told_in_a_table(local):
    data = {"prediction": [["a"], ["b"], ["c"]], "label": [["a"], [], []], "weight": [2, 3, 0]}
    found = evaluated(local, RankingEvaluator(weight="weight"), **data).tables["documents"]
    assert found.to_pylist() == [
        {"hasLabels": True, "rows": 1, "weight": 2.0},
        {"hasLabels": False, "rows": 1, "weight": 3.0},
    ]


@pytest.mark.thorough
def test_the_table_of_cut_offs_ends_with_the_metrics(local):
    found = evaluated(local, RankingEvaluator(k=6), **sample())
    table = found.tables["atK"]
    last = table.to_pylist()[-1]
    assert table.column_names == ["k", "precision", "recall", "ndcg"]
    assert last == {"k": 6, "precision": found["precisionAtK"], "recall": found["recallAtK"], "ndcg": found["ndcgAtK"]}


def test_a_cut_off_below_one_is_refused_with_the_evaluator():
    for k in (0, 1.0, True):
        with pytest.raises(ConfigError, match=r"k is .*, expected an integer of at least 1") as caught:
            RankingEvaluator(k=k)
        assert caught.value.stage == "RankingEvaluator"


def test_a_column_that_holds_no_lists_is_refused_before_reading(local):
    with pytest.raises(SchemaError, match="'label' is int64, but RankingEvaluator takes lists") as caught:
        evaluated(local, RankingEvaluator(), prediction=[[1]], label=[1])
    assert (caught.value.column, caught.value.stage) == ("label", "RankingEvaluator")
