"""Text of one JSON object in a line, parsed by pyarrow: with types, or guessing types that lose nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from penstock.io.sources.inference import EXACT, Guess, guess, join
from penstock.io.sources.json_shape import decode
from penstock.io.sources.numerals import holds_exactly, is_any, may_round
from penstock.io.sources.ranges import BLOCK_BYTES, whole_blocks

_EIGHT_DIGITS, _SIXTEEN_DIGITS = (re.compile(rb"[:,\[]\s*-?[0-9]{%d,}\s*[,}\]]" % digits) for digits in (8, 16))
_TEMPORAL = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_time)


def parse(data: bytes, types: Mapping[str, pa.DataType], *, others: str = "ignore") -> pa.Table:
    """Return the columns of `types`, null where a line lacks the key.

    Days and times are strings, written as in CSV; one with a zone is of a type with a zone, and only of that.

    Parameters
    ----------
    others : {"ignore", "infer"}
        What becomes of keys that are not in `types`.

    Raises
    ------
    pyarrow.ArrowInvalid
        A line is not an object, a value not of its type; with "infer" also values of several kinds.

    Examples
    --------
    >>> parse(b'{"x": 1}', {"x": pa.int8(), "y": pa.string()}).to_pylist()
    [{'x': 1, 'y': None}]
    """
    table = _read(data, pa.schema([(name, _parsed_as(kind)) for name, kind in types.items()]), others)
    for place, field in enumerate(table.schema):
        kind = types.get(field.name, field.type)
        table = table.set_column(place, field.name, table[field.name].cast(kind)) if kind != field.type else table
        if field.name in types and overflows(table[field.name]):
            raise pa.ArrowInvalid(f"column {field.name!r} overflows {kind}")
    return table


def parse_exactly(data: bytes, types: Mapping[str, pa.DataType], *, others: str = "ignore") -> pa.Table:
    """Parse, and refuse a whole number that a floating type does not hold exactly, which pyarrow rounds."""
    table = parse(data, types, others=others)
    for name, kind in types.items():
        if holds(kind, pa.types.is_floating) and _is_rounded(table[name], name, data):
            raise pa.ArrowInvalid(f"column {name!r} has a whole number that {kind} does not hold")
    return table


def _is_rounded(values: pa.ChunkedArray, name: str, data: bytes) -> bool:
    values = _flatten(values)
    digits = _EIGHT_DIGITS if pa.types.is_float32(values.type) else _SIXTEEN_DIGITS
    if not is_any(may_round(values)) or not digits.search(data):  # without them nothing as large is written whole
        return False
    return not all(holds_exactly(values.type, int(number)) for number in _whole_numbers(name, data))


def _flatten(values: pa.ChunkedArray) -> pa.ChunkedArray:
    while pa.types.is_list(values.type):
        values = pc.list_flatten(values)
    return values


def _whole_numbers(name: str, data: bytes) -> Iterator[Decimal]:
    numbers = (number for row in decode(data) for number in _leaves(row.get(name)))
    return (number for number in numbers if isinstance(number, Decimal))


def _parsed_as(kind: pa.DataType) -> pa.DataType:
    """Return string for days and times: from JSON itself pyarrow drops zones, and takes numbers for days."""
    if pa.types.is_list(kind):
        return pa.list_(_parsed_as(kind.value_type))
    return pa.string() if any(test(kind) for test in _TEMPORAL) else kind


def infer(data: bytes) -> pa.Table:
    """Return all columns in the types that pyarrow infers; ArrowInvalid when there are values of several kinds."""
    return _read(data, None, "infer")


def check_syntax(data: bytes) -> pa.Table:
    """Return a table without columns, a row for each object; ArrowInvalid where a line is none."""
    return _read(data, pa.schema([]), "ignore")


def _read(data: bytes, schema: pa.Schema | None, others: str) -> pa.Table:
    if not data or data.isspace():
        return (schema or pa.schema([])).empty_table()
    parsing = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)

    def read(stream: pa.BufferReader, block: int) -> pa.Table:
        return pajson.read_json(stream, pajson.ReadOptions(block_size=block), parsing)

    # a type that is inferred block by block is not always the one that all values together give
    return whole_blocks(read, data, block=BLOCK_BYTES if others == "ignore" else len(data))


def overflows(values: pa.ChunkedArray) -> bool:
    """Return whether a number was too large for its floating type: it is infinite then, which JSON cannot say."""
    values = _flatten(values)
    return pa.types.is_floating(values.type) and bool(pc.any(pc.is_inf(values)).as_py())


def can_hold(kind: pa.DataType) -> bool:
    """Return whether values can be parsed as a type that is not an object.

    Examples
    --------
    >>> can_hold(pa.list_(pa.int64())), can_hold(pa.struct({"x": pa.int64()}))
    (True, False)
    """
    try:
        parse(b'{"x": null}', {"x": kind})
    except pa.ArrowNotImplementedError:
        return False
    return not holds(kind, pa.types.is_struct)


def holds(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """Return whether a type, or that of the items of a list of it, passes the test."""
    return bool(test(_innermost(kind)))


def _innermost(kind: pa.DataType) -> pa.DataType:
    return _innermost(kind.value_type) if pa.types.is_list(kind) else kind


def guess_plain(values: pa.ChunkedArray) -> Guess:
    """Return the guess for inferred values; dates stay text, since pyarrow drops their zones."""
    return Guess(_plain(values.type)) if holds(values.type, pa.types.is_timestamp) else guess(values)


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.list_(_plain(kind.value_type)) if pa.types.is_list(kind) else pa.string()


def lossy_number(values: pa.ChunkedArray, name: str, data: bytes) -> Decimal | None:
    """Return a whole number that lost digits when column `name` of `data` was inferred as float64, or None."""
    values = _flatten(values)
    if not pa.types.is_float64(values.type) or not is_any(pc.greater(pc.abs(values), float(EXACT))):
        return None
    return next((number for number in _whole_numbers(name, data) if abs(number) > EXACT), None)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def change(before: bytes, record: bytes) -> tuple[str, str] | None:
    """Return the column whose value in `record` is of another kind than in the lines before, and what it was."""
    earlier, later = infer(before), infer(record)
    for name in later.column_names:
        if name in earlier.column_names and join(guess_plain(earlier[name]), guess_plain(later[name])) is None:
            return name, f"{guess_plain(earlier[name]).type}, the type of the lines before it"
    return None
