"""Rules that need statistics: each says of dirty rows what a query in Polars says of them."""

from datetime import UTC, date, datetime
from pathlib import Path

import narwhals as nw
import polars as pl
import pytest
from rules.dirty import dirty_dataset, oracle_rows

from penstock import rules
from penstock.dataset import Dataset
from penstock.engines.base import Engine

ROWS = oracle_rows()


@pytest.fixture
def dataset(local: Engine, tmp_path: Path) -> Dataset:
    return dirty_dataset(local, tmp_path)


@pytest.fixture
def everywhere(engine: Engine, tmp_path: Path) -> Dataset:
    """The rows on each engine."""
    return dirty_dataset(engine, tmp_path)


def _broken(dataset: Dataset, *, of: list[tuple[rules.DatasetRule, pl.Expr]]) -> None:
    """Compare the count and the first row of rules with those of expressions that are true for bad rows."""
    report = dataset.check(*(rule for rule, _ in of))
    for outcome, (_, bad) in zip(report.outcomes, of, strict=True):
        places = ROWS.with_row_index("at").filter(bad)["at"].to_list()
        assert (outcome.broken, outcome.passed) == (len(places), not places), outcome.rule
        file, row = (None, None) if not places else ("0", places[0]) if places[0] < 170 else ("1", places[0] - 170)
        assert (outcome.path and Path(outcome.path).stem, outcome.row) == (file, row), outcome.rule


def test_rows_that_break_a_rule_are_counted_and_the_first_is_named(everywhere: Dataset) -> None:
    age, shop = pl.col("age"), pl.col("shop")
    _broken(
        everywhere,
        of=[
            (rules.NullShare("age"), age.is_null()),
            (rules.NullShare("empty"), pl.lit(True)),
            (rules.InSet("shop", ["s0", "s1"]), shop.is_in(["s0", "s1"]).not_()),
            (rules.InSet("id", [*range(1, 397)]), pl.col("id").is_between(1, 396).not_()),
            (rules.Between("age", least=0, most=120), (age < 0) | (age > 120)),
            (rules.Between("day", least="2024-01-03", most="2024-02-20"),
             (pl.col("day") < date(2024, 1, 3)) | (pl.col("day") > date(2024, 2, 20))),
            (rules.Between("seen", most="2024-03-02T01:00"), pl.col("seen") > datetime(2024, 3, 2, 1)),
            (rules.Between("shop", least="s1"), shop < "s1"),
            (rules.Matches("zip", r"\d{4}"), pl.col("zip").str.contains(r"^\d{4}$").not_()),
            (rules.Matches("zip", r"80|4051"), pl.col("zip").is_in(["80", "4051"]).not_()),
            (rules.Condition("0 <= age < 120"), age.is_between(0, 120, closed="left").fill_null(False).not_()),
            (rules.Condition("age is None or age >= -4"), pl.lit(False)),
        ],
    )  # fmt: skip


def test_rows_whose_key_is_not_unique_are_counted_without_nulls(everywhere: Dataset) -> None:
    keys = (["id"], ["age"], ["day"], ["seen"], ["shop", "day"], ["day", "age", "zip"])
    for columns, outcome in zip(keys, everywhere.check(*map(rules.Unique, keys)).outcomes, strict=True):
        counts = ROWS.drop_nulls(columns).group_by(columns).len().filter(pl.col("len") > 1)
        assert (outcome.passed, outcome.broken) == (not len(counts), counts["len"].sum()), columns
        first = ROWS.with_row_index("at").join(counts.filter(pl.col("len") == counts["len"].max()), on=columns)
        places = {(str(at // 170), at % 170) if at < 170 else ("1", at - 170) for at in first["at"]}
        assert (Path(outcome.path or "").stem, outcome.row) in places, columns


def test_values_of_all_rows_that_differ_are_unique(local: Engine) -> None:
    data = local.from_arrow(pl.DataFrame({"a": ["x;1", "x", None, None], "b": ["y", "1;y", "z", "z"]}).to_arrow())
    report = data.check(rules.Unique(["a", "b"]), rules.Unique("a"))
    assert [(outcome.passed, outcome.broken) for outcome in report.outcomes] == [(True, 0), (True, 0)]


def test_minus_zero_and_zero_are_the_same_value_in_a_key(local: Engine) -> None:
    data = local.from_arrow(pl.DataFrame({"x": [0.0, -0.0], "y": [1, 1]}).to_arrow())
    assert [each.broken for each in data.check(rules.Unique("x"), rules.Unique(["x", "y"])).outcomes] == [2, 2]


MEASURES = {
    ("age", "mean"): ROWS["age"].mean(),
    ("age", "std"): ROWS["age"].std(),
    ("age", "min"): ROWS["age"].min(),
    ("age", "max"): ROWS["age"].max(),
    ("age", "q0.9"): ROWS["age"].quantile(0.9, "higher"),
    ("shop", "distinct"): ROWS["shop"].drop_nulls().n_unique(),
    ("amount", "sum"): sum(ROWS["amount"].to_list()),
    ("age", "sum"): ROWS["age"].sum(),
}


def test_a_number_of_a_column_is_compared_with_bounds(everywhere: Dataset) -> None:
    near, far = [], []
    for measured, expected in MEASURES.items():
        margin = abs(expected) / 1e9
        near.append(rules.Bounds(*measured, least=expected - margin, most=expected + margin))
        far.append(rules.Bounds(*measured, least=expected + abs(expected) / 100 + 1))
    outcomes = everywhere.check(*near, *far).outcomes
    assert [each.passed for each in outcomes] == [True] * len(near) + [False] * len(far)
    assert [each.observed for each in outcomes] == [pytest.approx(each, rel=1e-12) for each in MEASURES.values()] * 2


def test_integers_are_added_exactly(dataset: Dataset) -> None:
    assert dataset.check(rules.Bounds("amount", "sum", least=0)).outcomes[0].observed == sum(ROWS["amount"].to_list())


def test_a_column_without_values_breaks_bounds_and_freshness(dataset: Dataset) -> None:
    empty = dataset.filter(nw.col("id") < -1)
    assert [each.passed for each in empty.check(
        rules.Bounds("age", "mean", least=0), rules.Bounds("age", "median", least=0), rules.Fresh("day", "9999 days"),
        rules.Bounds("shop", "distinct", most=0), rules.Unique("id"), rules.NullShare("id"), rules.InSet("shop", ["a"]),
    ).outcomes] == [False, False, False, True, True, True, True]  # fmt: skip


def test_the_newest_day_is_compared_with_now(dataset: Dataset) -> None:
    newest = ROWS["day"].max()
    now = datetime(2024, 3, 3, 12, tzinfo=UTC)
    days = (now - datetime(newest.year, newest.month, newest.day, tzinfo=UTC)).days + 1
    report = dataset.check(
        rules.Fresh("day", f"{days} days", now=now), rules.Fresh("day", f"{days - 1} days", now="2024-03-03T12:00")
    )
    assert [(each.passed, each.observed) for each in report.outcomes] == [(True, newest), (False, newest)]


def test_now_is_the_time_of_the_check(dataset: Dataset) -> None:
    report = dataset.check(rules.Fresh("seen", "1 week"), rules.Fresh("seen", "99999 days"))
    assert [each.passed for each in report.outcomes] == [False, True]


def test_rows_are_counted(dataset: Dataset) -> None:
    asked = rules.RowCount(least=400, most=400), rules.RowCount(least=401), rules.RowCount(most=399)
    outcomes = dataset.check(*asked).outcomes
    assert [(each.passed, each.observed) for each in outcomes] == [(True, 400), (False, 400), (False, 400)]


def test_a_share_of_nulls_may_be_there(dataset: Dataset) -> None:
    nulls = ROWS["age"].null_count()
    most, less = dataset.check(
        rules.NullShare("age", most=nulls / 400), rules.NullShare("age", most=(nulls - 1) / 400)
    ).outcomes
    assert (most.passed, most.observed, less.passed) == (True, nulls / 400, False)


def test_some_rows_may_break_a_condition(dataset: Dataset) -> None:
    report = dataset.check(*(rules.Condition("age is None or age >= 0", most_broken=most) for most in (0, 1)))
    assert [(each.passed, each.broken) for each in report.outcomes] == [(False, 1), (True, 1)]


def test_infinite_values_break_a_rule_about_their_mean(local: Engine) -> None:
    data = local.from_arrow(pl.DataFrame({"x": [1.0, float("inf")]}).to_arrow())
    mean, between = data.check(rules.Bounds("x", "mean", most=9), rules.Between("x", least=0)).outcomes
    assert (mean.passed, between.passed) == (False, True)
    assert "column 'x' has 1 values that are infinite" in mean.message


def test_numbers_of_a_set_are_compared_as_the_column_holds_them(local: Engine) -> None:
    table = pl.DataFrame({"d": ["1.10", None], "f": [0.1, 0.2], "n": [1, 2]}).with_columns(
        pl.col("d").cast(pl.Decimal(9, 2)), pl.col("f").cast(pl.Float32)
    )
    report = local.from_arrow(table.to_arrow()).check(
        rules.InSet("d", [1.1]), rules.InSet("f", [0.1]), rules.InSet("n", [1.0]), rules.Between("f", least=0.1)
    )
    assert [each.broken for each in report.outcomes] == [0, 1, 1, 0]


def test_times_without_a_zone_are_in_utc(local: Engine) -> None:
    noon = pl.Series([datetime(2024, 1, 1, 12), None]).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
    data = local.from_arrow(pl.DataFrame({"t": noon}).to_arrow())
    report = data.check(
        rules.Between("t", least="2024-01-01T12:00", most="2024-01-01T21:00+09:00"),
        rules.InSet("t", ["2024-01-01T12:00"]),
        rules.Fresh("t", "1 hour", now="2024-01-01T13:00"),
        rules.Fresh("t", "1 hour", now="2024-01-01T13:00:01"),
    )
    assert [each.passed for each in report.outcomes] == [True, True, True, False]
