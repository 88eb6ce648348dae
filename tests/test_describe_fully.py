"""What a full description says beside: histograms, correlations, missing patterns, warnings; and two side by side."""

from __future__ import annotations

import datetime as dt
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from displays import Page
from sklearn.metrics import mutual_info_score

import penstock as ps
from penstock.errors import ConfigError, SchemaError
from penstock.statistics import Distribution

ROWS = 1200


def table() -> pa.Table:
    """Return columns each with something that would hurt a model, and some without."""
    rng = np.random.default_rng(5)
    x, other = rng.normal(size=(2, ROWS))
    gone = rng.uniform(size=ROWS) < 0.6
    label = (x + rng.normal(size=ROWS) > 0).astype(int)
    return pa.table(
        {
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
    )


TABLE = table()
FRAME = pl.DataFrame(TABLE)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("described")
    for part in range(4):
        pq.write_table(TABLE.slice(part * 300, 300), folder / f"part-{part}.parquet")
    return folder / "*.parquet"


@pytest.fixture
def data(engine, files):
    return engine.read_parquet(files, allow_unmanifested=True)


@pytest.fixture
def described(local, files):
    return local.read_parquet(files, allow_unmanifested=True).describe(full=True, label="label")


def labels(local, monkeypatch):
    noted = []
    reduce = local.reduce
    monkeypatch.setattr(local, "reduce", lambda *task, label: noted.append(label) or reduce(*task, label=label))
    return noted


def test_histograms_are_numpys(data):
    description = data.describe(full=True)
    for name in ("x", "y", "endless"):
        bars, values = description[name].histogram, FRAME[name].to_numpy()
        inside = values[(values >= bars.edges[0]) & (values <= bars.edges[-1])]
        assert list(bars.counts) == np.histogram(inside, np.array(bars.edges))[0].tolist()
        assert (bars.below, bars.above) == ((values < bars.edges[0]).sum(), (values > bars.edges[-1]).sum())
        assert np.ptp(np.diff(bars.edges)) < 1e-9


def test_whole_numbers_have_bars_of_whole_numbers(local):
    bars = local.from_arrow(pa.table({"n": [1, 1, 2, 4]})).describe(full=True)["n"].histogram
    assert (bars.edges, bars.counts) == ((0.5, 1.5, 2.5, 3.5, 4.5), (2, 1, 0, 1))
    wide = local.from_arrow(pa.table({"n": range(100)})).describe(full=True)["n"].histogram
    assert set(np.diff(wide.edges)) == {4.0}
    assert sum(wide.counts) == 100


def test_days_have_bars_of_whole_days(data):
    bars = data.describe("day", full=True)["day"].histogram
    assert {edge.time() for edge in bars.edges} == {dt.time()}
    days = FRAME["day"].cast(pl.Datetime).to_numpy()
    assert list(bars.counts) == np.histogram(days, np.array(bars.edges, dtype="datetime64[us]"))[0].tolist()


def test_points_in_time_have_bars_of_time(local):
    noon = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    column = pa.array([noon, noon + dt.timedelta(hours=3)], pa.timestamp("ms", "Asia/Tokyo"))
    bars = local.from_arrow(pa.table({"t": column})).describe(full=True)["t"].histogram
    assert (bars.edges[0], bars.edges[-1]) == (dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 1, 1, 15))
    assert (bars.counts[0], sum(bars.counts)) == (1, 2)


def test_a_single_point_in_time_has_a_bar_of_two_hours(local):
    moment = dt.datetime(2024, 1, 1, 12)
    bars = local.from_arrow(pa.table({"t": [moment, moment]})).describe(full=True)["t"].histogram
    assert (bars.edges, bars.counts) == ((dt.datetime(2024, 1, 1, 11), dt.datetime(2024, 1, 1, 13)), (2,))


def test_a_tail_that_is_far_off_has_no_bars_and_is_counted(local):
    values = [*np.linspace(0.0, 1.0, 999), 1e9]
    bars = local.from_arrow(pa.table({"x": values})).describe(full=True)["x"].histogram
    assert bars.edges[-1] <= 1.0
    assert bars.above + sum(bars.counts) + bars.below == 1000


@pytest.mark.parametrize("values", [[5.0], [0.0, 0.0], [-1e308, 1e308], [1e16, 1e16 + 2], [math.inf, 2.0, None]])
def test_bars_of_odd_values_count_all_of_them(local, values):
    bars = local.from_arrow(pa.table({"x": values})).describe(full=True)["x"].histogram
    assert bars.below + sum(bars.counts) + bars.above == sum(value is not None for value in values)


@pytest.mark.parametrize("values", [[None], [math.inf, -math.inf]])
def test_without_finite_values_there_are_no_bars(local, values):
    assert local.from_arrow(pa.table({"x": pa.array(values, pa.float64())})).describe(full=True)["x"].histogram is None


def test_bars_of_many_values_are_within_the_error_of_quantiles(local):
    from penstock.dataset.description.histogram import histogram

    rng = np.random.default_rng(0)
    values, weights = np.sort(rng.normal(size=5000)), rng.integers(1, 4, 5000)
    bars = histogram(Distribution(values, weights, error=3))
    assert list(bars.counts) == np.histogram(values, np.array(bars.edges), weights=weights)[0].tolist()


def test_correlations_are_those_of_pandas(data):
    found = data.describe(full=True).correlations
    numbers = FRAME.select(found.columns).with_columns(pl.col("endless").replace(math.inf, None)).to_pandas()
    expected = numbers.astype(float).corr().to_numpy()
    matrix = np.array([[math.nan if value is None else value for value in row] for row in found.matrix])
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=1e-14)


def test_missing_patterns_are_those_of_polars(data):
    found = data.describe(["gone", "too", "x"], full=True).missing_patterns
    both = FRAME["gone"].null_count()
    assert [(each.columns, each.rows) for each in found.patterns] == [(("gone", "too"), both), ((), ROWS - both)]
    assert (found.others, found.error) == (0, 0)


def test_skewness_is_that_of_pandas(data):
    for name in ("x", "tail"):
        population = pd.Series(FRAME[name]).to_numpy()
        expected = ((population - population.mean()) ** 3).mean() / population.std() ** 3
        assert data.describe(name, full=True)[name].skewness == pytest.approx(expected, rel=1e-10)


@pytest.mark.thorough
def test_each_column_that_would_hurt_is_named(data):
    found = data.describe(full=True, label="label").warnings
    assert [(each.name, each.columns) for each in found] == [
        ("constant", ("one",)),
        ("missing", ("gone",)),
        ("missing", ("too",)),
        ("missing", ("nothing",)),
        ("near_unique", ("id",)),
        ("infinite", ("endless",)),
        ("skewed", ("tail",)),
        ("padded", ("padded",)),
        ("mixed", ("numbers",)),
        ("duplicated", ("x", "again")),
        ("correlated", ("x", "minus")),
        ("leaking", ("told",)),
    ]
    assert all(each.advice and str(each).startswith(each.name) for each in found)


def test_ordinary_columns_are_not_warned_of(local):
    rng = np.random.default_rng(1)
    columns = {"x": rng.normal(size=500), "e": rng.exponential(size=500), "zone": rng.choice(["a", "b"], 500)}
    columns |= {"n": rng.integers(0, 50, 500), "zip": rng.choice(["08001", "10115"], 500), "y": rng.integers(0, 2, 500)}
    assert local.from_arrow(pa.table(columns)).describe(label="y").warnings == ()


def test_nothing_is_warned_of_no_rows(local):
    schema = pa.schema({"x": pa.float64(), "s": pa.string(), "d": pa.date32(), "l": pa.list_(pa.int64())})
    description = local.from_arrow(schema.empty_table()).describe(full=True)
    assert (description.warnings, description.rows) == ((), 0)
    description.to_html()


def test_a_column_is_as_informative_as_scikit_learn_says(local):
    rng = np.random.default_rng(2)
    zone = rng.choice(["a", "b", "c"], 600)
    label = np.where(rng.uniform(size=600) < 0.8, zone == "a", rng.integers(0, 2, 600)).astype(int)
    found = local.from_arrow(pa.table({"zone": zone, "label": label})).describe(label="label")["zone"].association
    shares = np.bincount(label) / 600
    entropy = -(shares * np.log(shares)).sum()
    by_chance = (6 - 3 - 2 + 1) / 1200  # six pairs of three zones and two classes
    assert found == pytest.approx((mutual_info_score(zone, label) - by_chance) / entropy, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("label", ["label", "told", "late", "y", "one"])
def test_any_label_is_told_by_itself_and_by_nothing_that_is_drawn_apart(local, files, label):
    data = local.read_parquet(files, allow_unmanifested=True)
    told = {column.name: column.association for column in data.describe(full=True, label=label).columns}
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


def test_rows_without_a_label_tell_nothing(local):
    columns = {"label": [0, 1, None, 0, 1, None] * 50, "c": ["a", "b", "a", "a", "b", "b"] * 50}
    assert local.from_arrow(pa.table(columns)).describe(label="label")["c"].association == 1.0


@pytest.mark.thorough
def test_a_full_description_is_one_scan_and_a_label_one_more(local, files, monkeypatch):
    data, noted = local.read_parquet(files, allow_unmanifested=True), labels(local, monkeypatch)
    data.describe(full=True)
    assert noted == ["describe"]
    data.describe(label="label")
    assert noted == ["describe", "describe", "associations"]


def test_engines_agree_to_the_bit(distributed_engine, described, files):
    data = distributed_engine.read_parquet(files, allow_unmanifested=True)
    assert data.describe(full=True, label="label").to_dict() == described.to_dict()


@pytest.mark.thorough
def test_states_kept_by_fragment_are_described_alike(local, files, tmp_path, described):
    data = local.read_parquet(files, allow_unmanifested=True).cache_states(str(tmp_path / "states"))
    for _ in range(2):
        assert data.describe(full=True, label="label").to_dict() == described.to_dict()


def test_what_a_plain_description_gathers_is_as_it_was(local, monkeypatch):
    wanted = []
    monkeypatch.setattr(
        ps.Dataset,
        "gather",
        lambda self, each, label, gather=ps.Dataset.gather: wanted.extend(each) or gather(self, each, label),
    )
    local.from_arrow(TABLE).describe()
    names = ["RowCount", "Counts", "Moments", "Extremes", "Quantiles", "DistinctValues"]
    assert [type(each).__name__ for each in wanted] == names


def test_the_basic_facts_of_a_full_description_are_those_of_a_plain_one(data):
    plain = data.describe(["x", "gone", "id", "day", "late"]).to_dict()["columns"]
    full = data.describe(["x", "gone", "id", "day", "late"], full=True).to_dict()["columns"]
    assert {name: {key: full[name][key] for key in facts} for name, facts in plain.items()} == plain


@pytest.mark.thorough
def test_json_has_all_of_it(described):
    told = json.loads(json.dumps(described.to_dict(), allow_nan=False))
    assert sorted(told) == ["columns", "correlations", "label", "missing_patterns", "rows", "warnings"]
    assert told["warnings"][0]["columns"] == ["one"]
    assert told["columns"]["day"]["histogram"]["edges"][0] == "2024-01-01T00:00:00"


@pytest.mark.thorough
def test_text_has_a_line_a_warning(described):
    assert "skewed: tail: its skewness is" in repr(described)


@pytest.mark.parametrize(
    ("label", "kind", "problem"),
    [("lable", SchemaError, "Did you mean 'label'"), ("day", SchemaError, "label 'day' is date32")],
)
def test_a_label_that_is_none_is_refused_before_reading(local, label, kind, problem):
    with pytest.raises(kind, match=problem):
        local.from_arrow(TABLE).describe(label=label)


def test_a_label_is_described_whatever_columns_are_asked_for(local):
    assert [each.name for each in local.from_arrow(TABLE).describe("x", label="label").columns] == ["x", "label"]


@pytest.fixture
def compared(engine):
    one = pa.table({"x": [1, 2, None], "zone": ["a", "a", "b"], "old": [1.0, 2.0, 3.0]})
    other = pa.table({"new": [True, False], "zone": ["b", "c"], "x": [1.5, 9.0]})
    left, right = (engine.from_arrow(each).describe(full=True) for each in (one, other))
    return left.compare(right, names=("monday", "tuesday"))


def test_columns_of_one_alone_and_of_other_types_are_named(compared):
    assert (compared.only_left, compared.only_right) == (("old",), ("new",))
    assert compared.type_changes == {"x": ("int64", "double")}
    assert [(one.name, other.name) for one, other in compared.pairs] == [("x", "x"), ("zone", "zone")]


def test_facts_stand_side_by_side(compared):
    lines = repr(compared).splitlines()
    assert lines[0] == "monday 3 rows, tuesday 2 rows"
    assert lines[2].split()[:6] == ["x", "monday", "int64", "33.3%", "2", "1.5"]
    assert lines[3].split()[:5] == ["tuesday", "double", "0.0%", "2", "5.25"]
    assert lines[5].endswith("b: 1, c: 1")


def test_two_descriptions_are_a_frame_and_json(compared):
    frame = compared.to_polars()
    assert frame.select("dataset", "column").rows()[:2] == [("monday", "x"), ("tuesday", "x")]
    assert frame.filter(column="new")["dataset"].to_list() == ["tuesday"]
    told = json.loads(json.dumps(compared.to_dict(), allow_nan=False))
    assert (told["type_changes"], told["right"]["rows"]) == ({"x": ["int64", "double"]}, 2)


def test_a_notebook_shows_two_side_by_side(compared):
    page = Page(compared._repr_html_())
    assert "rows of monday 3" in page.of("span")
    assert "tuesday" in page.of("td")


@pytest.mark.parametrize("names", [("a",), ("a", "a"), ("a", 1)])
def test_names_that_do_not_tell_two_apart_are_refused(compared, names):
    with pytest.raises(ConfigError, match="expected two different texts"):
        compared.left.compare(compared.right, names=names)
