"""What a way to read gives: rows, told apart to the bit, or a refusal, told apart by class."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from arrow_values import exact

from penstock.dataset import Dataset
from penstock.errors import PenstockError

ZONES_OF_OFFSETS = {"+00:00": "UTC", "+05:00": "Etc/GMT-5", "-03:00": "Etc/GMT+3"}


@dataclass(frozen=True)
class Refusal:
    """The class of the error; only equal to another of the same class."""

    error: type[PenstockError]
    text: str = field(default="", compare=False)


Outcome = dict[str, tuple[str, list[Any]]] | Refusal
"""The type and the values of each column."""


def outcome(read: Callable[[], pa.Table | Dataset]) -> Outcome:
    """Return what reading gives; an error that is not Penstock's is raised."""
    try:
        rows = read()
        return contents(rows if isinstance(rows, pa.Table) else rows.to_arrow())
    except PenstockError as error:
        return Refusal(type(error), str(error))


def assert_same(read: Callable[[], pa.Table | Dataset], wanted: Outcome, way: str) -> None:
    """Fail with the first difference, unless reading in some way gives what is wanted."""
    got = outcome(read)
    assert got == wanted, f"{way}: {_difference(got, wanted)}"


def _difference(got: Outcome, wanted: Outcome) -> str:
    if isinstance(got, Refusal) or isinstance(wanted, Refusal) or list(got) != list(wanted):
        shown = [list(side) if isinstance(side, dict) else side for side in (got, wanted)]
        return f"{shown[0]}, expected {shown[1]}"
    for name, (kind, items) in got.items():
        other_kind, others = wanted[name]
        if kind != other_kind or len(items) != len(others):
            return f"column {name!r} is {len(items)} of {kind}, expected {len(others)} of {other_kind}"
        for row, (item, other) in enumerate(zip(items, others, strict=True)):
            if item != other:
                return f"column {name!r}, {kind}, row {row}: {item!r}, expected {other!r}"
    return "nothing"


def contents(table: pa.Table) -> dict[str, tuple[str, list[Any]]]:
    """Return the type and the values of each column of a table."""
    return {name: (str(table[name].type), exact(table[name])) for name in table.column_names}


def expected(table: pa.Table) -> Outcome:
    """Return what Penstock promises to make of a table: plain types, and null in place of NaN."""
    columns = {name: table[name].cast(plain(table[name].type)) for name in table.column_names}
    return {name: (str(column.type), exact(column, nan=None)) for name, column in columns.items()}


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type that stands for all that hold the same values: no dictionaries, no large offsets, no views."""
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind) and kind.tz in ZONES_OF_OFFSETS:
        return pa.timestamp(kind.unit, ZONES_OF_OFFSETS[kind.tz])
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, plain(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    return kind
