"""What describe says of columns against Polars and NumPy, on every engine and on dirty data."""

import datetime as dt
import json
import math
from decimal import Decimal

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from displays import Page

from penstock import selectors
from penstock.errors import ConfigError, SchemaError

ROWS = 3000
MAY, DAY = dt.datetime(2024, 5, 1, 12, 30), dt.timedelta(1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Rows in three files, so that states of fragments are merged."""
    rng = np.random.default_rng(5)
    x = np.where(rng.uniform(size=ROWS) < 0.1, np.nan, rng.normal(3.0, 2.0, ROWS))
    zones = np.array(["a", "bb", "ccc", None], dtype=object)[rng.integers(0, 4, ROWS)]
    columns = {
        "x": x,
        "n": pa.array(rng.integers(0, 40, ROWS), pa.int16()),
        "zone": pa.array(zones.tolist(), pa.string()),
        "is.late": rng.integers(0, 2, ROWS).astype(bool),
        "day": [dt.date(2024, 1, 1) + dt.timedelta(int(day)) for day in rng.integers(0, 300, ROWS)],
        "words": [["w"] * int(size) for size in rng.integers(0, 5, ROWS)],
    }
    table, folder = pa.table(columns), tmp_path_factory.mktemp("described")
    for part in range(3):
        pq.write_table(table.slice(part * 1000, 1000), folder / f"part-{part}.parquet")
    return folder / "*.parquet", pl.DataFrame(table).with_columns(pl.col("x").fill_nan(None))


@pytest.fixture(scope="module")
def described(engines, files):
    return engines.get("local").read_parquet(files[0], allow_unmanifested=True).describe()


def one(local, values, kind=None, **options):
    data = local.from_arrow(pa.table({"c": pa.array(values, kind)}))
    return data.describe(**options)["c"]


def test_counts_missing_and_distinct_values_are_polars(described, files):
    frame = files[1]
    assert described.rows == ROWS
    for column in described.columns:
        nulls = frame[column.name].null_count()
        assert (column.count, column.missing) == (ROWS - nulls, nulls)
    for name in ("x", "n", "zone", "is.late", "day"):
        assert described[name].distinct == files[1][name].drop_nulls().n_unique()
        assert described[name].distinct_error == 0.0


def test_moments_ends_and_quantiles_of_numbers_are_those_of_polars_and_numpy(described, files):
    for name in ("x", "n"):
        column, values = described[name], files[1][name]
        assert (column.min, column.max) == (values.min(), values.max())
        assert column.mean == pytest.approx(values.mean(), rel=1e-13)
        assert column.std == pytest.approx(values.std(), rel=1e-13)
    values = files[1]["x"].drop_nulls().to_numpy()
    expected = {q: np.quantile(values, q, method="inverted_cdf") for q in (0.25, 0.5, 0.75)}
    assert (described["x"].quantiles, described["x"].quantile_error) == (expected, 0.0)


def test_frequent_values_are_polars(described, files):
    for name in ("n", "zone", "is.late"):
        counts = files[1][name].drop_nulls().value_counts().rows()
        expected = sorted(counts, key=lambda row: (-row[1], row[0]))[:5]
        assert described[name].top == tuple(expected)
        assert described[name].top_error == 0


def test_floating_numbers_dates_and_whole_numbers_of_many_values_have_no_frequent_ones(local, described):
    assert described["x"].top == described["day"].top == one(local, range(30_000)).top == ()


def test_lengths_of_strings_and_lists_are_polars(described, files):
    for name, lengths in (("zone", files[1]["zone"].str.len_chars()), ("words", files[1]["words"].list.len())):
        column = described[name]
        assert (column.length_min, column.length_max) == (lengths.min(), lengths.max())
        assert column.length_mean == pytest.approx(lengths.mean(), rel=1e-15)


def test_dates_have_a_first_and_a_last(described, files):
    assert (described["day"].first, described["day"].last) == (files[1]["day"].min(), files[1]["day"].max())
    assert described["day"].min is described["day"].mean is None


def test_one_scan_reads_what_is_described(local, files, monkeypatch):
    labels = []
    reduce = local.reduce
    monkeypatch.setattr(local, "reduce", lambda *task, label: labels.append(label) or reduce(*task, label=label))
    local.read_parquet(files[0], allow_unmanifested=True).describe()
    assert labels == ["describe"]


def test_steps_before_are_applied_and_no_rows_are_described(local):
    description = local.from_arrow(pa.table({"c": [1, 2, 3]})).filter(nw.col("c") > 1).describe()
    assert (description.rows, description["c"].min) == (2, 2)
    data = local.from_arrow(pa.schema({"x": pa.float64(), "s": pa.string(), "d": pa.date32()}).empty_table())
    description = data.describe()
    assert description.rows == 0
    assert [(column.count, column.distinct) for column in description.columns] == [(0, 0)] * 3


def test_many_values_are_estimated_and_said_to_be(local):
    column = one(local, [f"v{place}" for place in range(30_000)] + ["often"] * 9000)
    assert column.distinct_error > 0
    assert column.distinct == pytest.approx(30_001, rel=5 * column.distinct_error)
    assert column.top[0][0] == "often"
    assert column.top[0][1] <= 9000 <= column.top[0][1] + column.top_error


def test_nan_is_missing_a_column_of_nulls_has_only_its_count_and_one_row_no_spread(local):
    column = one(local, [math.nan, 7.0, None])
    assert (column.count, column.missing, column.distinct) == (1, 2, 1)
    assert (column.mean, column.std, column.quantiles[0.5]) == (7.0, None, 7.0)
    for kind in (pa.null(), pa.float64(), pa.string(), pa.date32(), pa.list_(pa.int64())):
        column = one(local, [None, None], kind)
        assert (column.count, column.missing) == (0, 2)
        assert column.mean is column.min is column.first is column.length_mean is None
        assert (column.quantiles, column.top) == ({}, ())


def test_infinite_numbers_and_squares_that_overflow_leave_mean_and_spread_undefined(local):
    column = one(local, [1.0, math.inf, -math.inf, None])
    assert (column.infinite, column.mean, column.std) == (2, None, None)
    assert (column.min, column.max) == (-math.inf, math.inf)
    column = one(local, [1e300, -1e300])
    assert (column.infinite, column.mean, column.std) == (0, None, None)


def test_the_largest_whole_numbers_are_not_rounded_and_decimals_are_numbers(local):
    assert one(local, [2**64 - 1, 2**63], pa.uint64()).max == 2**64 - 1
    column = one(local, [Decimal("1.50"), Decimal("2.25"), None])
    assert (column.min, column.max, column.mean, column.distinct) == (Decimal("1.50"), Decimal("2.25"), 1.875, 2)


def test_engines_agree_on_odd_columns(distributed_engine, local):
    odd = {
        "x": [math.nan, 1.0, None, math.inf],
        "huge": pa.array([2**64 - 1, 2**63, None, 1], pa.uint64()),
        "price": [Decimal("1.50"), Decimal("2.25"), None, None],
        "nothing": pa.nulls(4),
        "never": pa.nulls(4, pa.date32()),
        "words": [["a"], [], None, ["b", "c"]],
        "many": [f"v{place}" for place in range(4)],
    }
    for table in (pa.table(odd), pa.table(odd).slice(0, 0)):
        one, other = (engine.from_arrow(table).describe().to_dict() for engine in (distributed_engine, local))
        assert one == other


@pytest.mark.parametrize(
    "values, kind",
    [
        ([MAY, MAY + DAY], pa.timestamp("us")),
        ([MAY.replace(tzinfo=dt.UTC), (MAY + DAY).replace(tzinfo=dt.UTC)], pa.timestamp("ms", "UTC")),
        ([DAY, 2 * DAY], pa.duration("us")),
        pytest.param([MAY.time(), dt.time(23)], pa.time64("us"), marks=pytest.mark.cpu("cuDF has no times of day")),
    ],
    ids=str,
)
def test_times_have_a_first_and_a_last(local, values, kind):
    column = one(local, values, kind)
    assert (column.first, column.last, column.distinct) == (*values, 2)


@pytest.mark.cpu("cuDF needs pandas")
def test_nanoseconds_need_no_pandas(local, hide_modules):
    hide_modules("pandas")
    column = one(local, [1_700_000_000_123_456_789], pa.timestamp("ns"))
    assert column.first == dt.datetime(2023, 11, 14, 22, 13, 20, 123456)


def test_a_date_that_python_has_not_is_text_and_structs_and_bytes_have_counts_alone(local):
    column = one(local, [4_000_000], pa.date32())
    assert str(column.last).startswith("12921")
    json.dumps(column.to_dict())
    table = pa.table({"s": [{"a": 1}, None], "b": [b"\xff", None]})
    description = local.from_arrow(table).describe()
    assert [(column.count, column.missing, column.distinct) for column in description.columns] == [(1, 1, None)] * 2


def test_columns_are_chosen_by_name_and_by_type(local):
    data = local.from_arrow(pa.table({"a.b": [1], "s": ["x"], "y": [2.0]}))
    assert [column.name for column in data.describe("a.b").columns] == ["a.b"]
    assert [column.name for column in data.describe(["y", "s"]).columns] == ["y", "s"]
    assert [column.name for column in data.describe(selectors.numeric()).columns] == ["a.b", "y"]


def test_what_cannot_be_described_is_refused_before_reading_and_what_was_not_is_named(local, described):
    data = local.from_arrow(pa.table({"c": [1]}))
    for options, kind, problem in (
        ({"columns": ["cc"]}, SchemaError, "Did you mean 'c'"),
        ({"columns": ["c", "c"]}, ConfigError, "twice"),
        ({"quantiles": [50]}, ConfigError, "quantiles have 50, expected fractions between 0 and 1"),
        ({"quantiles": 0.5}, ConfigError, "quantiles is 0.5, expected several fractions"),
        ({"top": -1}, ConfigError, "top is -1"),
    ):
        with pytest.raises(kind, match=problem):
            data.describe(**options)
    with pytest.raises(SchemaError, match=r"column 'zon' was not described.*Did you mean 'zone'"):
        described["zon"]


def test_a_frame_has_one_row_a_column_and_json_what_applies(described, local):
    frame = described.to_polars()
    assert frame["column"].to_list() == ["x", "n", "zone", "is.late", "day", "words"]
    assert frame["type"].to_list() == ["double", "int16", "string", "bool", "date32[day]", "list<item: string>"]
    assert frame.filter(column="n")["50%"].item() == described["n"].quantiles[0.5]
    assert frame.filter(column="zone")["top"].to_list()[0][0]["value"] in ("a", "bb", "ccc")
    assert frame.filter(column="is.late")["top"].to_list()[0][0]["value"] in ("true", "false")
    data = local.from_arrow(pa.table({"x": [1.0, math.inf], "d": [dt.date(2024, 1, 2)] * 2}))
    told = json.loads(json.dumps(data.describe(quantiles=[0.5]).to_dict(), allow_nan=False))
    both = {"count": 2, "missing": 0, "distinct_error": 0.0}
    numbers = {"infinite": 1, "min": 1.0, "max": "inf", "quantiles": {"0.5": 1.0}, "quantile_error": 0.0}
    days = {"first": "2024-01-02", "last": "2024-01-02"}
    assert told["rows"] == 2
    assert told["columns"] == {
        "x": {"type": "double", "distinct": 2, **both, **numbers},
        "d": {"type": "date32[day]", "distinct": 1, **both, **days},
    }


def test_text_and_a_notebook_show_a_row_a_column_and_no_markup_or_control_characters(local):
    shown = repr(local.from_arrow(pa.table({"\x1b[31m": ["\x1b[2J"]})).describe())
    assert "\x1b" not in shown
    assert r"\x1b[31m" in shown
    page = Page(local.from_arrow(pa.table({"<b>": [1, 2, None], "s": ["x", "x", "y"]})).describe()._repr_html_())
    assert page.of("th")[-2:] == ["<b>", "s"]
    assert "rows 3" in page.of("span")
    assert "x: 2, y: 1" in page.of("td")
