"""CyclicalEncoder against its formula, and together with DateParts."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import CyclicalEncoder, DateParts

X = np.random.default_rng(6).uniform(-1000, 1000, 501)


@pytest.mark.parametrize(
    ("period", "number"),
    [(24, 24), (0.1, 0.1), (1e9, 1e9), ("second", 60), ("minute", 60), ("hour", 24), ("weekday", 7), ("day", 31),
     ("ordinal_day", 365.25), ("month", 12)],
)  # fmt: skip
def test_agrees_with_the_formula(apply, period, number):
    made = apply(CyclicalEncoder("x", period=period), pa.table({"x": X}))
    angles = 2 * np.pi * X / number
    error = 4 * np.finfo(float).eps * np.abs(angles).max()  # of the formula: it rounds large angles
    np.testing.assert_allclose(made["x_sin"].to_numpy(), np.sin(angles), rtol=0, atol=error)
    np.testing.assert_allclose(made["x_cos"].to_numpy(), np.cos(angles), rtol=0, atol=error)


@pytest.mark.parametrize("value", [1e16 + 2, -7e200, 2**53 + 1, 0.1, -0.1])
def test_large_numbers_lose_nothing(apply, value):
    made = apply(CyclicalEncoder("x", period=7), pa.table({"x": [float(value)]}))
    share = float(Fraction(float(value)) / 7 % 1)
    expected = [math.sin(math.tau * share), math.cos(math.tau * share)]
    np.testing.assert_allclose([made["x_sin"][0].as_py(), made["x_cos"][0].as_py()], expected, rtol=0, atol=2e-15)


def test_points_are_on_the_circle_and_the_ends_of_a_period_meet(apply):
    made = apply(CyclicalEncoder("x", period="hour"), pa.table({"x": list(range(25))}))
    points = np.column_stack([made["x_sin"], made["x_cos"]])
    np.testing.assert_allclose(np.hypot(*points.T), 1.0, rtol=1e-15)
    np.testing.assert_array_equal(points[0], points[24])
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-12)


def test_a_row_alone_gets_the_bits_that_it_gets_among_others(learn):
    table = pa.table({"x": [*X, None]})
    bound, _ = learn(CyclicalEncoder("x", period=7.3), table)
    together = bound.transform(frames.from_arrow(table), {}).select("x_sin", "x_cos").rows()
    call, rows = bound.row_function(table.schema, {}), [{"x": x} for x in table["x"].to_pylist()]
    for row in rows:
        call(row)
    assert [(row["x_sin"], row["x_cos"]) for row in rows] == together
    assert together[-1] == (None, None)


def test_periods_of_its_own_for_each_column_and_the_columns_stay(apply):
    table = pa.table({"h": [6, None], "d": [True, False]})
    made = apply(CyclicalEncoder(["h", "d"], period=["hour", 4]), table)
    assert made.schema.names == ["h", "d", "h_sin", "h_cos", "d_sin", "d_cos"]
    assert made.select(["h", "d"]).equals(table)
    assert (made["h_sin"].to_pylist(), made["d_sin"].to_pylist()) == ([1.0, None], [1.0, 0.0])


def test_parts_of_dates_go_round(local):
    days = [datetime.datetime(2024, 12, 30) + datetime.timedelta(days=i) for i in range(8)]
    data = local.from_arrow(pa.table({"at": days}))
    parts = DateParts("at", parts=("weekday", "ordinal_day"))
    encoder = CyclicalEncoder(["at_weekday", "at_ordinal_day"], period=("weekday", "ordinal_day"))
    made = ps.Pipeline(parts, encoder).fit(data).transform(data).to_arrow()
    weekdays = np.column_stack([made["at_weekday_sin"], made["at_weekday_cos"]])
    np.testing.assert_array_equal(weekdays[0], weekdays[7])
    assert np.linalg.norm(np.diff(made["at_ordinal_day_cos"].to_numpy())) < 0.01  # 31 December is next to 1 January


def test_an_infinity_is_refused_with_its_file_and_row(local, tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [3.0, math.inf]}), tmp_path / "b.parquet")
    model = ps.Pipeline(CyclicalEncoder("x", period=3)).fit(local.read_parquet(tmp_path / "a.parquet"))
    with pytest.raises(DataValueError, match="column 'x' has 1 values that are infinite") as caught:
        model.transform(local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])).to_arrow()
    assert (str(caught.value.path).endswith("b.parquet"), caught.value.row) == (True, 1)


@pytest.mark.parametrize("period", [0, -1, math.inf, math.nan, True, "week", (), (24, "week")])
def test_what_is_no_period_is_refused(period):
    with pytest.raises(ConfigError, match="period of CyclicalEncoder is"):
        CyclicalEncoder("x", period=period)


def test_columns_that_do_not_fit_are_refused_before_reading():
    schema = pa.schema({"x": pa.int64(), "s": pa.string(), "x_cos": pa.int64()})
    with pytest.raises(SchemaError, match="column 's' is string, but CyclicalEncoder takes numeric columns"):
        CyclicalEncoder("s", period=7).bind(schema)
    with pytest.raises(ConfigError, match="CyclicalEncoder adds 'x_cos', but there is a column of that name"):
        CyclicalEncoder("x", period=7).bind(schema)
    with pytest.raises(ConfigError, match="period of CyclicalEncoder has 2 values for 1 columns"):
        CyclicalEncoder("x", period=(7, 24)).bind(schema)
