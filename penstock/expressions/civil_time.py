"""Local times across daylight saving changes, as expressions.

The rules are those of ``java.time.ZonedDateTime`` and of Python's ``zoneinfo`` with ``fold=0``: a time that the clocks
skip is later by as much as they skip, and one that they show twice is the earlier moment, or the one of both whose
offset a given moment has.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

DAY = "1d"
_OF_CLOCKS = ("d", "w", "mo", "q", "y")
"""Units of durations that move what a clock shows; shorter ones move the moment."""


def has_clock_changes(dtype: Any) -> bool:
    """Return whether a type is that of times in a zone, other than UTC."""
    return isinstance(dtype, nw.Datetime) and dtype.time_zone not in (None, "UTC")


def offset_by(moment: nw.Expr, by: str, dtype: Any) -> nw.Expr:
    """Return moments of a type in a zone, moved by a duration of Narwhals: days and longer ones move the clock."""
    if by.lstrip("+-0123456789") not in _OF_CLOCKS:
        return moment.dt.offset_by(by)
    return in_zone(local_time(moment).dt.offset_by(by), dtype.time_zone, dtype.time_unit, near=moment)


def truncate(moment: nw.Expr, every: str, dtype: Any) -> nw.Expr:
    """Return moments in a zone truncated to a duration.

    A day begins when its midnight is shown first, or when the clocks go on where they skip it.
    """
    near = None if every.lstrip("0123456789") in _OF_CLOCKS else moment
    return in_zone(local_time(moment).dt.truncate(every), dtype.time_zone, dtype.time_unit, near=near)


def local_time(moment: nw.Expr) -> nw.Expr:
    """Return local times without a zone."""
    return moment.dt.replace_time_zone(None)


def in_zone(local: nw.Expr, zone: str, unit: str, near: nw.Expr | None = None) -> nw.Expr:
    """Return the moments of local times in a zone.

    Parameters
    ----------
    local : Expr
        Times without a zone.
    zone : str
        A name of the IANA database.
    unit : {"ms", "us", "ns"}
        Of the times.
    near : Expr, optional
        Moments in the zone; of two moments at which clocks show a time, the one with the offset of these.

    Notes
    -----
    No zone is further than 15 hours from UTC: the offsets that a time can have are those a day before it and after it.
    """
    as_utc = local.dt.replace_time_zone("UTC")

    def offset(moment: nw.Expr) -> nw.Expr:
        return _number(local_time(moment.dt.convert_time_zone(zone))) - _number(moment)

    def at(offset: nw.Expr) -> nw.Expr:
        return (_number(as_utc) - offset).cast(nw.Datetime(unit, "UTC"))  # type: ignore[arg-type]

    before, after = offset(as_utc.dt.offset_by(f"-{DAY}")), offset(as_utc.dt.offset_by(DAY))
    earlier, later = at(before), at(after)
    is_later = offset(later) == after
    first = offset(earlier) == before if near is None else (offset(earlier) == before) & (_offset_in(near) != after)
    return nw.when(is_later & ~first).then(later).otherwise(earlier).dt.convert_time_zone(zone)


def _offset_in(moment: nw.Expr) -> nw.Expr:
    return _number(local_time(moment)) - _number(moment)


def _number(moment: nw.Expr) -> nw.Expr:
    return moment.cast(nw.Int64)
