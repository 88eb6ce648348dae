"""Sums, means, norms and ends of columns against NumPy by hand and MLlib's Summarizer."""

import math

import numpy as np
import pyarrow as pa
import pytest

from penstock import stat
from penstock.errors import ConfigError, DataValueError, SchemaError

NUMBERS = ("x", "y.z", "n", "b")


def by_hand(values, weight):
    x, w = values[weight > 0].astype(float), weight[weight > 0]
    mean = np.average(x, weights=w)
    variance = (w * (x - mean) ** 2).sum() / (w.sum() - (w * w).sum() / w.sum())
    return {
        "count": len(x),
        "num_nonzeros": np.count_nonzero(x),
        "weight": w.sum(),
        "mean": mean,
        "variance": variance,
        "std": math.sqrt(variance),
        "min": x.min(),
        "max": x.max(),
        "norm_l1": (w * np.abs(x)).sum(),
        "norm_l2": math.sqrt((w * x * x).sum()),
        "sum": (w * x).sum(),
    }


def test_metrics_are_numpys(data, drawn):
    for weight in (None, "w"):
        weights = drawn["w"] if weight else np.ones(len(drawn["x"]))
        found = stat.summarize(data, NUMBERS, weight)
        assert tuple(found) == NUMBERS
        for name in NUMBERS:
            assert vars(found[name]) == pytest.approx(by_hand(drawn[name], weights), rel=1e-12)
    assert stat.summarize(data, "x")["x"].variance == pytest.approx(drawn["x"].var(ddof=1), rel=1e-13)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_metrics_are_mllibs(spark, drawn, local):
    from pyspark.ml.functions import array_to_vector
    from pyspark.ml.stat import Summarizer
    from pyspark.sql.functions import array

    names = ("mean", "variance", "std", "count", "numNonZeros", "max", "min", "normL1", "normL2", "sum")
    rows = [(float(x), float(y), float(w)) for x, y, w in zip(drawn["x"], drawn["n"], drawn["w"], strict=True)]
    frame = spark.createDataFrame(rows, ["x", "n", "w"]).select(array_to_vector(array("x", "n")).alias("v"), "w")
    summary = frame.select(Summarizer.metrics(*names).summary(frame.v, frame.w).alias("s")).first()["s"]
    found = stat.summarize(local.from_arrow(pa.table(drawn)), ["x", "n"], "w")
    ours = ("mean", "variance", "std", "num_nonzeros", "max", "min", "norm_l1", "norm_l2", "sum")
    theirs = [name for name in names if name != "count"]
    for place, name in enumerate(("x", "n")):
        assert found[name].count == summary["count"]
        for one, other in zip(ours, theirs, strict=True):
            assert getattr(found[name], one) == pytest.approx(summary[other][place], rel=1e-10)


def test_nulls_are_left_out_column_by_column(local):
    found = stat.summarize(local.from_arrow(pa.table({"x": [1.0, None, 3.0], "y": [None, 2, 2]})), ["x", "y"])
    assert (found["x"].count, found["x"].mean, found["y"].mean, found["y"].variance) == (2, 2.0, 2.0, 0.0)


def test_without_values_there_are_counts_alone(local):
    for values in ([], [None, None]):
        found = stat.summarize(local.from_arrow(pa.table({"x": pa.array(values, pa.float32())})), "x")["x"]
        assert (found.count, found.weight, found.sum, found.norm_l2) == (0, 0.0, 0.0, 0.0)
        assert found.mean is found.variance is found.min is found.max is None


def test_of_one_row_the_variance_is_unknown(local):
    found = stat.summarize(local.from_arrow(pa.table({"x": [4.0], "w": [0.3]})), "x", "w")["x"]
    assert (found.mean, found.variance, found.std, found.min) == (4.0, None, None, 4.0)


def test_bad_values_are_named_with_their_row(local, subtests):
    for column, values, problem, row in [
        ("x", [1.0, math.inf], "'x' has 1 values that are infinite", 1),
        ("x", [1e200, 1.0], "'x' has 1 values that are too large", 0),
        ("w", [1.0, None], "'w' has 1 values that are null", 1),
        ("w", [1.0, math.inf], "'w' has 1 values that are infinite", 1),
        ("w", [-1.0, 1.0], "'w' has 1 values that are negative", 0),
    ]:
        with subtests.test(problem):
            table = pa.table({"x": [1.0, 2.0], "w": [1.0, 1.0], column: values})
            with pytest.raises(DataValueError, match=problem) as caught:
                stat.summarize(local.from_arrow(table), "x", "w")
            assert caught.value.row == row


def test_columns_of_other_types_are_refused(local):
    data = local.from_arrow(pa.table({"c": ["a"]}))
    with pytest.raises(SchemaError, match="'c' is string, summarize expects numbers or booleans"):
        stat.summarize(data, "c")
    with pytest.raises(SchemaError, match="Did you mean 'c'"):
        stat.summarize(data, "cc")
    with pytest.raises(ConfigError, match="summarize takes a Dataset, found"):
        stat.summarize(pa.table({"x": [1]}), "x")
