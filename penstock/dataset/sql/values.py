"""Values of rows as a query computes them: an expression and its type, and constants that take the type they meet."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.schemas import widen
from penstock.dataset.sql.refusals import refused, shown

BOOL, INT, FLOAT, TEXT, DATE = pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.date32()
TIMESTAMP = pa.timestamp("us")
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)


@dataclass(frozen=True)
class Value:
    """What is computed of each row.

    Parameters
    ----------
    expr : narwhals.Expr
    kind : pyarrow.DataType
        Null for a NULL that has met no other value yet.
    literal : int, Decimal, float, str, bool, date or datetime, optional
        The value of a constant.
    """

    expr: nw.Expr
    kind: pa.DataType
    literal: Any = None


Translate = Callable[[exp.Expr], Value]
Handler = Callable[[Any, Translate], Value]


@cache
def dtype(kind: pa.DataType) -> Any:
    """Return the type of Narwhals for one of Arrow."""
    return frames.dtypes(pa.schema([("value", kind)]))["value"]


def constant(value: Any, kind: pa.DataType) -> Value:
    """Return a constant of a type."""
    return Value(nw.lit(value, dtype(kind)), kind, value)


def is_number(kind: pa.DataType) -> bool:
    """Return whether values of a type can be calculated with; a NULL may be a number."""
    return any(is_one(kind) for is_one in _NUMBERS)


def as_kind(value: Value, kind: pa.DataType) -> nw.Expr:
    """Return a value in a type that holds it."""
    if pa.types.is_null(value.kind):
        return nw.lit(None, dtype(kind))
    if isinstance(value.literal, int | float | Decimal) and not isinstance(value.literal, bool) and value.kind != kind:
        return _number(value.literal, kind)
    return value.expr if value.kind == kind else value.expr.cast(dtype(kind))


def _number(literal: float | Decimal, kind: pa.DataType) -> nw.Expr:
    if pa.types.is_decimal(kind):
        return nw.lit(Decimal(str(literal)))
    made = float(literal) if pa.types.is_floating(kind) else int(literal)
    return nw.lit(made, dtype(kind))


def common_kind(values: Sequence[Value], node: exp.Expr) -> pa.DataType:
    """Return the type that holds several values.

    Raises
    ------
    ConfigError
        There is none: a number is no text, and no date.
    """
    columns = [each for each in values if each.literal is None and not pa.types.is_null(each.kind)]
    literals = [each for each in values if each.literal is not None]
    kind = columns[0].kind if columns else literals[0].kind if literals else pa.null()
    for each in columns[1:]:
        kind = _wider(kind, each.kind, node)
    for each in literals:
        kind = _with_literal(kind, each, node)
    return kind


def _with_literal(kind: pa.DataType, value: Value, node: exp.Expr) -> pa.DataType:
    if isinstance(value.literal, int) and pa.types.is_integer(kind):
        return kind if fits(value.literal, kind) else INT
    if isinstance(value.literal, Decimal) and pa.types.is_decimal(kind):
        return pa.decimal128(38, max(kind.scale, scale_of(value.literal)))
    if isinstance(value.literal, int | Decimal | float) and pa.types.is_floating(kind) and value.kind != BOOL:
        return kind
    if isinstance(value.literal, str) and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return kind
    return _wider(kind, value.kind, node)


def _wider(left: pa.DataType, right: pa.DataType, node: exp.Expr) -> pa.DataType:
    if (kind := widen(left, right)) is not None:
        return kind
    if is_number(left) and is_number(right):
        if pa.types.is_floating(left) or pa.types.is_floating(right):
            return FLOAT
        scales = [each.scale for each in (left, right) if pa.types.is_decimal(each)]
        if scales:
            return pa.decimal128(38, max(scales))
    times = [each for each in (left, right) if pa.types.is_timestamp(each)]
    if len(times) == 1 and (pa.types.is_date(left) or pa.types.is_date(right)):
        return times[0]
    raise unlike(left, right, node)


def unlike(left: pa.DataType, right: pa.DataType, node: exp.Expr) -> ConfigError:
    """Return the error for two types that have none in common."""
    problem = f"{left} and {right} have no type in common, in {shown(node)}"
    return refused(node, problem, "Cast one of them: CAST(x AS BIGINT).")


def fits(value: int, kind: pa.DataType) -> bool:
    """Return whether a type of integers holds a value."""
    least = -(2 ** (kind.bit_width - 1)) if pa.types.is_signed_integer(kind) else 0
    return bool(least <= value < least + 2**kind.bit_width)


def scale_of(value: Decimal) -> int:
    """Return how many digits a decimal has behind the point."""
    return max(0, -int(value.as_tuple().exponent))


def moment(text: str, kind: pa.DataType, node: exp.Expr) -> Value:
    """Return the date or timestamp that a text says.

    A time without an offset is one of the zone of `kind`; one that its clocks skip is as much later as they skip, and
    of one that they show twice it is the first.

    Raises
    ------
    ConfigError
        It says none; or it has an offset, and `kind` has no zone.
    """
    try:
        if pa.types.is_date(kind):
            return constant(datetime.date.fromisoformat(text.strip()), kind)
        time = datetime.datetime.fromisoformat(text.strip())
        if kind.tz is not None:
            zone = zoneinfo.ZoneInfo(kind.tz)
            time = (time if time.tzinfo else time.replace(tzinfo=zone)).astimezone(datetime.UTC).astimezone(zone)
        elif time.tzinfo is not None:
            raise refused(node, f"{text!r} has an offset, and {kind} has no zone", "Leave the offset out.")
        return constant(time, kind)
    except ConfigError:
        raise
    except (ValueError, OverflowError):
        wanted = "2024-03-01" if pa.types.is_date(kind) else "2024-03-01 12:30:00"
        raise refused(node, f"{text!r} is no {kind}", f"Write it as '{wanted}'.") from None


def together(values: Sequence[Value], node: exp.Expr) -> tuple[pa.DataType, list[nw.Expr]]:
    """Return the type that holds several values, and all of them in it; a text among dates is one."""
    kind = common_kind(values, node)
    return kind, [as_kind(of_kind(each, kind, node), kind) for each in values]


def of_kind(value: Value, kind: pa.DataType, node: exp.Expr) -> Value:
    """Return the constant of a date that a text says, and any other value as it is."""
    if isinstance(value.literal, str) and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return moment(value.literal, kind, node)
    return value
