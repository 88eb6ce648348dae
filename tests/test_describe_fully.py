"""What a full description says beside: histograms, correlations, missing patterns, warnings; and two side by side."""

import datetime as dt
import json
import math
from functools import cache

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from displays import Page
from sklearn.metrics import mutual_info_score

import penstock as ps
from penstock.dataset.description.histogram import histogram
from penstock.errors import ConfigError, SchemaError
from penstock.statistics import Distribution

ROWS = 1200


@cache
def table() -> pa.Table:
    """Return columns each with something that would hurt a model, and some without."""
    rng = np.random.default_rng(5)
    x, other = rng.normal(size=(2, ROWS))
    gone = rng.uniform(size=ROWS) < 0.6
    label = (x + rng.normal(size=ROWS) > 0).astype(int)
    columns = {
        "x": x,
        "y": 0.5 * x + other,
        "again": x,
        "minus": -2 * x + 1,
        "gone": pa.array(other, mask=gone),
        "too": pa.array(rng.integers(0, 9, ROWS), mask=gone),
        "one": [7] * ROWS,
        "nothing": pa.nulls(ROWS, pa.float64()),
        "id": [f"k{place}" for place in range(ROWS)],
        "tail": np.exp(3 * rng.normal(size=ROWS)),
        "endless": np.where(np.arange(ROWS) == 900, np.inf, rng.normal(size=ROWS)),
        "padded": [" a" if place % 2 else "a" for place in range(ROWS)],
        "numbers": [str(place % 7) for place in range(ROWS)],
        "day": [dt.date(2024, 1, 1) + dt.timedelta(int(day)) for day in rng.integers(0, 90, ROWS)],
        "seen": [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=place) for place in range(ROWS)],
        "late": rng.integers(0, 2, ROWS).astype(bool),
        "label": label,
        "told": np.where(label == 1, "yes", "no"),
    }
    return pa.table(columns)


@cache
def frame() -> pl.DataFrame:
    return pl.DataFrame(table())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("described")
    for part in range(4):
        pq.write_table(table().slice(part * 300, 300), folder / f"part-{part}.parquet")
    return folder / "*.parquet"


@pytest.fixture(scope="module")
def data(engines, files):
    return engines.get("local").read_parquet(files, allow_unmanifested=True)


@pytest.fixture(scope="module")
def described(data):
    return data.describe(full=True, label="label")


def full(local, name, values):
    """Return the full description of a column alone."""
    return local.from_arrow(pa.table({name: values})).describe(full=True)[name]


def test_histograms_are_numpys(described):
    for name in ("x", "y", "endless"):
        bars, values = described[name].histogram, frame()[name].to_numpy()
        inside = values[(values >= bars.edges[0]) & (values <= bars.edges[-1])]
        assert list(bars.counts) == np.histogram(inside, np.array(bars.edges))[0].tolist()
        assert (bars.below, bars.above) == ((values < bars.edges[0]).sum(), (values > bars.edges[-1]).sum())
        assert np.ptp(np.diff(bars.edges)) < 1e-9


def test_whole_numbers_and_days_have_bars_of_whole_ones(local, described):
    bars = full(local, "n", [1, 1, 2, 4]).histogram
    assert (bars.edges, bars.counts) == ((0.5, 1.5, 2.5, 3.5, 4.5), (2, 1, 0, 1))
    wide = full(local, "n", range(100)).histogram
    assert set(np.diff(wide.edges)) == {4.0}
    assert sum(wide.counts) == 100
    bars = described["day"].histogram
    assert {edge.time() for edge in bars.edges} == {dt.time()}
    days = frame()["day"].cast(pl.Datetime).to_numpy()
    assert list(bars.counts) == np.histogram(days, np.array(bars.edges, dtype="datetime64[us]"))[0].tolist()


def test_points_in_time_have_bars_of_time_and_a_single_one_has_one_of_two_hours(local):
    noon = dt.datetime(2024, 1, 1, 12)
    two = [noon.replace(tzinfo=dt.UTC), noon.replace(hour=15, tzinfo=dt.UTC)]
    bars = full(local, "t", pa.array(two, pa.timestamp("ms", "Asia/Tokyo"))).histogram
    assert (bars.edges[0], bars.edges[-1]) == (noon, noon.replace(hour=15))
    assert (bars.counts[0], sum(bars.counts)) == (1, 2)
    bars = full(local, "t", [noon, noon]).histogram
    assert (bars.edges, bars.counts) == ((noon.replace(hour=11), noon.replace(hour=13)), (2,))


def test_a_tail_that_is_far_off_has_no_bars_and_is_counted(local):
    bars = full(local, "x", [*np.linspace(0.0, 1.0, 999), 1e9]).histogram
    assert bars.edges[-1] <= 1.0
    assert bars.above + sum(bars.counts) + bars.below == 1000


def test_bars_of_odd_values_count_all_of_them_and_without_finite_values_there_are_none(local):
    for values in ([5.0], [0.0, 0.0], [-1e308, 1e308], [1e16, 1e16 + 2], [math.inf, 2.0, None]):
        bars = full(local, "x", values).histogram
        assert bars.below + sum(bars.counts) + bars.above == sum(value is not None for value in values), values
    for values in ([None], [math.inf, -math.inf]):
        assert full(local, "x", pa.array(values, pa.float64())).histogram is None


def test_bars_of_many_values_are_within_the_error_of_quantiles():
    rng = np.random.default_rng(0)
    values, weights = np.sort(rng.normal(size=5000)), rng.integers(1, 4, 5000)
    bars = histogram(Distribution(values, weights, error=3))
    assert list(bars.counts) == np.histogram(values, np.array(bars.edges), weights=weights)[0].tolist()


def test_correlations_are_those_of_pandas(described):
    found = described.correlations
    numbers = frame().select(found.columns).with_columns(pl.col("endless").replace(math.inf, None)).to_pandas()
    expected = numbers.astype(float).corr().to_numpy()
    matrix = np.array([[math.nan if value is None else value for value in row] for row in found.matrix])
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=1e-14)


def test_missing_patterns_are_those_of_polars(data):
    found = data.describe(["gone", "too", "x"], full=True).missing_patterns
    both = frame()["gone"].null_count()
    assert [(each.columns, each.rows) for each in found.patterns] == [(("gone", "too"), both), ((), ROWS - both)]
    assert (found.others, found.error) == (0, 0)


@pytest.mark.thorough
def test_each_column_that_would_hurt_is_named(described):
    found = described.warnings
    expected = (
        "constant one, missing gone, missing too, missing nothing, near_unique id, infinite endless, skewed tail,"
        " padded padded, mixed numbers, duplicated x again, correlated x minus, leaking told"
    )
    assert ", ".join(" ".join((each.name, *each.columns)) for each in found) == expected
    assert all(each.advice and str(each).startswith(each.name) for each in found)


def test_nothing_is_warned_of_ordinary_columns_and_of_no_rows(local):
    rng = np.random.default_rng(1)
    columns = {"x": rng.normal(size=500), "e": rng.exponential(size=500), "zone": rng.choice(["a", "b"], 500)}
    columns |= {"n": rng.integers(0, 50, 500), "zip": rng.choice(["08001", "10115"], 500), "y": rng.integers(0, 2, 500)}
    assert local.from_arrow(pa.table(columns)).describe(label="y").warnings == ()
    schema = pa.schema({"x": pa.float64(), "s": pa.string(), "d": pa.date32(), "l": pa.list_(pa.int64())})
    description = local.from_arrow(schema.empty_table()).describe(full=True)
    assert (description.warnings, description.rows) == ((), 0)
    description.to_html()


def test_a_column_is_as_informative_as_scikit_learn_says_of_rows_with_a_label(local):
    rng = np.random.default_rng(2)
    zone = rng.choice(["a", "b", "c"], 600)
    label = np.where(rng.uniform(size=600) < 0.8, zone == "a", rng.integers(0, 2, 600)).astype(int)
    found = local.from_arrow(pa.table({"zone": zone, "label": label})).describe(label="label")["zone"].association
    shares = np.bincount(label) / 600
    entropy = -(shares * np.log(shares)).sum()
    by_chance = (6 - 3 - 2 + 1) / 1200  # six pairs of three zones and two classes
    assert found == pytest.approx((mutual_info_score(zone, label) - by_chance) / entropy, rel=1e-12)
    columns = {"label": [0, 1, None, 0, 1, None] * 50, "c": ["a", "b", "a", "a", "b", "b"] * 50}
    assert local.from_arrow(pa.table(columns)).describe(label="label")["c"].association == 1.0


@pytest.mark.thorough
def test_any_label_is_told_by_itself_and_by_nothing_that_is_drawn_apart(data):
    for label in ("label", "told", "late", "y", "one"):
        told = {column.name: column.association for column in data.describe(label=label).columns}
        assert told[label] is None
        if label == "one":  # which has no entropy
            assert set(told.values()) == {None}
        else:
            assert told["padded"] < 0.02
            assert told["day"] < 0.1


def test_dates_and_numbers_that_give_a_label_away_are_found(local):
    days = [dt.date(2024, 1, 1) + dt.timedelta(place % 100) for place in range(1000)]
    values = {"day": days, "x": [math.sin(place % 100) for place in range(1000)]}
    data = local.from_arrow(
        pa.table({**values, "label": [day.day < 16 for day in days], "high": np.array(values["x"]) > 0.3})
    )
    assert [each.columns for each in data.describe(label="label").warnings if each.name == "leaking"] == [("day",)]
    assert ("x",) in [each.columns for each in data.describe(label="high").warnings if each.name == "leaking"]


@pytest.mark.thorough
def test_a_full_description_is_one_scan_and_a_label_one_more(local, data, monkeypatch):
    noted, reduce = [], local.reduce
    monkeypatch.setattr(local, "reduce", lambda *task, label: noted.append(label) or reduce(*task, label=label))
    data.describe(full=True)
    assert noted == ["describe"]
    data.describe(label="label")
    assert noted == ["describe", "describe", "associations"]


def test_engines_agree_to_the_bit(distributed_engine, described, files):
    data = distributed_engine.read_parquet(files, allow_unmanifested=True)
    assert data.describe(full=True, label="label").to_dict() == described.to_dict()


@pytest.mark.thorough
def test_states_kept_by_fragment_are_described_alike(data, tmp_path, described):
    kept = data.cache_states(str(tmp_path / "states"))
    for _ in range(2):
        assert kept.describe(full=True, label="label").to_dict() == described.to_dict()


def test_what_a_plain_description_gathers_is_as_it_was(data, monkeypatch):
    wanted, gather = [], ps.Dataset.gather
    noting = lambda self, each, label: wanted.extend(each) or gather(self, each, label)  # noqa: E731
    monkeypatch.setattr(ps.Dataset, "gather", noting)
    data.describe()
    names = ["RowCount", "Counts", "Moments", "Extremes", "Quantiles", "DistinctValues"]
    assert [type(each).__name__ for each in wanted] == names


@pytest.mark.thorough
def test_the_basic_facts_of_a_full_description_are_those_of_a_plain_one(data, described):
    plain, full = data.describe().to_dict()["columns"], described.to_dict()["columns"]
    assert {name: {key: full[name][key] for key in facts} for name, facts in plain.items()} == plain


@pytest.mark.thorough
def test_json_has_all_of_it_and_text_a_line_a_warning(described):
    told = json.loads(json.dumps(described.to_dict(), allow_nan=False))
    assert sorted(told) == ["columns", "correlations", "label", "missing_patterns", "rows", "warnings"]
    assert told["warnings"][0]["columns"] == ["one"]
    assert told["columns"]["day"]["histogram"]["edges"][0] == "2024-01-01T00:00:00"
    assert "skewed: tail: its skewness is" in repr(described)


def test_a_label_that_is_none_is_refused_and_is_described_whatever_columns_are_asked_for(data):
    for label, problem in (("lable", "Did you mean 'label'"), ("day", "label 'day' is date32")):
        with pytest.raises(SchemaError, match=problem):
            data.describe(label=label)
    assert [each.name for each in data.describe("x", label="label").columns] == ["x", "label"]


@pytest.fixture(scope="module")
def compared(engines):
    one = pa.table({"x": [1, 2, None], "zone": ["a", "a", "b"], "old": [1.0, 2.0, 3.0]})
    other = pa.table({"new": [True, False], "zone": ["b", "c"], "x": [1.5, 9.0]})
    left, right = (engines.get("local").from_arrow(each).describe(full=True) for each in (one, other))
    return left.compare(right, names=("monday", "tuesday"))


def test_two_have_columns_of_one_alone_and_of_other_types_in_a_frame_and_json(compared):
    assert (compared.only_left, compared.only_right) == (("old",), ("new",))
    assert compared.type_changes == {"x": ("int64", "double")}
    assert [(one.name, other.name) for one, other in compared.pairs] == [("x", "x"), ("zone", "zone")]
    frame = compared.to_polars()
    assert frame.select("dataset", "column").rows()[:2] == [("monday", "x"), ("tuesday", "x")]
    assert frame.filter(column="new")["dataset"].to_list() == ["tuesday"]
    told = json.loads(json.dumps(compared.to_dict(), allow_nan=False))
    assert (told["type_changes"], told["right"]["rows"]) == ({"x": ["int64", "double"]}, 2)


def test_two_are_shown_side_by_side_at_a_prompt_and_in_a_notebook(compared):
    lines = repr(compared).splitlines()
    assert lines[0] == "monday 3 rows, tuesday 2 rows"
    assert lines[2].split()[:6] == ["x", "monday", "int64", "33.3%", "2", "1.5"]
    assert lines[3].split()[:5] == ["tuesday", "double", "0.0%", "2", "5.25"]
    assert lines[5].endswith("b: 1, c: 1")
    page = Page(compared._repr_html_())
    assert "rows of monday 3" in page.of("span")
    assert "tuesday" in page.of("td")


def test_names_that_do_not_tell_two_apart_are_refused(compared):
    for names in (("a",), ("a", "a"), ("a", 1)):
        with pytest.raises(ConfigError, match="expected two different texts"):
            compared.left.compare(compared.right, names=names)
