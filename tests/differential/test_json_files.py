"""JSON lines: keys in any order, nulls left out, of declared and of inferred types, cut anywhere."""

import json
import math
from typing import Any

import pyarrow as pa
import pytest
from arrow_values import exact
from budget import differential
from hypothesis import strategies as st
from json_files import WRITERS
from outcomes import Refusal, assert_same, expected, outcome
from readers import SOME_WAYS, put, ways_to
from table_strategies import NUMBERS, TEXT, TIMES, tables
from text_values import says

from penstock.errors import CorruptFileError

LISTS = tuple(pa.list_(kind) for kind in (pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.list_(pa.int64())))
SIZES = st.sampled_from([1, 40, 400, 4000])


def _finite(table: pa.Table) -> pa.Table:
    """Return a table with null for what JSON has no numbers for."""
    columns = [
        pa.array(_without_odd(column.to_pylist()), column.type) if _has_floats(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, table.column_names)


def _has_floats(kind: pa.DataType) -> bool:
    return _has_floats(kind.value_type) if pa.types.is_list(kind) else pa.types.is_floating(kind)


def _without_odd(items: list[Any]) -> list[Any]:
    return [
        _without_odd(item) if isinstance(item, list) else item if item is not None and math.isfinite(item) else None
        for item in items
    ]


def _may_lose_digits(table: pa.Table) -> bool:
    """Return whether a number may be exact neither as int64 nor as float64, which is refused."""
    whole = [column for column in table.columns if pa.types.is_integer(column.type)]
    return any(abs(item) >= 2**53 for column in whole for item in column.to_pylist() if item is not None)


class Number(str):
    """A number as it is written."""


def _is_said(said: Any, kind: pa.DataType, item: Any) -> bool:
    """Return whether a value that was read is what the line says."""
    if said is None or item is None:
        return said is item
    if pa.types.is_list(kind):
        return all(_is_said(one, kind.value_type, each) for one, each in zip(said, item, strict=True))
    if isinstance(said, bool):
        return said is item
    return isinstance(said, Number) != pa.types.is_string(kind) and says(said, kind, item)


@pytest.mark.thorough
@differential(table=tables(NUMBERS, TIMES, TEXT, LISTS), writer=WRITERS, ways=SOME_WAYS, size=SIZES)
def test_every_way_to_json_lines_of_declared_types_gives_what_was_written(table, writer, ways, size, local, folder):
    table = _finite(table)
    text = writer.write(table)
    path = put(folder / "json", writer.name, writer.encode(text))
    wanted = expected(table) if text else Refusal(CorruptFileError)
    options = {"schema": table.schema, "missing_columns": "null"}
    for way, read in ways_to(local.read_json_lines, path, size, ways, **options).items():
        assert_same(read, wanted, way)


@pytest.mark.thorough
@differential(table=tables(NUMBERS, TIMES, TEXT, LISTS), writer=WRITERS, ways=SOME_WAYS, size=SIZES)
def test_every_way_to_json_lines_of_inferred_types_gives_what_the_lines_say(table, writer, ways, size, local, folder):
    table = _finite(table)
    text = writer.write(table)
    path = put(folder / "json", writer.name, writer.encode(text))
    wanted = outcome(lambda: local.read_json_lines(path))
    if isinstance(wanted, Refusal):
        assert not any(_objects(text)) or _may_lose_digits(table), wanted
    else:
        _assert_said(local.read_json_lines(path).to_arrow(), text)
    for way, read in ways_to(local.read_json_lines, path, size, ways).items():
        assert_same(read, wanted, way)


def _objects(text: str) -> list[dict[str, Any]]:
    """Return what the lines say, numbers as they are written."""
    objects = (line for line in text.removeprefix("\ufeff").split("\n") if line.strip())
    return [json.loads(line, parse_int=Number, parse_float=Number) for line in objects]


def _assert_said(read: pa.Table, text: str) -> None:
    """Fail unless each value that was read is what its line says."""
    lines = _objects(text)
    for name, column in zip(read.column_names, read.columns, strict=True):
        for line, item in zip(lines, exact(column), strict=True):
            assert _is_said(line.get(name), column.type, item), (
                f"column {name!r}: {line} was read as {column.type} {item!r}"
            )
    assert {key for line in lines for key in line if line[key] is not None} <= set(read.column_names)
