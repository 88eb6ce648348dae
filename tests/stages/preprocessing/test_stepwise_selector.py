"""StepwiseSelector against fits of least squares by NumPy, and p-values of SciPy."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError, SchemaError

RNG = np.random.default_rng(11)
X = RNG.normal(size=(120, 6)) @ RNG.normal(size=(6, 6)) + 50
Y = X @ np.array([1.0, 0.0, -0.6, 0.0, 0.25, 0.0]) + RNG.normal(size=120) * 2
W = RNG.integers(1, 4, 120).astype(float)
NAMES = tuple("abcdef")
TABLE = pa.table({**dict(zip(NAMES, X.T, strict=True)), "y": Y, "w": W})


def square_error(places: Any, weight: np.ndarray) -> float:
    root = np.sqrt(weight)
    design = np.column_stack([np.ones(len(Y)), X[:, list(places)]]) * root[:, None]
    residual = Y * root - design @ np.linalg.lstsq(design, Y * root, rcond=None)[0]
    return float(residual @ residual)


def information(places: Any, criterion: str, weight: np.ndarray) -> float:
    price = 2 if criterion == "aic" else np.log(len(Y))
    return len(Y) * np.log(square_error(places, weight) / len(Y)) + price * (len(places) + 1)


def p_value(place: int, places: Any) -> float:
    """Return that of a column which is among `places`."""
    freedom, ones = len(Y) - len(places) - 1, np.ones(len(Y))
    error = square_error(places, ones)
    gain = square_error([each for each in places if each != place], ones) - error
    return float(scipy.stats.f.sf(gain / error * freedom, 1, freedom))


def test_no_step_that_was_allowed_makes_the_criterion_better(learn, subtests):
    for criterion in ["aic", "bic"]:
        for direction in ["forward", "backward", "both"]:
            for weighted in [False, True]:
                with subtests.test(criterion=criterion, direction=direction, weighted=weighted):
                    weight = W if weighted else np.ones(len(Y))
                    options = {"direction": direction, "criterion": criterion, "weight": "w" if weighted else None}
                    _, fitted = learn(st.StepwiseSelector(NAMES, "y", **options), TABLE.slice(0, 50), TABLE.slice(50))
                    chosen = [NAMES.index(name) for name in fitted["selected"]]
                    assert fitted["score"] == pytest.approx(information(chosen, criterion, weight), rel=1e-10)
                    others = {
                        name: information(sorted(set(chosen) ^ {place}), criterion, weight)
                        for place, name in enumerate(NAMES)
                    }
                    assert fitted["scores"] == pytest.approx(others, rel=1e-10)
                    added = [others[name] for name in NAMES if name not in fitted["selected"]]
                    removed = [others[name] for name in fitted["selected"]]
                    tried = added * (direction != "backward") + removed * (direction != "forward")
                    assert min(tried, default=np.inf) >= fitted["score"]


def test_both_ways_end_at_the_best_of_all_subsets_where_columns_are_independent(learn, rng):
    independent = np.linalg.qr(rng.normal(size=(120, 6)) - 0)[0]
    independent -= independent.mean(axis=0)
    y = independent @ np.array([3.0, 0.0, 2.0, 0.1, 0.0, -2.0]) + rng.normal(size=120) * 0.1
    table = pa.table({**dict(zip(NAMES, independent.T, strict=True)), "y": y})

    def aic(places: Any) -> float:
        design = np.column_stack([np.ones(120), independent[:, list(places)]])
        residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        return 120 * np.log(residual @ residual / 120) + 2 * (len(places) + 1)

    subsets = itertools.chain.from_iterable(itertools.combinations(range(6), size) for size in range(7))
    expected = [NAMES[place] for place in min(subsets, key=aic)]
    _, fitted = learn(st.StepwiseSelector(NAMES, "y"), table)
    assert fitted["selected"] == expected


def test_p_values_decide_by_the_f_test(learn):
    _, fitted = learn(st.StepwiseSelector(NAMES, "y", criterion="p_value"), TABLE)
    chosen = [NAMES.index(name) for name in fitted["selected"]]
    assert fitted["score"] is None
    for place, name in enumerate(NAMES):
        expected = p_value(place, sorted({*chosen, place}))
        assert fitted["scores"][name] == pytest.approx(expected, rel=1e-7)
        assert (expected <= 0.1) if place in chosen else (expected >= 0.05)


def test_strict_p_values_keep_fewer_columns(learn):
    _, loose = learn(st.StepwiseSelector(NAMES, "y", criterion="p_value", p_enter=0.5, p_remove=0.5), TABLE)
    _, strict = learn(st.StepwiseSelector(NAMES, "y", criterion="p_value", p_enter=1e-9, p_remove=1e-9), TABLE)
    assert set(strict["selected"]) < set(loose["selected"])


def test_constant_columns_and_repeated_ones_are_never_added(learn):
    table = pa.table({"a": X[:, 0], "same": np.ones(120), "again": 1 - X[:, 0], "y": X[:, 0] + X[:, 1]})
    for direction in ("forward", "backward"):
        bound, fitted = learn(st.StepwiseSelector(("a", "same", "again"), "y", direction=direction), table)
        assert fitted["selected"] == ["a"]
        assert bound.left_out(fitted)["again"] == "it is constant, or others explain it"


def test_a_label_that_is_explained_ends_the_steps(learn):
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": 2 * X[:, 0] - X[:, 1]})
    _, fitted = learn(st.StepwiseSelector(("a", "b", "c"), "y"), table)
    assert fitted["selected"] == ["a", "b"]


def test_more_columns_than_rows_leave_a_degree_of_freedom(learn, rng, subtests):
    table = pa.table({name: rng.normal(size=4) for name in (*NAMES, "y")})
    for direction in ["forward", "backward"]:
        with subtests.test(direction=direction):
            _, fitted = learn(st.StepwiseSelector(NAMES, "y", direction=direction), table)
            assert len(fitted["selected"]) <= 2


def test_a_regression_after_it_takes_what_is_left(local):
    stages = (st.StepwiseSelector(NAMES, "y", criterion="bic"), st.LinearRegression("y", weight="w"))
    model = ps.Pipeline(*stages).fit(local.from_arrow(TABLE))
    assert model.fitted[1]["features"] == model.fitted[0]["selected"]
    assert model.report.scans == 2


def test_what_cannot_be_is_refused_before_reading(learn, subtests):
    for options, error, message in [
        ({"p_enter": 0.2}, ConfigError, "p_remove of StepwiseSelector is 0.1, and p_enter is 0.2"),
        ({"criterion": "cp"}, ConfigError, "criterion of StepwiseSelector is 'cp'"),
        ({"columns": ("a", "y")}, ConfigError, "label 'y' is among the columns"),
        ({"weight": "a"}, ConfigError, "weight 'a' is among the columns"),
        ({"label": "none"}, SchemaError, "'none'"),
    ]:
        with subtests.test(options=options), pytest.raises(error, match=message):
            learn(st.StepwiseSelector(**{"columns": NAMES, "label": "y", **options}), TABLE)


def test_a_constant_label_is_refused(learn):
    with pytest.raises(DataValueError, match="label 'y' is constant"):
        learn(st.StepwiseSelector("a", "y"), pa.table({"a": X[:, 0], "y": np.ones(120)}))
