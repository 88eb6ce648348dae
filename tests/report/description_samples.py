"""Descriptions to draw: of ordinary columns, of many, of hostile names and values, and two side by side."""

import datetime as dt
from functools import cache

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.dataset.description.data_description import DataDescription

ROWS = 400


@cache
def full() -> DataDescription:
    """Return a description with every figure and every warning."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=ROWS)
    label = (x + rng.normal(size=ROWS) > 0).astype(int)
    gone = rng.uniform(size=ROWS) < 0.6
    columns = {
        "x": x,
        "minus": -x,
        "twice": -x,
        "gone": pa.array(x, mask=gone),
        "too": pa.array(rng.integers(0, 1000, ROWS), mask=gone | (x > 1)),
        "tail": np.exp(3 * rng.normal(size=ROWS)),
        "endless": np.where(np.arange(ROWS) == 7, np.inf, x + rng.normal(size=ROWS)),
        "one": [7] * ROWS,
        "nothing": pa.nulls(ROWS, pa.float64()),
        "key": [f"k{place}" for place in range(ROWS)],
        "zone": rng.choice(["airport", " centre", "harbour"], ROWS),
        "digits": rng.choice(["1", "22", "x"], ROWS),
        "day": [dt.date(2024, 1, 1) + dt.timedelta(int(day)) for day in rng.integers(0, 300, ROWS)],
        "seen": [dt.datetime(2024, 1, 1, 0, 3) + dt.timedelta(seconds=37 * place) for place in range(ROWS)],
        "label": label,
        "told": label == 1,
    }
    return _described(columns, label="label")


@cache
def many() -> DataDescription:
    """Return a description of more columns, and more patterns, than a drawing has room for."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(300, 45)) * 10.0 ** rng.integers(-9, 9, 45)
    gone = rng.uniform(size=values.shape) < 0.3
    return _described({f"column number {i}": pa.array(values[:, i], mask=gone[:, i]) for i in range(45)})


@cache
def hostile() -> DataDescription:
    """Return a description of names and values that would break a page."""
    names = ["<script>alert(1)</script>", "W" * 300, "\u202eabc", "a\x1b[2Jb", "\u6771" * 40, "&amp;"]
    rng = np.random.default_rng(5)
    columns = {name: rng.choice(["<b>", "\u202e", "M" * 500, "", " "], 60) for name in names[:3]}
    columns |= {names[3]: [1e300, -1e300] * 30, names[4]: [1e-300 * place for place in range(60)]}
    return _described({**columns, names[5]: [2**62 + place for place in range(60)]})


@cache
def other() -> DataDescription:
    """Return what `full` is laid side by side with."""
    rng = np.random.default_rng(6)
    columns = {
        "x": rng.normal(0.5, 2.0, 90),
        "tail": [5.0] * 90,
        "too": [None] * 90,
        "zone": rng.choice(["airport", "W" * 60], 90),
        "day": [dt.date(2025, 1, 1)] * 90,
        "seen": [dt.datetime(2024, 1, 1, 0, 3)] * 90,
        "label": rng.uniform(size=90) > 0.5,
        "new": range(90),
    }
    return _described(columns)


def _described(columns: dict[str, object], **options: str) -> DataDescription:
    return ps.LocalEngine(device="cpu").from_arrow(pa.table(columns)).describe(full=True, **options)
