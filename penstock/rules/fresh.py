"""A column of times whose newest is recent."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.rules.base import ColumnRule, RuleVerdict, require_type
from penstock.rules.limits import as_date, as_utc
from penstock.statistics.base import Statistic
from penstock.statistics.extremes import Extremes

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

_UNITS = ("seconds", "minutes", "hours", "days", "weeks")
_DURATION = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(unit[:-1] for unit in _UNITS)})s?\s*")


@dataclass(frozen=True)
class Fresh(ColumnRule):
    """The newest date or timestamp of a column is no older than a duration.

    Parameters
    ----------
    column : str
        Of dates, which count from their midnight, or timestamps. What has no zone is taken to be in UTC.
    within : timedelta or str
        ``"2 days"``; units are seconds, minutes, hours, days and weeks.
    now : datetime, date or str in ISO 8601, optional
        The time to compare with, say the logical date of a run; that of the check unless given.

    Notes
    -----
    Nulls are left out; where all are null, or there are no rows, the rule is broken. A time after `now` is fresh.

    Examples
    --------
    >>> import datetime, penstock as ps, pyarrow as pa
    >>> days = pa.table({"day": [datetime.date(2024, 3, 1), None, datetime.date(2024, 3, 3)]})
    >>> data = ps.LocalEngine(device="cpu").from_arrow(days)
    >>> print(data.check(ps.rules.Fresh("day", "2 days", now="2024-03-07")).outcomes[0].message)
    the newest day is 2024-03-03, 4 days, 0:00:00 before 2024-03-07 00:00:00+00:00
    """

    within: datetime.timedelta | str
    _: KW_ONLY
    now: datetime.date | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        duration_of(self.within)
        time_of(self.now)

    @property
    def expected(self) -> str:
        return f"newest within {self.within}"

    def bind(self, dataset: Dataset) -> Self:
        """Check that the column is of dates or timestamps."""
        field = super().bind(dataset) and dataset.schema.field(self.column)
        require_type(field, self, [pa.types.is_date, pa.types.is_timestamp], "dates or timestamps")
        return self

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return the extremes."""
        return {"extremes": Extremes((self.column,))}

    def others(self, dataset: Dataset) -> dict[str, Any]:
        """Return the type of the column."""
        return {"type": dataset.schema.field(self.column).type}

    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Compare the newest with the time now."""
        newest = as_date(results["extremes"][self.column].max, results["type"])
        if newest is None:
            return RuleVerdict(False, None, f"{self.column} has no values")
        now = time_of(self.now)
        age = now - as_utc(newest)
        told = f"{abs(age)} {'before' if age >= datetime.timedelta() else 'after'} {now}"
        return RuleVerdict(age <= duration_of(self.within), newest, f"the newest {self.column} is {newest}, {told}")


def duration_of(value: object) -> datetime.timedelta:
    """Return a duration that is one, or is written as a number and a unit; ConfigError for anything else.

    Examples
    --------
    >>> duration_of("2 days"), duration_of("1.5 hours")
    (datetime.timedelta(days=2), datetime.timedelta(seconds=5400))
    """
    if isinstance(value, datetime.timedelta):
        return value
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        problem = f"within of Fresh is {value!r}, expected a timedelta, or a number and one of {', '.join(_UNITS)}"
        raise ConfigError(problem, hint='Write "2 days".')
    return datetime.timedelta(**{f"{match[2]}s": float(match[1])})


def time_of(value: object) -> datetime.datetime:
    """Return a time in UTC, now for None; ConfigError for what is no time.

    Examples
    --------
    >>> time_of("2024-03-07T12:00").isoformat()
    '2024-03-07T12:00:00+00:00'
    """
    if value is None:
        return datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    try:
        moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, datetime.date):
        raise ConfigError(f"now of Fresh is {value!r}, expected a time, or one in ISO 8601 such as 2024-03-07T12:00")
    return as_utc(moment)
