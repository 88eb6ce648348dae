"""Describing the columns of a dataset: which statistics say what of columns of which type, and what they found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError
from penstock.core.selectors import is_numeric
from penstock.dataset.dataset import Dataset
from penstock.dataset.description.column_description import ColumnDescription
from penstock.dataset.description.data_description import DataDescription
from penstock.statistics import Counts, Extremes, Moments, Quantiles, RowCount
from penstock.statistics.base import ColumnStatistic, Statistic
from penstock.statistics.distinct.distinct_values import DistinctValues, ValueSummary
from penstock.statistics.lengths import Length, Lengths

_VALUES, _FEWEST, _MOST = 2**20, 100, 10_000
"""Different values that are kept of all columns together, and of each at least and at most."""


def describe(dataset: Dataset, columns: tuple[str, ...], quantiles: Sequence[float], top: int) -> DataDescription:
    """Return the description of columns, from one scan; see `Dataset.describe`."""
    rows, found = gathered(dataset, basic_statistics(dataset.schema, columns), quantiles, top)
    fields = [dataset.schema.field(name) for name in columns]
    return DataDescription(rows, tuple(found.description(field.name, field.type) for field in fields))


def gathered(
    dataset: Dataset, statistics: Mapping[str, Statistic], quantiles: Sequence[float], top: int
) -> tuple[int, Findings]:
    """Return the number of rows, and what statistics found, from one scan."""
    states, _ = dataset.gather([RowCount(), *statistics.values()], "describe")
    return int(states[0]), Findings(statistics, dict(zip(statistics, states[1:], strict=True)), quantiles, top)


def check_options(quantiles: Sequence[float], top: int) -> None:
    """Raise ConfigError for a quantile that is no fraction, or a number of values below 0."""
    if isinstance(quantiles, int | float | str):
        raise ConfigError(f"quantiles is {quantiles!r}, expected several fractions", hint="Write quantiles=[0.5].")
    for each in quantiles:
        if isinstance(each, bool) or not isinstance(each, int | float) or not 0 <= each <= 1:
            raise ConfigError(f"quantiles have {each!r}, expected fractions between 0 and 1", hint="Write 0.5, not 50.")
    if isinstance(top, bool) or not isinstance(top, int) or top < 0:
        raise ConfigError(f"top is {top!r}, expected how many frequent values to show, 0 or more")


def basic_statistics(schema: pa.Schema, columns: tuple[str, ...]) -> dict[str, ColumnStatistic]:
    """Return the statistics to gather, by what they say."""

    def of(test: Callable[[pa.DataType], bool]) -> tuple[str, ...]:
        return tuple(name for name in columns if test(schema.field(name).type))

    numbers, texts, times = of(is_number), of(pa.types.is_string), of(pa.types.is_temporal)
    counted = (*numbers, *texts, *times, *of(pa.types.is_null))
    wanted: dict[str, ColumnStatistic] = {
        "counts": Counts(columns),
        "moments": Moments(numbers),
        "extremes": Extremes((*numbers, *times)),
        "quantiles": Quantiles(of(lambda kind: is_number(kind) and not pa.types.is_boolean(kind))),
        "values": DistinctValues(counted, min(_MOST, max(_FEWEST, _VALUES // max(1, len(counted))))),
        "lengths": Lengths(of(pa.types.is_list)),
    }
    return {what: each for what, each in wanted.items() if each.columns}


def is_number(kind: pa.DataType) -> bool:
    """Return whether values are numbers or booleans."""
    return bool(is_numeric(kind) or pa.types.is_decimal(kind))


@dataclass(frozen=True)
class Findings:
    """What was gathered, and what is asked of it."""

    statistics: Mapping[str, Statistic]
    states: Mapping[str, Any]
    quantiles: Sequence[float]
    top: int

    def description(self, name: str, kind: pa.DataType) -> ColumnDescription:
        """Return what is known of one column."""
        count = self.of("counts", name)
        told = {**self._moments(name), **self._ends(name, kind), **self._quantiles(name)}
        told |= {**self._values(name, kind), **self._lengths(name)}
        return ColumnDescription(name=name, type=str(kind), count=count.valid, missing=count.nulls, **told)

    def of(self, what: str, name: str) -> Any:
        """Return what a statistic of columns says of one; None where it was not asked."""
        statistic = self.statistics.get(what)
        if not isinstance(statistic, ColumnStatistic) or name not in statistic.columns:
            return None
        return statistic.finish_column(name, self.states[what][name])

    def whole(self, what: str) -> Any:
        """Return what a statistic says; None where it was not asked."""
        statistic = self.statistics.get(what)
        return None if statistic is None else statistic.finish(self.states[what])

    def _moments(self, name: str) -> dict[str, Any]:
        """Return mean and spread; None where values are infinite, or their squares overflow."""
        try:
            moment = self.of("moments", name)
        except DataValueError:
            return {"infinite": self.states["moments"][name]["infinite"]}
        return {} if moment is None else {"infinite": 0, "mean": moment.mean, "std": moment.std(ddof=1)}

    def _ends(self, name: str, kind: pa.DataType) -> dict[str, Any]:
        statistic = self.statistics.get("extremes")
        if statistic is None or name not in statistic.columns:
            return {}
        ends = self.states["extremes"][name]
        low, high = (_python(ends[end].cast(kind, safe=False)[0]) for end in ("min", "max"))  # cuDF has no dates
        return {"min": low, "max": high} if is_number(kind) else {"first": low, "last": high}

    def _quantiles(self, name: str) -> dict[str, Any]:
        found = self.of("quantiles", name)
        if found is None or not found.count:
            return {}
        levels = {level: found.quantile(level) for level in sorted(self.quantiles)}
        return {"quantiles": levels, "quantile_error": found.rank_error}

    def _values(self, name: str, kind: pa.DataType) -> dict[str, Any]:
        found: ValueSummary | None = self.of("values", name)
        if found is None:
            return {}
        told: dict[str, Any] = {"distinct": found.distinct, "distinct_error": found.distinct_error}
        if found.length is not None:
            told |= {"first": found.first, "last": found.last, **_lengths(found.length)}
        if self.top and _has_top(kind, found):
            told |= {"top": tuple(found.top(self.top)), "top_error": found.count_error}
        return told

    def _lengths(self, name: str) -> dict[str, Any]:
        found = self.of("lengths", name)
        return {} if found is None else _lengths(found)


def _lengths(length: Length) -> dict[str, Any]:
    return {f"length_{part}": value for part, value in vars(length).items()}


def _has_top(kind: pa.DataType, found: ValueSummary) -> bool:
    """Return whether frequent values say something: of strings and booleans, and of integers that are few."""
    return (
        pa.types.is_string(kind)
        or pa.types.is_boolean(kind)
        or (pa.types.is_integer(kind) and not found.distinct_error)
    )


def _python(value: pa.Scalar) -> Any:
    """Return a value of Arrow's as Python's; as text where Python has no such date, and without nanoseconds."""
    if getattr(value.type, "unit", None) == "ns":
        kinds = {pa.types.is_timestamp: pa.timestamp("us", getattr(value.type, "tz", None))}
        kinds |= {pa.types.is_time: pa.time64("us"), pa.types.is_duration: pa.duration("us")}
        value = value.cast(next(kind for test, kind in kinds.items() if test(value.type)), safe=False)
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        return str(value.cast(pa.string()).as_py())
