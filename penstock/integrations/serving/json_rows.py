"""Rows as JSON has them, which knows no dates, decimals and bytes, to and from the values that a model takes."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Self

import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.core.extras import importing
from penstock.pipeline.row_scorer import MOST_SINGLE
from penstock.pipeline.row_values import REFUSALS, taking_all

with importing("msgspec", "serve"):
    import msgspec

Rows = dict[str, Any] | list[dict[str, Any]]


class RowDecoder:
    """Reads a JSON object, or a list of them, as rows of a schema.

    Timestamps, dates and times are texts in ISO 8601, decimals texts or whole numbers, bytes texts in base 64; all
    else is as `PipelineModel.predict` takes it. With `inputs`, the columns that a model needs, many plain rows become a
    table of them, see `TableDecoder`.

    Examples
    --------
    >>> decode = RowDecoder(pa.schema({"day": pa.date32(), "fare": pa.float64()}))
    >>> decode(b'{"day": "2024-02-29", "fare": 3}')
    {'day': datetime.date(2024, 2, 29), 'fare': 3}
    """

    def __init__(self, schema: pa.Schema, inputs: Sequence[str] = ()) -> None:
        converters = {field.name: _converter(field.type) for field in schema}
        self._converters = {name: convert for name, convert in converters.items() if convert is not None}
        self._types = {field.name: field.type for field in schema}
        self._table = TableDecoder.of(schema, inputs, self._converters)

    def __call__(self, body: bytes) -> Rows | pa.Table:
        """Return the rows.

        Raises
        ------
        DataValueError
            It is no JSON, or a value is none of its column's type.
        """
        table = None if self._table is None else self._table(body)
        return self._rows(body) if table is None else table

    def _rows(self, body: bytes) -> Rows:
        try:
            rows = _parse(body)
        except ValueError as error:
            raise DataValueError(f"the body is not JSON: {error}", hint='Send {"column": value, ...}.') from error
        except RecursionError as error:
            raise DataValueError("the body is nested too deeply") from error
        if isinstance(rows, dict):
            return self._row(rows)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise DataValueError(
                f"the body is {type(rows).__name__}, expected an object or a list of objects",
                hint='Send {"column": value, ...} for a row, [{...}, {...}] for several.',
            )
        return [self._row(row) for row in rows] if self._converters else rows

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        texts = {name: row[name] for name in self._converters if row.get(name) is not None}
        return {**row, **{name: self._value(name, text) for name, text in texts.items()}} if texts else row

    def _value(self, name: str, value: Any) -> Any:
        try:
            return self._converters[name](value)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise DataValueError(
                f"the row has {value!r:.100} in column {name!r}, expected {self._types[name]}", column=name
            ) from error


def _parse(body: bytes) -> Any:
    """Return what `json.loads` does, in half of its time; it is asked for what other parsers refuse, as NaN."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return json.loads(body)


def _converter(kind: pa.DataType) -> Callable[[Any], Any] | None:
    for is_of, convert in _CONVERTERS:
        if is_of(kind):
            return convert
    return None


def _decimal(value: Any) -> Decimal:
    if isinstance(value, float):
        raise TypeError("a number with a fraction has been rounded to a double already")
    return Decimal(value)


def _bytes(value: str) -> bytes:
    return base64.b64decode(value, validate=True)


_CONVERTERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]], ...] = (
    (pa.types.is_timestamp, dt.datetime.fromisoformat),
    (pa.types.is_date, dt.date.fromisoformat),
    (pa.types.is_time, dt.time.fromisoformat),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_binary, _bytes),
)


def encode_rows(rows: Rows) -> bytes:
    """Return rows as JSON; DataValueError for an infinity, which JSON does not have.

    Examples
    --------
    >>> encode_rows([{"day": dt.date(2024, 2, 29), "score": 0.25, "class": None}])
    b'[{"day":"2024-02-29","score":0.25,"class":null}]'
    """
    first = rows if isinstance(rows, dict) else next(iter(rows), {})
    if {*map(type, first.values())} <= _PLAIN:
        made = msgspec.json.encode(rows)
        if b"null" not in made:  # which would be an infinity too
            return made
    try:
        return json.dumps(rows, allow_nan=False, separators=(",", ":"), default=_plain).encode()
    except ValueError as error:
        raise DataValueError(
            "a result is infinite, which JSON does not have", hint="Name other columns with --columns."
        ) from error


_PLAIN = {float, int, str, bool}
"""Classes of values that JSON has. Columns have a type each, so that the first row tells those of all, save None."""


def _plain(value: Any) -> Any:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


Convert = Callable[[Any], Any]
_MOST_COLUMNS = 256
"""Of a row that is read as such: its columns are looked for one after the other, where they are not in order."""
_CHECKED: Mapping[pa.DataType, Any] = {pa.string(): str | None, pa.bool_(): bool | None}
"""Types whose values have one class in JSON, which is seen to as they are read; a number may be 3 or 3.0."""


@dataclass(frozen=True)
class TableDecoder:
    """Reads a list of JSON objects that all have the same columns, in half of the time that dicts take.

    It takes nothing that `PipelineModel.predict` does not take of the rows, and refuses nothing: it returns None for
    what is to be read row by row, few rows among it.
    """

    _columns: Sequence[str]
    _decode: Callable[[bytes], list[Any]]
    _arrays: Mapping[str, Callable[[Sequence[Any]], pa.Array]]

    @classmethod
    def of(cls, schema: pa.Schema, inputs: Sequence[str], converters: Mapping[str, Convert]) -> Self | None:
        """Return what makes tables of the columns `inputs` of rows of a schema, None where there can be none.

        Parameters
        ----------
        converters : mapping
            Of columns whose values JSON does not have, what makes them of those that stand for them.
        """
        names = {f"column_{place}": name for place, name in enumerate(schema.names)}
        fields = [(place, _CHECKED.get(schema.field(name).type, Any), msgspec.UNSET) for place, name in names.items()]
        if not inputs or len(names) > _MOST_COLUMNS or not set(converters) <= set(inputs):
            return None
        try:
            row = msgspec.defstruct("Row", fields, rename=names, forbid_unknown_fields=True, gc=False)
        except ValueError:  # a name with a quote, say
            return None
        arrays = {name: _taking(schema.field(name), converters.get(name)) for name in inputs}
        return cls(schema.names, msgspec.json.Decoder(list[row]).decode, arrays)  # type: ignore[valid-type]

    def __call__(self, body: bytes) -> pa.Table | None:
        """Return the rows as a table."""
        try:
            rows = self._decode(body)
            if len(rows) <= MOST_SINGLE:
                return None
            columns = dict(zip(self._columns, zip(*map(msgspec.structs.astuple, rows), strict=True), strict=True))
            return pa.table({name: take(columns[name]) for name, take in self._arrays.items()})
        except (msgspec.DecodeError, RecursionError, *REFUSALS):
            return None


def _taking(field: pa.Field, convert: Convert | None) -> Callable[[Sequence[Any]], pa.Array]:
    if field.type in _CHECKED:
        return partial(pa.array, type=field.type)
    take = taking_all(field)
    if convert is None:
        return take
    return lambda values: take([None if value is None else convert(value) for value in values])
