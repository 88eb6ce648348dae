"""Rules that compare with another dataset, against joins and sums in Polars."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from rules.dirty import dirty_dataset, oracle_rows

from penstock import rules
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, MissingInputError, SchemaError

ROWS = oracle_rows()
SHOPS = pl.DataFrame({"code": ["s0", "s2", "s3", "s3", None]})


@pytest.fixture
def dataset(engine: Engine, tmp_path: Path) -> Dataset:
    return dirty_dataset(engine, tmp_path)


@pytest.fixture
def dirty(local: Engine, tmp_path: Path) -> Dataset:
    return dirty_dataset(local, tmp_path)


def _unmatched(others: pl.DataFrame, on: list[str], right: list[str]) -> pl.DataFrame:
    return ROWS.with_row_index("at").drop_nulls(on).join(others, left_on=on, right_on=right, how="anti")


def test_rows_without_a_match_are_counted_and_the_first_is_named(dataset: Dataset) -> None:
    unmatched = _unmatched(SHOPS, ["shop"], ["code"])
    shops = dataset.engine.from_arrow(SHOPS.to_arrow())
    outcome = dataset.check(rules.ForeignKey("shop", shops, "code")).outcomes[0]
    assert (outcome.passed, outcome.broken) == (False, len(unmatched))
    assert (Path(outcome.path or "").name, outcome.row) == ("0.parquet", unmatched["at"].min())
    assert f"shop = '{unmatched.sort('at')['shop'][0]}'" in outcome.message


def test_a_key_of_several_columns_matches_as_a_whole(dirty: Dataset) -> None:
    known = ROWS.select("shop", "zip").drop_nulls().unique(maintain_order=True)[1:]
    unmatched = _unmatched(known, ["shop", "zip"], ["shop", "zip"])
    reference = dirty.engine.from_arrow(known.to_arrow())
    outcome = dirty.check(rules.ForeignKey(["shop", "zip"], reference)).outcomes[0]
    assert outcome.broken == len(unmatched) > 0


def test_a_reference_with_all_keys_is_kept_and_nulls_are_left_out(dirty: Dataset) -> None:
    reference = dirty.engine.from_arrow(ROWS.select("shop").drop_nulls().to_arrow())
    outcome = dirty.check(rules.ForeignKey("shop", reference), rules.RowCount(least=400)).outcomes[0]
    assert (outcome.passed, outcome.broken, outcome.row) == (True, 0, None)


def test_a_reference_is_read_from_a_path(dirty: Dataset, tmp_path: Path) -> None:
    known = SHOPS.drop_nulls()
    for write, name in ((known.write_csv, "shops.csv"), (known.write_parquet, "shops.parquet")):
        path = tmp_path / "shops" / name
        path.parent.mkdir(exist_ok=True)
        write(path)
        outcome = dirty.check(rules.ForeignKey("shop", str(path), "code")).outcomes[0]
        assert outcome.broken == len(_unmatched(known, ["shop"], ["code"]))
        assert name in outcome.rule or "ForeignKey(['shop'], " in outcome.rule


def test_sums_of_integers_are_compared_exactly(dataset: Dataset) -> None:
    total = sum(ROWS["amount"].to_list())
    parts = pa.array([total // 400] * 399 + [total - 399 * (total // 400) + 7])
    other = dataset.engine.from_arrow(pa.table({"a": parts}))
    outcomes = dataset.check(*(rules.SumEquals("amount", other, "a", tolerance=each) for each in (0, 6, 7))).outcomes
    assert [each.passed for each in outcomes] == [False, False, True]
    assert outcomes[0].observed == {"sum": total, "other": total + 7}


def test_sums_of_floats_are_those_of_polars(dirty: Dataset) -> None:
    other = dirty.engine.from_arrow(pa.table({"age": [ROWS["age"].sum(), None]}))
    assert dirty.check(rules.SumEquals("age", other, tolerance=1e-9)).passed


def test_decimals_and_unsigned_integers_are_added_exactly(local: Engine) -> None:
    data = local.from_arrow(pa.table({"d": [Decimal("0.10"), Decimal("0.20"), None]}))
    other = local.from_arrow(pa.table({"d": [Decimal("0.30")], "u": pa.array([2**64 - 1], pa.uint64())}))
    twice = local.from_arrow(pa.table({"u": pa.array([2**63 - 1, 2**63], pa.uint64())}))
    assert data.check(rules.SumEquals("d", other)).passed
    assert twice.check(rules.SumEquals("u", other)).passed


def test_what_does_not_suit_is_refused_before_reading(dirty: Dataset, subtests: pytest.Subtests) -> None:
    for rule, error, told in (
        (lambda shops: rules.ForeignKey("age", shops, "code"), SchemaError, "age"),
        (lambda shops: rules.ForeignKey("shop", shops, "cod"), SchemaError, "Did you mean 'code'?"),
        (lambda shops: rules.ForeignKey("shop", 5), ConfigError, "ForeignKey takes a Dataset, found int"),
        (lambda shops: rules.ForeignKey("shop", "nowhere.parquet"), MissingInputError, "matches no file"),
        (lambda shops: rules.SumEquals("age", shops, "code"), SchemaError, "column 'code' is string, and SumEquals"),
        (lambda shops: rules.SumEquals("age", shops), SchemaError, "column 'age' is not in the data"),
    ):
        with subtests.test(rule=rule, error=error, told=told):
            shops = dirty.engine.from_arrow(SHOPS.to_arrow())
            with pytest.raises(error) as caught:
                dirty.check(rule(shops))
            assert told in str(caught.value)


def test_a_wrong_parameter_is_refused_when_the_rule_is_made() -> None:
    for wrong, told in (
        (lambda: rules.ForeignKey(["a", "b"], "x", ["c"]), "has 2 columns and 1 of the reference"),
        (lambda: rules.ForeignKey([], "x"), "columns of ForeignKey are []"),
        (lambda: rules.SumEquals("a", "x", tolerance=-1), "tolerance of SumEquals is -1"),
        (lambda: rules.SumEquals("a", "x", tolerance=None), "tolerance of SumEquals is None"),
    ):
        with pytest.raises(ConfigError) as caught:
            wrong()
        assert told in str(caught.value)
