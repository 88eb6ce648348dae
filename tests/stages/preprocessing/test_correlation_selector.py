"""CorrelationSelector against NumPy, and against the rule of feature-engine."""

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import ConfigError, DataValueError
from penstock.stages import CorrelationSelector

RNG = np.random.default_rng(7)
BASE = RNG.normal(size=(500, 4))
X = 1e6 + BASE @ RNG.normal(size=(4, 12)) + RNG.normal(size=(500, 12)) * np.geomspace(0.1, 2, 12)
NAMES = [f"x{place}" for place in range(12)]
TABLE = pa.table(dict(zip(NAMES, X.T, strict=True)))


def feature_engine(x: np.ndarray, threshold: float) -> dict[int, int]:
    """Return which column is dropped for which, by the loop of feature-engine 1.8 over NumPy's correlations."""
    above = np.triu(np.abs(np.corrcoef(x, rowvar=False)), 1) > threshold
    examined, dropped = set(), {}
    for i in range(x.shape[1]):
        if i not in examined:
            examined.add(i)
            for j in range(x.shape[1]):
                if j not in examined and above[i, j]:
                    examined.add(j)
                    dropped[j] = i
    return dropped


def test_what_is_left_out_and_for_what_is_as_in_feature_engine(learn, subtests):
    for threshold in [0.2, 0.5, 0.7, 0.9, 1.0]:
        with subtests.test(threshold=threshold):
            _, fitted = learn(CorrelationSelector(NAMES, threshold=threshold), TABLE.slice(0, 77), TABLE.slice(77))
            dropped = feature_engine(X, threshold)
            assert fitted["twins"] == {NAMES[j]: NAMES[i] for j, i in dropped.items()}
            expected = np.corrcoef(X, rowvar=False)
            found = [fitted["correlations"][NAMES[j]] for j in dropped]
            np.testing.assert_allclose(found, [expected[i, j] for j, i in dropped.items()], rtol=1e-8)
            assert bool(dropped) == (threshold < 1)


def test_what_was_taken_out_takes_out_no_others(learn):
    # Of three unit vectors 20 degrees apart, neighbours have a correlation of 0.94, the ends one of 0.77.
    turns = np.deg2rad([0.0, 20.0, 40.0])
    circle = np.linspace(0, 2 * np.pi, 36, endpoint=False)
    table = pa.table({name: np.cos(circle - turn) for name, turn in zip("abc", turns, strict=True)})
    _, fitted = learn(CorrelationSelector(["a", "b", "c"], threshold=0.9), table)
    assert fitted["twins"] == {"b": "a"}
    assert fitted["correlations"]["b"] == pytest.approx(np.cos(turns[1]), rel=1e-12)
    _, fitted = learn(CorrelationSelector(["b", "a", "c"], threshold=0.9), table)
    assert fitted["twins"] == {"a": "b", "c": "b"}


def test_opposites_and_copies_are_found_and_constants_stay(learn):
    x = np.array([1.0, 2.0, 4.0])
    table = pa.table({"x": x, "flat": [0.1] * 3, "minus": -3 * x + 1, "copy": x, "b": [False, False, True]})
    bound, fitted = learn(CorrelationSelector(["x", "flat", "minus", "copy", "b"], threshold=0.99), table)
    assert fitted["twins"] == {"minus": "x", "copy": "x"}
    assert fitted["correlations"] == {"minus": pytest.approx(-1, abs=1e-15), "copy": pytest.approx(1, abs=1e-15)}
    assert bound.left_out(fitted)["minus"] == "its correlation with 'x' is -1, beyond 0.99"


def test_its_products_are_those_that_an_equal_statistic_has_gathered(local):
    data = local.from_arrow(TABLE)
    plan = ps.Pipeline(CorrelationSelector(NAMES), CorrelationSelector(NAMES[1:], threshold=0.5)).plan(data)
    assert [level.finishes for level in plan.levels] == [(0,), (1,)]
    (level, _) = plan.levels
    assert [len(probe.statistics) for probe in level.scan.probes()] == [1]


def test_values_that_have_no_correlation_are_refused_with_their_row(local, subtests):
    for value, told in [(None, "null"), (float("-inf"), "infinite"), (1e200, "too large")]:
        with subtests.test(value=value):
            table = pa.table({"x": [1.0, 2.0, 3.0], "y": [3.0, 2.0, value]})
            with pytest.raises(DataValueError, match=f"'y' has 1 values that are {told}") as caught:
                ps.Pipeline(CorrelationSelector(["x", "y"])).fit(local.from_arrow(table))
            assert (caught.value.column, caught.value.row) == ("y", 2)


def test_a_threshold_that_is_no_correlation_is_refused(subtests):
    for threshold in [-0.1, 1.1, float("nan"), "0.5"]:
        told = "threshold of CorrelationSelector is"
        with subtests.test(threshold=threshold), pytest.raises(ConfigError, match=told):
            CorrelationSelector("x", threshold=threshold)
