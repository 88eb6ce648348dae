"""Comparisons with profiles to draw: with every kind of alarm, without any, and of hostile names and values."""

from functools import cache

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock import stages as st
from penstock.pipeline.drift.drift_report import DriftReport

ROWS = 2000
_HOSTILE = ["<script>alert(1)</script>", "x" * 300, "\u202eabc", "a\nb", "", "=cmd()"]


def _rows(seed: int, shift: float, zones: list[str], names: tuple[str, str] = ("fare", "zone")) -> pa.Table:
    rng = np.random.default_rng(seed)
    fare = rng.normal(shift, 1.0, ROWS)
    fare[rng.uniform(size=ROWS) < 0.02 + shift / 20] = np.nan
    tip = np.nan_to_num(fare) + (1 + shift) * rng.normal(size=ROWS)
    columns = {
        names[0]: fare,
        names[1]: rng.choice(zones, ROWS),
        "side": rng.choice(["left", "right"], ROWS),
        "tip": tip,
    }
    return pa.table(columns)


def _compared(before: pa.Table, now: pa.Table) -> DriftReport:
    engine, evaluator = ps.LocalEngine(device="cpu"), st.RegressionEvaluator(label="tip", metrics=["rmse", "mae"])
    number, text = before.column_names[:2]
    pipeline = ps.Pipeline(
        st.Imputer(number), st.StringIndexer(text), st.LinearRegression("tip", features=[number, text])
    )
    rows, later = engine.from_arrow(before), engine.from_arrow(now)
    model = pipeline.fit(rows).with_profile(rows, slices=["side"], evaluators=[evaluator], bootstrap=20)
    return model.drift(later, evaluators=[evaluator], bootstrap=20)


@cache
def full() -> DriftReport:
    """Return a comparison with alarms of all kinds."""
    return _compared(_rows(0, 0.0, ["airport", "centre", "harbour"]), _rows(1, 1.0, ["airport", "centre", "station"]))


@cache
def quiet() -> DriftReport:
    """Return a comparison without an alarm."""
    zones = ["airport", "centre"]
    return _compared(_rows(0, 0.0, zones), _rows(1, 0.0, zones))


@cache
def hostile() -> DriftReport:
    """Return a comparison of names and values that nobody would choose."""
    names = ("<b>&\"'" + "long " * 30, "\u202e<i>")
    return _compared(_rows(0, 0.0, _HOSTILE[:3], names), _rows(1, 1.0, _HOSTILE, names))
