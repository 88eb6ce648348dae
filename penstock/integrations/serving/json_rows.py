"""Rows as JSON has them, which knows no dates, decimals and bytes, to and from the values that a model takes."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.core.extras import importing
from penstock.integrations.serving.json_tables import TableDecoder

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
