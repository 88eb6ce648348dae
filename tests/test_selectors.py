"""Columns chosen by what they are."""

import pickle

import pyarrow as pa
import pytest

from penstock.core import selectors as cs
from penstock.errors import ConfigError, SchemaError

SCHEMA = pa.schema({"id": pa.int64(), "x": pa.float32(), "b": pa.bool_(), "s": pa.string(), "d": pa.date32()})


def test_selectors_combine_as_sets_in_the_order_of_the_schema():
    for selector, expected in [
        (cs.numeric(), ["id", "x", "b"]),
        (cs.string(), ["s"]),
        (cs.all(), ["id", "x", "b", "s", "d"]),
        (cs.named("s", "id", "absent"), ["id", "s"]),
        (cs.numeric() - "id", ["x", "b"]),
        (cs.numeric() - ["id", "x"], ["b"]),
        (cs.numeric() | cs.string(), ["id", "x", "b", "s"]),
        (cs.string() | "d", ["s", "d"]),
        (cs.numeric() & ["x", "s"], ["x"]),
        (~cs.numeric(), ["s", "d"]),
        (~(cs.numeric() | "s") | "id", ["id", "d"]),
    ]:
        assert selector.resolve(SCHEMA) == expected


def test_names_keep_the_order_in_which_they_are_given_and_one_is_a_list_of_one():
    assert cs.resolve(["s", "id"], SCHEMA, "Stage") == ("s", "id")
    assert cs.resolve("x", SCHEMA, "Stage") == ("x",)


def test_a_name_that_is_not_there_or_given_twice_and_no_name_are_refused():
    with pytest.raises(SchemaError, match="Did you mean 'id'") as caught:
        cs.resolve(["x", "ids"], SCHEMA, "Stage")
    assert (caught.value.stage, caught.value.column) == ("Stage", "ids")
    with pytest.raises(ConfigError, match=r"Stage selects no column[\s\S]*id, x, b, s, d"):
        cs.resolve(cs.named("absent"), SCHEMA, "Stage")
    with pytest.raises(ConfigError, match="names column 'x' twice"):
        cs.resolve(["x", "x"], SCHEMA, "Stage")


def test_a_selector_is_pickled():
    selector = pickle.loads(pickle.dumps((cs.numeric() | "s") & ~cs.named("id")))
    assert selector.resolve(SCHEMA) == ["x", "b", "s"]
