"""Logical dates: the day, or the hour, that a run is about, and the range of them that a backfill is about."""

from __future__ import annotations

from datetime import datetime, timedelta

from penstock.core.errors import ConfigError, check_one_of

_STEPS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
EVERY = (*_STEPS, "month")


def logical_date(text: str, option: str = "--date") -> datetime:
    """Return the date, or date and time, of a text in ISO 8601.

    Examples
    --------
    >>> logical_date("2024-01-05"), logical_date("2024-01-05T06:00:00+00:00").hour
    (datetime.datetime(2024, 1, 5, 0, 0), 6)
    """
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        problem = f"{option} is {text!r}, expected a date, or a date and time, in ISO 8601"
        raise ConfigError(problem, hint="2024-01-05, or 2024-01-05T06:00:00+00:00.") from error


def logical_dates(start: str, end: str, every: str = "day") -> list[datetime]:
    """Return the logical dates from one to another, both included, in order.

    Parameters
    ----------
    every : {"hour", "day", "week", "month"}

    Raises
    ------
    ConfigError
        One is no date; they end before they begin; one has a time zone and the other has none; or they go by months
        from a day that not every month has.

    Examples
    --------
    >>> [f"{date:%m-%d}" for date in logical_dates("2023-12-15", "2024-02-20", "month")]
    ['12-15', '01-15', '02-15']
    """
    check_one_of("--every", every, EVERY)
    first, last = logical_date(start, "--from"), logical_date(end, "--to")
    if (first.tzinfo is None) != (last.tzinfo is None):
        raise ConfigError(f"--from is {start!r}, and --to {end!r}: one has a time zone, and the other has none")
    if first > last:
        raise ConfigError(f"--from is {start!r}, which is after --to, {end!r}")
    if every == "month" and first.day > 28:
        raise ConfigError(f"--from is {start!r}, and not every month has a day {first.day}", hint="Begin at the first.")
    dates = [first]
    while (following := _next(dates[-1], every)) <= last:
        dates.append(following)
    return dates


def date_text(date: datetime) -> str:
    """Return a logical date as options take it: without a time at midnight.

    Examples
    --------
    >>> date_text(datetime(2024, 1, 5)), date_text(datetime(2024, 1, 5, 6))
    ('2024-01-05', '2024-01-05T06:00:00')
    """
    midnight = date.tzinfo is None and date.time() == datetime.min.time()
    return date.date().isoformat() if midnight else date.isoformat()


def _next(date: datetime, every: str) -> datetime:
    if every in _STEPS:
        return date + _STEPS[every]
    return date.replace(year=date.year + date.month // 12, month=date.month % 12 + 1)
