"""The least and the most that a value may be: checked, told, and in the types of columns."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError, class_name


def check_limits(rule: str, least: Any, most: Any) -> None:
    """Raise ConfigError unless a rule has a least or a most value, of one kind, the least not above the most.

    Examples
    --------
    >>> check_limits("RowCount", 5, 3)
    Traceback (most recent call last):
    penstock.errors.ConfigError: RowCount has least=5 and most=3, expected a least that is not above the most
    """
    if least is None and most is None:
        raise ConfigError(f"{rule} has neither least nor most", hint=f"Write {rule}(..., least=0), most=100, or both.")
    try:
        is_empty = least is not None and most is not None and least > most
    except TypeError as error:
        problem = f"{rule} has a least of {class_name(least)} and a most of {class_name(most)}, expected one type"
        raise ConfigError(problem) from error
    if is_empty or least != least or most != most:
        raise ConfigError(f"{rule} has least={least!r} and most={most!r}, expected a least that is not above the most")


def check_number(rule: str, name: str, value: Any) -> None:
    """Raise ConfigError unless a parameter of a rule is a number or None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ConfigError(f"{name} of {rule} is {value!r}, expected a number")


def check_share(rule: str, name: str, value: Any) -> None:
    """Raise ConfigError unless a parameter of a rule is a share, from 0 to 1.

    Examples
    --------
    >>> check_share("NullShare", "most", 5)
    Traceback (most recent call last):
    penstock.errors.ConfigError: most of NullShare is 5, expected a share from 0 to 1
      Hint: 5 % are 0.05.
    """
    check_number(rule, name, value)
    if value is None or not 0 <= value <= 1:
        raise ConfigError(f"{name} of {rule} is {value!r}, expected a share from 0 to 1", hint="5 % are 0.05.")


def show_limits(least: Any, most: Any) -> str:
    """Return limits in words.

    Examples
    --------
    >>> show_limits(1, None), show_limits(None, 5), show_limits(1, 5), show_limits(3, 3)
    ('at least 1', 'at most 5', 'between 1 and 5', '3')
    """
    if least is None or most is None:
        return f"at most {show(most)}" if least is None else f"at least {show(least)}"
    return show(least) if least == most else f"between {show(least)} and {show(most)}"


def show(value: Any) -> str:
    """Return a value as messages have it: whole numbers with separators, other numbers rounded.

    Examples
    --------
    >>> show(1234567), show(0.123456789), show("a"), show(None), show(datetime.date(2024, 1, 5))
    ('1,234,567', '0.123457', "'a'", 'null', '2024-01-05')
    """
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {show(each)}" for name, each in value.items())
    text = f"{value:,}" if isinstance(value, int) else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:60] + "..."


def is_within(value: Any, least: Any, most: Any) -> bool:
    """Return whether a value is within limits, both included."""
    return (least is None or value >= least) and (most is None or value <= most)


def in_type_of(value: Any, column: pa.Field, rule: str) -> Any:
    """Return a value as one of a column: dates and times written in ISO 8601 as such, those without a zone in UTC.

    Raises
    ------
    SchemaError
        The column has no such values.

    Examples
    --------
    >>> in_type_of("2024-01-05", pa.field("day", pa.date32()), "Between")
    datetime.date(2024, 1, 5)
    >>> in_type_of("a", pa.field("x", pa.int64()), "Between")
    Traceback (most recent call last):
    penstock.errors.SchemaError: Between compares column 'x', int64, with 'a'
      Hint: Write a value of the type of the column, or cast the column before.
    """
    if value is None:
        return None
    kind = column.type
    try:
        if pa.types.is_date(kind) and isinstance(value, str):
            return datetime.date.fromisoformat(value)
        if pa.types.is_timestamp(kind):
            return _moment(value, kind.tz)
    except ValueError as error:
        raise unsuited(value, column, rule) from error
    if not isinstance(value, _python_types(kind)) or isinstance(value, bool) != pa.types.is_boolean(kind):
        raise unsuited(value, column, rule)
    return value


def as_date(value: Any, kind: pa.DataType) -> Any:
    """Return a value of a column of dates as a date: on a GPU it is a midnight. Others stay as they are.

    Examples
    --------
    >>> as_date(datetime.datetime(2024, 1, 5), pa.date32()), as_date(7, pa.int64())
    (datetime.date(2024, 1, 5), 7)
    """
    is_date = pa.types.is_date(kind) and isinstance(value, datetime.datetime)
    return value.date() if is_date else value


def _moment(value: Any, zone: str | None) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(moment, datetime.datetime):
        if not isinstance(moment, datetime.date):
            raise ValueError("no point in time")
        moment = datetime.datetime.combine(moment, datetime.time())
    return as_utc(moment).astimezone(ZoneInfo(zone)) if zone else as_utc(moment).replace(tzinfo=None)


def as_utc(moment: datetime.date) -> datetime.datetime:
    """Return a point in time in UTC: one without a zone is taken to be in UTC, a date is its midnight.

    Examples
    --------
    >>> as_utc(datetime.date(2024, 1, 5)).isoformat()
    '2024-01-05T00:00:00+00:00'
    """
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime.combine(moment, datetime.time())
    return moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment.astimezone(datetime.UTC)


def _python_types(kind: pa.DataType) -> Any:
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return int | float | Decimal
    known = ((types.is_string, str), (types.is_boolean, bool), (types.is_date, datetime.date))
    return next((python for test, python in known if test(kind)), ())


def unsuited(value: Any, column: pa.Field, rule: str) -> SchemaError:
    """Return the error that a rule compares a column with a value that is not of its type."""
    return SchemaError(
        f"{rule} compares column {column.name!r}, {column.type}, with {value!r}",
        hint="Write a value of the type of the column, or cast the column before.",
        column=column.name,
    )
