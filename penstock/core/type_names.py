"""Names of column types: those that Penstock gives, Arrow's own, and what a type is printed as."""

from __future__ import annotations

import re

import pyarrow as pa

NAMED = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "uint8": pa.uint8(), "uint16": pa.uint16(), "uint32": pa.uint32(), "uint64": pa.uint64(),
    "float32": pa.float32(), "float64": pa.float64(), "string": pa.string(), "binary": pa.binary(),
    "date": pa.date32(), "timestamp": pa.timestamp("us"),
}  # fmt: skip
_ZONED = re.compile(r"timestamp\[(s|ms|us|ns), tz=([\w/+-]+)\]")
_DECIMAL = re.compile(r"decimal(?:128)?\((\d+), *(\d+)\)")
_LIST = re.compile(r"list<(?:(?:item|element): )?(.+)>")


def type_of(name: str) -> pa.DataType | None:
    """Return the type that has a name; None where there is none.

    Examples
    --------
    >>> type_of("date32"), type_of("list<int8>"), type_of("decimal(9, 2)"), type_of("timestamp[ms, tz=Europe/Berlin]")
    (DataType(date32[day]), ListType(list<item: int8>), Decimal128Type(decimal128(9, 2)), TimestampType(...))
    """
    if name in NAMED:
        return NAMED[name]
    if found := _LIST.fullmatch(name):
        inner = type_of(found[1])
        return None if inner is None else pa.list_(inner)
    try:
        if found := _ZONED.fullmatch(name):
            return pa.timestamp(found[1], found[2])
        if found := _DECIMAL.fullmatch(name):
            return pa.decimal128(int(found[1]), int(found[2]))
        return pa.type_for_alias(name)
    except ValueError:  # of Arrow too: a decimal of too many digits
        return None


def type_name(kind: str | pa.DataType) -> str | pa.DataType:
    """Return the name of a type that has one, as a parameter that is saved says it; else the type.

    Examples
    --------
    >>> type_name(pa.int8()), type_name("int8"), type_name(pa.list_(pa.int8())), type_name(pa.list_(pa.struct([])))
    ('int8', 'int8', 'list<item: int8>', ListType(list<item: struct<>>))
    """
    if isinstance(kind, str):
        return kind
    short = {known: name for name, known in NAMED.items()}.get(kind)
    if short is not None:
        return short
    return str(kind) if type_of(str(kind)) == kind else kind
