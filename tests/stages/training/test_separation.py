"""Coefficients that grow without bound are named, as R's `detect_separation` does by a linear program over rows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import penstock as ps
from penstock import stages as st
from penstock.engines.base import Engine

ROWS = 40
DRAW = np.random.default_rng(0)
STAGES = (st.LogisticRegression("y"), st.GeneralizedLinearRegression("y", family="binomial"))


def fit(engine: Engine, stage: Any, **columns: Any) -> ps.PipelineModel:
    return ps.Pipeline(stage).fit(engine.from_arrow(pa.table(columns)))


def separating(x: np.ndarray, y: np.ndarray) -> set[str]:
    """Return the features of a direction along which no row gets less likely, and some more."""
    signed = np.column_stack([np.ones(len(x)), x / x.std(axis=0)]) * (2 * y - 1)[:, None]
    best = linprog(-signed.sum(axis=0), -signed, np.zeros(len(x)), bounds=[(-1, 1)] * signed.shape[1])
    return {f"x{place}" for place, value in enumerate(best.x[1:]) if abs(value) > 1e-9 and best.fun < -1e-9}


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a number and two rare flags, in units far apart, and labels of weak effects."""
    draw = np.random.default_rng(seed)
    x = np.column_stack([draw.normal(size=ROWS), draw.random((ROWS, 2)) < 0.07]) * (1e3, 1.0, 1e-3)
    x[:2, 1:] += [[1.0, 0.0], [0.0, 1e-3]]
    return x, (x[:, 0] / 1e3 + draw.logistic(size=ROWS) > 0).astype(int)


@pytest.mark.thorough
def test_quasi_separation_is_what_a_linear_program_finds(local: Engine, subtests: Any) -> None:
    found = []
    for seed in range(12):
        x, y = drawn(seed)
        expected = separating(x, y)
        for stage in STAGES:
            model = fit(local, stage, y=y, **{f"x{place}": x[:, place] for place in range(3)})
            learned = model.fitted[0]
            with subtests.test(stage.title, seed=seed):
                assert set(learned.get("unbounded_features", ())) == expected
                assert learned["converged"] is (not expected)
                assert all(repr(name) in model.report.notes[0] for name in expected)
            found.append(bool(expected))
    assert 6 < sum(found) < 20


def test_complete_separation_and_that_of_counts_are_named(local: Engine, subtests: Any) -> None:
    x, flag = np.linspace(-1, 1, ROWS), np.arange(ROWS) % 5 == 0
    counts = {"y": np.where(flag, 0, np.arange(ROWS) % 4), "x": x, "flag": flag}
    poisson = st.GeneralizedLinearRegression("y", family="poisson")
    probit = st.GeneralizedLinearRegression("y", family="binomial", link="probit")
    classes = {"y": np.where(flag, 2, np.arange(ROWS) % 3), "flag": flag, "x": x}
    complete = {"x": x, "y": x > 0}
    for stage, columns, expected in (
        (STAGES[0], complete, ["x"]),
        (STAGES[1], complete, ["x"]),
        (probit, {"flag": flag, "x": x, "y": flag | (np.arange(ROWS) % 2 == 0)}, ["flag"]),
        (poisson, counts, ["flag"]),
        (STAGES[0], classes, ["flag"]),
    ):
        with subtests.test(repr(stage), expected=expected):
            model = fit(local, stage, **columns)
            assert (model.fitted[0]["unbounded_features"], model.fitted[0]["converged"]) == (expected, False)
            assert "grow without bound" in model.report.notes[0]


def test_what_has_a_maximum_or_a_penalty_has_converged(local: Engine, subtests: Any) -> None:
    x, y = drawn(0)
    flag = np.arange(ROWS) < 2
    y[:2] = 1
    near = x[:, 0] + 1e-5 * DRAW.normal(size=ROWS)
    strong = np.linspace(-9, 9, ROWS)
    for name, options, columns in (
        ("penalty", {"reg_param": 0.01}, {"x": x[:, 0], "flag": flag, "y": y}),
        ("collinear", {}, {"x": x[:, 0], "near": near, "y": y}),
        ("nearly separated", {}, {"x": strong, "y": (strong > 0) ^ (np.abs(strong) < 0.3)}),
    ):
        for stage in STAGES:
            with subtests.test(name, stage=stage.title):
                learned = fit(local, type(stage)(**{**vars(stage), **options}), **columns).fitted[0]
                assert learned["converged"]
                assert "unbounded_features" not in learned
