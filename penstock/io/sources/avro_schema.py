"""Schemas of Avro: which of them are read, as what Polars decodes them, and what becomes of its columns then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import SchemaError

Convert = Callable[[pa.ChunkedArray], pa.ChunkedArray]

_PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NANOSECONDS = {"timestamp-nanos": pa.timestamp("ns", "UTC"), "local-timestamp-nanos": pa.timestamp("ns")}
_DIGITS = 38


class _RefusedError(Exception):
    """What a type is that is not read."""


def decodable(schema: Any, path: str) -> tuple[Any, dict[str, Convert]]:
    """Return a schema that Polars decodes the rows of another with, and what is to be done to some columns after that.

    Values of an enum are decoded as their numbers, and times in nanoseconds as integers; a name that was defined before
    is replaced by what it stands for.

    Raises
    ------
    SchemaError
        The rows are no records, or a column is of a type that is not read: a map, a duration, a union of other types
        than null and one more.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "record":
        raise SchemaError(f"the rows of {path} are no records, but {schema!r:.60}", path=path)
    types = _Types(schema.get("namespace", ""))
    fields, conversions = [], {}
    for field in schema["fields"]:
        name = field["name"]
        try:
            fields.append({"name": name, "type": types.column(field["type"])})
        except _RefusedError as error:
            raise SchemaError(
                f"column {name!r} of {path} is {error}, which is not read from Avro",
                hint="Read the file with fastavro, and pass a table to engine.from_arrow.",
                path=path,
                column=name,
            ) from None
        if types.convert is not None:
            conversions[name] = types.convert
    return {"type": "record", "name": "row", "fields": fields}, conversions


class _Types:
    """Makes types decodable; knows those that have a name, and what the last column is to be converted by."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._named: dict[str, Any] = {}
        self._open: list[str] = []
        self.convert: Convert | None = None

    def column(self, kind: Any) -> Any:
        """Return as what a column is decoded, and set `convert`."""
        self.convert = None
        return self._type(kind, top=True)

    def _type(self, kind: Any, *, top: bool = False) -> Any:
        if isinstance(kind, list):
            return self._union(kind, top)
        if isinstance(kind, str):
            return kind if kind in _PRIMITIVE else self._reference(kind, top)
        if not isinstance(kind["type"], str):  # a type in braces of its own
            return self._type(kind["type"], top=top)
        if "name" in kind:
            namespace = kind.get("namespace", self._namespace)
            self._named[kind["name"]] = self._named[f"{namespace}.{kind['name']}"] = kind
        return self._named_or_nested(kind, top)

    def _named_or_nested(self, kind: Mapping[str, Any], top: bool) -> Any:
        form, logical = kind["type"], kind.get("logicalType")
        if form == "enum" and top:
            self.convert = partial(_symbols, symbols=tuple(kind["symbols"]))
            return "int"
        if logical in _NANOSECONDS and top:
            self.convert = partial(pc.cast, target_type=_NANOSECONDS[logical])
            return "long"
        if form in ("enum", "map") or logical in ("duration", *_NANOSECONDS):
            raise _RefusedError(f"{logical or form}{'' if top else ' inside of another type'}")
        if logical == "decimal" and kind["precision"] > _DIGITS:
            raise _RefusedError(f"a decimal of {kind['precision']} digits")
        if form == "record":
            return self._record(kind)
        return {**kind, "items": self._type(kind["items"])} if form == "array" else dict(kind)

    def _record(self, kind: Mapping[str, Any]) -> Any:
        if kind["name"] in self._open:
            raise _RefusedError(f"a record {kind['name']!r} that holds itself")
        self._open.append(kind["name"])
        fields = [{"name": field["name"], "type": self._type(field["type"])} for field in kind["fields"]]
        self._open.pop()
        return {"type": "record", "name": kind["name"], "fields": fields}

    def _union(self, kinds: list[Any], top: bool) -> Any:
        if len(kinds) != 2 or "null" not in kinds:
            raise _RefusedError(f"a union of {len(kinds)} type(s) ({kinds!r:.60})")
        return [each if each == "null" else self._type(each, top=top) for each in kinds]

    def _reference(self, name: str, top: bool) -> Any:
        if name in self._open:
            raise _RefusedError(f"a record {name!r} that holds itself")
        if name not in self._named:
            raise _RefusedError(f"{name!r}, a name without a definition")
        return self._type(self._named[name], top=top)


def _symbols(values: pa.ChunkedArray, symbols: tuple[str, ...]) -> pa.ChunkedArray:
    codes = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    texts = pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), pa.array(symbols, pa.string()))
    return pa.chunked_array([texts.cast(pa.string())])
