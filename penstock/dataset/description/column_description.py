"""What is known of one column: plain numbers, text and dates, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

from penstock.dataset.description.histogram import Histogram

Top = tuple[tuple[Any, int], ...]


@dataclass(frozen=True, kw_only=True)
class ColumnDescription:
    """What is known of one column; a field that does not apply to its type, or has no value, is None or empty.

    Attributes
    ----------
    name, type : str
        The column and its Arrow type.
    count, missing : int
        Rows that have a value, and those that have none. NaN is missing.
    distinct : int or None
        Different values; None for lists, structs and binary.
    distinct_error : float
        The standard error of `distinct`, relative: 0.0 where it is exact.
    infinite : int or None
        Infinite numbers. Where there are some, `mean` and `std` are None.
    mean, std : float or None
        Of numbers and booleans; `std` divides by ``count - 1``.
    min, max : number or None
        Of numbers and booleans, in the type of the column.
    quantiles : mapping of float to float
        A value of the data for each, as `Distribution.quantile` gives it.
    quantile_error : float
        By which share of `count` a rank may be wrong; 0.0 where quantiles are exact.
    first, last : str, date, datetime, time or timedelta, or None
        Of strings, by their UTF-8 bytes, and of dates and times; text where Python has no such date.
    length_min, length_mean, length_max : number or None
        Characters of strings, elements of lists.
    top : tuple of (value, int)
        The most frequent values and their counts: of strings, booleans, and integers of few values.
    top_error : int
        By how much each of these counts may be too low; 0 where they are exact.
    histogram : Histogram or None
        Of numbers, dates and timestamps; this and what follows is part of a full description alone.
    skewness : float or None
        Of numbers, see :class:`~penstock.statistics.skewness.Skewness`.
    empty, padded, numeric, codes : int or None
        Texts without a character, with blanks before or after, those that are numbers, and digits that begin with 0.
    association : float or None
        Which share of the label's entropy the column tells, from 0 to 1, by chance about 0; see `Dataset.describe`.
    """

    name: str
    type: str
    count: int
    missing: int
    distinct: int | None = None
    distinct_error: float = 0.0
    infinite: int | None = None
    mean: float | None = None
    std: float | None = None
    min: Any = None
    max: Any = None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    quantile_error: float = 0.0
    first: Any = None
    last: Any = None
    length_min: int | None = None
    length_mean: float | None = None
    length_max: int | None = None
    top: Top = ()
    top_error: int = 0
    histogram: Histogram | None = None
    skewness: float | None = None
    empty: int | None = None
    padded: int | None = None
    numeric: int | None = None
    codes: int | None = None
    association: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what applies as JSON has it: numbers, text, lists; dates as ISO text, an infinity as ``"inf"``."""
        told = {each.name: plain(getattr(self, each.name)) for each in fields(self) if each.name != "name"}
        errors = {"distinct_error": "distinct", "quantile_error": "quantiles", "top_error": "top"}
        gone = {name for name, value in told.items() if value is None or value in ({}, [])}
        gone |= {error for error, of in errors.items() if of in gone}
        return {name: value for name, value in told.items() if name not in gone}


def plain(value: Any) -> Any:
    """Return a value as JSON has it.

    Examples
    --------
    >>> plain({0.5: float("inf")}), plain(date(2024, 1, 5)), plain((Decimal("1.5"),))
    ({'0.5': 'inf'}, '2024-01-05', [1.5])
    """
    if isinstance(value, Histogram):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {f"{key:.12g}": plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    number = float(value) if isinstance(value, Decimal) else value
    return str(number) if isinstance(number, float) and not math.isfinite(number) else number
