"""Dates and timestamps: their parts, what an interval makes of them, what lies between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.core.errors import ConfigError, did_you_mean
from penstock.dataset.sql.refusals import refused, shown
from penstock.dataset.sql.values import DATE, INT, TIMESTAMP, Handler, Translate, Value, dtype, moment

_PARTS: Mapping[str, Callable[[nw.Expr], nw.Expr]] = {
    "year": lambda day: day.dt.year(), "quarter": lambda day: (day.dt.month().cast(nw.Int64) + 2) // 3,
    "month": lambda day: day.dt.month(), "day": lambda day: day.dt.day(), "isodow": lambda day: day.dt.weekday(),
    "dow": lambda day: day.dt.weekday().cast(nw.Int64) % 7, "doy": lambda day: day.dt.ordinal_day(),
    "hour": lambda day: day.dt.hour(), "minute": lambda day: day.dt.minute(), "second": lambda day: day.dt.second(),
}  # fmt: skip
_TIMES = ("hour", "minute", "second")
_UNITS = {
    "year": ("y", 1), "quarter": ("mo", 3), "month": ("mo", 1), "week": ("d", 7), "day": ("d", 1), "hour": ("h", 1),
    "minute": ("m", 1), "second": ("s", 1),
}  # fmt: skip
_TRUNCATED = {"year": "1y", "quarter": "1q", "month": "1mo", "day": "1d", "hour": "1h", "minute": "1m", "second": "1s"}


def day_of(value: Value, node: exp.Expr) -> Value:
    """Return a date or timestamp; a constant text is one.

    Raises
    ------
    ConfigError
        It is none.
    """
    if isinstance(value.literal, str):
        return moment(value.literal, DATE if len(value.literal.strip()) == len("2024-03-01") else TIMESTAMP, node)
    if not (pa.types.is_date(value.kind) or pa.types.is_timestamp(value.kind)):
        raise refused(node, f"{shown(node)} takes a date or timestamp, found {value.kind}", "Cast it: CAST(x AS DATE).")
    return value


def part(name: str, made: Value, node: exp.Expr) -> Value:
    """Return a part of a date or timestamp, BIGINT."""
    if name not in _PARTS:
        problem = f"EXTRACT has no part {name!r}.{did_you_mean(name, _PARTS)}"
        raise refused(node, problem, f"Parts are: {', '.join(_PARTS)}.")
    day = day_of(made, node)
    if name in _TIMES and pa.types.is_date(day.kind):
        return Value(nw.when(~day.expr.is_null()).then(nw.lit(0, nw.Int64)), INT)
    return Value(_PARTS[name](day.expr).cast(nw.Int64), INT)


def _extract(node: exp.Extract, value: Translate) -> Value:
    return part(node.this.name.lower(), value(node.expression), node)


def _named_part(node: exp.Func, value: Translate) -> Value:
    return part(_NAMED[type(node)], value(node.this), node)


def moved(made: Value, interval: exp.Interval, sign: int, node: exp.Expr) -> Value:
    """Return a date or timestamp moved by an interval.

    A date stays one by days, weeks, months, quarters and years, and is a timestamp by hours and less; a month from the
    31st is the last day of the next one. In a zone days and longer units move the time of the clock, hours and shorter
    ones the moment; a time that the clock skips is later by as much as it skips.
    """
    day = day_of(made, node)
    unit = interval.args.get("unit")
    name = "" if unit is None else unit.name.lower().removesuffix("s")
    count = interval.this
    if name not in _UNITS or not isinstance(count, exp.Literal) or not count.this.removeprefix("-").isdigit():
        raise refused(node, f"{shown(interval)} is not known", "Write INTERVAL '3' MONTH, a whole number and one unit.")
    letter, times = _UNITS[name]
    moment_kind = TIMESTAMP if name in _TIMES and pa.types.is_date(day.kind) else day.kind
    expr = day.expr if moment_kind == day.kind else day.expr.cast(dtype(moment_kind))
    return Value(expr.dt.offset_by(f"{sign * int(count.this) * times}{letter}"), moment_kind)


def between_dates(left: Value, right: Value, node: exp.Expr) -> Value:
    """Return the days from one date to another, BIGINT."""
    if not (pa.types.is_date(left.kind) and pa.types.is_date(right.kind)):
        problem = f"{shown(node)} would be an interval, which is no type of a column"
        raise refused(node, problem, "Cast both: CAST(x AS DATE).")
    return Value(left.expr.cast(nw.Int32).cast(nw.Int64) - right.expr.cast(nw.Int32).cast(nw.Int64), INT)


def _truncated(node: exp.Func, value: Translate) -> Value:
    unit: Any = node.args["unit"]
    name = unit.name.lower()
    if name not in _TRUNCATED:
        raise refused(node, f"date_trunc has no unit {name!r}", f"Units are: {', '.join(_TRUNCATED)}.")
    day = day_of(value(node.this), node)
    if name in _TIMES and pa.types.is_date(day.kind):
        return day
    return Value(day.expr.dt.truncate(_TRUNCATED[name]), day.kind)


def volatile(node: exp.Expr) -> ConfigError:
    """Return the error for what is another value each time it is asked for."""
    problem = f"{shown(node)} would give other rows at another time"
    return refused(node, problem, "Write the value into the text: DATE '2024-03-01'.")


def _today(node: exp.Func, value: Translate) -> Value:
    raise volatile(node)


_NAMED: Mapping[type, str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Day: "day", exp.DayOfYear: "doy",
    exp.DayOfWeek: "dow", exp.DayOfWeekIso: "isodow", exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second",
}  # fmt: skip
DATES: Mapping[type, Handler] = {
    **dict.fromkeys(_NAMED, _named_part), exp.Extract: _extract, exp.DateTrunc: _truncated,
    exp.TimestampTrunc: _truncated, exp.CurrentDate: _today, exp.CurrentTimestamp: _today,
}  # fmt: skip
