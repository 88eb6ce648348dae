"""Columns under other names, and columns left out."""

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock.dataset import Dataset
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.testing.datasets import restricted

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", "y", None], "c": [0.5, None, 2.5]})


def data() -> Dataset:
    return ps.LocalEngine(device="cpu").from_arrow(TABLE)


def test_names_are_swapped_in_their_places() -> None:
    assert data().rename({"a": "b", "b": "a"}).to_arrow().equals(TABLE.rename_columns(["b", "a", "c"]))


def test_a_name_that_was_dropped_before_can_be_given_again() -> None:
    made = data().drop("b").rename({"a": "b"}).with_columns(a=nw.col("b") * 2)
    assert made.to_arrow().to_pydict() == {"b": [1, 2, 3], "c": [0.5, None, 2.5], "a": [2, 4, 6]}


def test_statistics_before_and_after_a_rename_come_from_one_scan() -> None:
    from penstock.dataset.tasks import Probe
    from penstock.statistics import Counts

    made = data().drop("b").rename({"a": "b"})
    (before, after), _ = made.probe([Probe(0, (Counts(("b",)),)), Probe(2, (Counts(("b",)),))])
    counts = [Counts(("b",)).finish(state[0])["b"].valid for state in (before, after)]
    assert counts == [2, 3]


def test_only_what_is_asked_for_is_read_under_its_old_name() -> None:
    made = restricted(data(), ["a"]).rename({"a": "id", "b": "name"})
    assert made.select("id").to_arrow().to_pydict() == {"id": [1, 2, 3]}


def test_a_rename_that_cannot_be_is_refused(subtests: pytest.Subtests) -> None:
    for names, kind, match in [
        ({"a": "b"}, ConfigError, "would call 2 columns 'b': a, b"),
        ({"a": "z", "b": "z"}, ConfigError, "would call 2 columns 'z': a, b"),
        ({"aa": "z"}, SchemaError, "column 'aa' is not in the data"),
        ({"a": "__fold__"}, SchemaError, "keeps for the fold"),
        ({"a": ""}, SchemaError, "without a name"),
        ({"a": 1}, ConfigError, "expected strings"),
        ({}, ConfigError, "mapping"),
        ("a", ConfigError, "takes a mapping"),
    ]:
        with subtests.test(names=names), pytest.raises(kind, match=match):
            data().rename(names)


def test_columns_are_dropped_by_name() -> None:
    assert data().drop("a", "c").to_arrow().equals(TABLE.select(["b"]))
    assert data().drop(["a"]).columns == ["b", "c"]


def test_dropping_what_is_not_there_or_all_is_refused() -> None:
    with pytest.raises(SchemaError, match="column 'd' is not in the data"):
        data().drop("d")
    with pytest.raises(ConfigError, match="drop would leave no column"):
        data().drop("a", "b", "c")


def test_an_error_after_a_rename_names_the_row() -> None:
    with pytest.raises(DataValueError, match="column 'name' has 2 value") as caught:
        data().rename({"b": "name"}).cast({"name": "int8"}).to_arrow()
    assert caught.value.row == 0
