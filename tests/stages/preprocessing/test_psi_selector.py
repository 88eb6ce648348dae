"""PSISelector against pandas' bins, and closed forms."""

import datetime
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import Imputer, LinearRegression, PSISelector

RNG = np.random.default_rng(13)
ROWS = 2000
LATE = np.arange(ROWS) % 4 == 3
COLUMNS = {
    "same": RNG.normal(size=ROWS),
    "moved": RNG.normal(size=ROWS) + 0.3 * LATE,
    "gone": RNG.normal(size=ROWS) + 9 * LATE,
    "counts": RNG.poisson(1.0 + LATE),
    "s": RNG.choice(list("abcde"), ROWS),
    "flag": RNG.random(ROWS) < 0.1 + 0.5 * LATE,
}
TABLE = pa.table({**COLUMNS, "year": np.where(LATE, 2024, 2023), "y": RNG.normal(size=ROWS)})


def index(values: np.ndarray, bins: int) -> float:
    """Return the population stability index by bins that pandas makes."""
    early, late = (pd.Series(values[side]) for side in (~LATE, LATE))
    if early.dtype.kind in "if" and early.nunique() > bins:
        edges = np.unique(np.quantile(early, np.arange(1, bins) / bins, method="inverted_cdf"))
        early, late = (pd.cut(side, [-math.inf, *edges, math.inf]).cat.codes for side in (early, late))
    elif early.dtype.kind == "i":
        late = late.where(late.isin(early), other=-1)  # these are all beyond the earlier ones: one bin
    a, b = early.value_counts(normalize=True).align(late.value_counts(normalize=True), fill_value=0)
    a, b = (side.astype(float).replace(0.0, 1e-4) for side in (a, b))
    return float(((b - a) * np.log(b / a)).sum())


def test_indices_are_those_of_bins_that_pandas_makes(learn, subtests):
    for bins in [5, 10]:
        with subtests.test(bins=bins):
            stage = PSISelector(list(COLUMNS), "year", 2023, bins=bins)
            bound, fitted = learn(stage, TABLE.slice(0, 0), TABLE.slice(0, 501), TABLE.slice(501))
            expected = {name: index(values, bins) for name, values in COLUMNS.items()}
            assert fitted["psi"] == {name: pytest.approx(value, rel=1e-12) for name, value in expected.items()}
            left = [name for name in COLUMNS if expected[name] > 0.25]
            assert list(bound.left_out(fitted)) == left == ["gone", "counts", "flag"]


def test_of_few_distinct_numbers_each_is_a_bin_and_so_is_what_lies_between(learn):
    given = pa.table({"x": [0.0] + [1.0] * 19 + [0.0, 1.0, 1.0, 0.5], "t": [0] * 20 + [1] * 4})
    _, fitted = learn(PSISelector("x", "t", 0), given)
    shares = [(0.05, 0.25), (0.95, 0.5), (1e-4, 0.25)]
    assert fitted["psi"]["x"] == pytest.approx(sum((b - a) * math.log(b / a) for a, b in shares), rel=1e-14)


def test_null_is_a_bin_of_its_own(learn):
    given = pa.table({"x": [1.0, 1.0, 1.0, None, 1.0, None, None, None], "t": [0] * 4 + [1] * 4})
    _, fitted = learn(PSISelector("x", "t", 0), given)
    assert fitted["psi"]["x"] == pytest.approx(2 * 0.5 * math.log(3), rel=1e-15)


def test_a_bin_that_is_empty_on_one_side_counts_as_a_ten_thousandth(learn):
    given = pa.table({"s": ["a", "a", "b", "b"], "x": pa.array([None, None, 1, 2]), "t": [0, 0, 1, 1]})
    _, fitted = learn(PSISelector(["s", "x"], "t", 0), given)
    expected = 2 * (1 - 1e-4) * math.log(1e4)
    assert fitted["psi"] == {"s": pytest.approx(expected, rel=1e-15), "x": pytest.approx(expected, rel=1e-15)}


def test_columns_that_are_constant_or_null_throughout_are_stable(learn):
    given = pa.table({"flat": [0.1] * 4, "none": pa.nulls(4, pa.int64()), "t": [0, 0, 1, 1]})
    _, fitted = learn(PSISelector(["flat", "none"], "t", 0), given)
    assert fitted["psi"] == {"flat": 0.0, "none": 0.0}


def test_rows_are_parted_at_a_value_of_any_type(local, subtests):
    for values, cut_off in [
        ([1, 2, 2, 3], 2),
        ([1, 2, 2, 3], 2.5),
        ([1.0, 2.0, 2.5, 2.75], 2.5),
        ([False, False, False, True], False),
        (["a", "b", "ba", "bb"], "ba"),
        ([datetime.date(2024, 1, day) for day in (1, 2, 3, 4)], "2024-01-03"),
        ([datetime.datetime(2024, 1, 1, hour) for hour in (1, 2, 3, 4)], "2024-01-01 03:59:59"),
    ]:
        with subtests.test(values=values, cut_off=cut_off):
            data = local.from_arrow(pa.table({"x": [1, 2, 2, 1], "t": values}))
            stage = PSISelector("x", "t", cut_off, bins=2)
            model = ps.Pipeline(stage).fit(data)
            thirds = [(1 / 3, 1.0), (2 / 3, 1e-4)]
            expected = sum((b - a) * math.log(b / a) for a, b in thirds)
            assert model.fitted[0]["psi"]["x"] == pytest.approx(expected, rel=1e-15)


def test_a_model_learns_from_what_is_stable_in_one_scan_more(local):
    data = local.from_arrow(TABLE)
    selector = PSISelector(list(COLUMNS)[:4], "year", 2023)
    pipeline = ps.Pipeline(selector, Imputer("y"), LinearRegression("y", features=["same", "moved"]))
    assert [level.finishes for level in pipeline.plan(data).levels] == [(0, 1), (2,)]
    model = pipeline.fit(data)
    assert model.input_columns == ["same", "moved", "y"]


def test_values_that_cannot_be_compared_are_refused(local, subtests):
    for change, column, told in [
        ({"t": [1, 1, 2]}, "t", "'t' is at most 0 in no row"),
        ({"t": [0, 0, 0]}, "t", "'t' is beyond 0 in no row"),
        ({"t": [0, None, 1]}, "t", "'t' has 1 values that are null"),
        ({"t": [0.0, math.inf, 1.0]}, "t", "'t' has 1 values that are infinite"),
        ({"x": [0.0, math.inf, 1.0]}, "x", "'x' has 1 values that are infinite"),
    ]:
        with subtests.test(change=change, column=column):
            data = local.from_arrow(pa.table({"x": [1.0, 2.0, 3.0], "t": [0, 0, 1], **change}))
            with pytest.raises(DataValueError, match=told) as caught:
                ps.Pipeline(PSISelector("x", "t", 0)).fit(data)
            assert caught.value.column == column


def test_a_cut_off_that_is_no_value_of_its_column_is_refused(subtests):
    for columns, cut_off, kind, told in [
        ("x", "2024", pa.int64(), "cut_off of PSISelector is '2024', expected a value for column 't' of type int64"),
        ("x", 2024, pa.string(), "cut_off of PSISelector is 2024"),
        ("x", "yesterday", pa.date32(), "cut_off of PSISelector is 'yesterday'"),
        ("x", math.nan, pa.float64(), "cut_off of PSISelector is nan"),
        (["x", "t"], 0, pa.int64(), "split 't' is among the columns"),
    ]:
        with subtests.test(columns=columns, cut_off=cut_off, kind=kind), pytest.raises(ConfigError, match=told):
            PSISelector(columns, "t", cut_off).bind(pa.schema({"x": pa.int64(), "t": kind}))


def test_parameters_that_make_no_sense_are_refused(subtests):
    for options in [{"threshold": -1}, {"bins": 1}, {"bins": 2.5}]:
        told = f"{next(iter(options))} of PSISelector is"
        with subtests.test(options=options), pytest.raises(ConfigError, match=told):
            PSISelector("x", "t", 0, **options)


def test_a_column_of_dates_is_refused_before_reading():
    with pytest.raises(SchemaError, match=r"'d' is date32.*, but PSISelector takes numbers, booleans and strings"):
        PSISelector("d", "t", 0).bind(pa.schema({"d": pa.date32(), "t": pa.int64()}))
