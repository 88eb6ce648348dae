"""Folds that train on earlier rows and validate with later ones."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, EmptyInputError, SchemaError, class_name
from penstock.core.schemas import require
from penstock.dataset.folds.block_sizes import block_sizes, check_sizes
from penstock.dataset.folds.dealers import ByTime
from penstock.dataset.folds.folds import BlockSplit
from penstock.dataset.folds.keys import TimeOrder, without_time
from penstock.dataset.folds.order_statistics import LAST, RankedKey, order_statistics
from penstock.statistics.checks import Checks
from penstock.statistics.rules import Rule

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

Span = int | datetime.timedelta
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400 * 10**6


@dataclass(frozen=True)
class TimeWindows:
    """Which spans of time folds train on and validate with.

    Parameters
    ----------
    num_folds : int
    before : int or None
        How many spans, each as long as one that is validated with, come before and are trained on; all if None.
    gap, horizon : int
        In ticks of the column. Without a horizon the spans have equal numbers of rows.
    """

    num_folds: int
    before: int | None
    gap: int = 0
    horizon: int = 0

    @property
    def spans(self) -> int:
        """How many spans of equal size there are, but for the first of a window that expands."""
        return self.num_folds + (self.before or 1)

    def ranks(self, rows: int) -> list[int]:
        """Return the ranks of the rows at which spans begin; of the last row if they are of equal length."""
        if not rows:
            raise EmptyInputError("folds found no rows", hint="Check the filters before it.")
        if self.horizon:
            return [rows - 1]
        size = rows // self.spans
        if not size:
            raise EmptyInputError(
                f"{rows} row(s) cannot be cut into {self.spans} spans of time, of which {self.num_folds} are for"
                " validation",
                hint="Pass fewer folds.",
            )
        return [rows - size * span for span in range(self.spans - (self.before is None), 0, -1)]

    def begins(self, ranked: Sequence[RankedKey]) -> list[int]:
        """Return where spans begin, from what is at the ranks; the first of a window that expands has no beginning.

        Rows of one time go to the span that gets nearer to its number of rows by it.
        """
        if not self.horizon:
            return [min(LAST, each.key + (each.before > each.rows - each.before)) for each in ranked]
        spans = range(self.spans - (self.before is None), 0, -1)
        return [max(0, ranked[0].key + 1 - self.horizon * span) for span in spans]

    def cut(self, begins: Sequence[int]) -> tuple[tuple[int, ...], tuple[BlockSplit, ...]]:
        """Return all times at which blocks begin, and which of the blocks are each fold's."""
        starts = list(begins)[-self.num_folds :]
        gaps = [max(0, start - self.gap) for start in starts]
        cuts = sorted({*begins, *gaps})
        first = {cut: block + 1 for block, cut in enumerate(cuts)}
        ends = [*(first[start] for start in starts[1:]), len(cuts) + 1]
        opened = [0] * len(starts) if self.before is None else [first[begin] for begin in begins[: self.num_folds]]
        splits = tuple(
            BlockSplit(tuple(range(low, first[gap])), tuple(range(first[start], end)))
            for low, gap, start, end in zip(opened, gaps, starts, ends, strict=True)
        )
        return tuple(cuts), splits


def time_ordered(
    dataset: Dataset, column: str, num_folds: int, window: Any, gap: Any, horizon: Any
) -> tuple[ByTime, tuple[BlockSplit, ...]]:
    """Return what deals rows into spans of time, and the spans of each fold; reads the column.

    Raises
    ------
    DataValueError
        A time is null; it names the number of them, and the first file and row.
    EmptyInputError
        A fold has nothing to train on, or to validate with.
    """
    require(dataset.schema, [column])
    field = dataset.schema.field(column)
    _check_time(field)
    spans = [0 if value is None else _ticks(field, name, value) for name, value in (("gap", gap), ("horizon", horizon))]
    windows = TimeWindows(num_folds, _before(window), *spans)
    if horizon is not None and not windows.horizon:
        raise ConfigError(f"horizon is {horizon!r}, expected at least one step of column {column!r}", column=column)
    key = TimeOrder(field)
    try:
        found = order_statistics(dataset, key, lambda _, rows: [windows.ranks(sum(rows))] * len(rows))
    except DataValueError as error:
        raise _located(dataset, column) or error from error.__cause__
    if not found.rows:
        windows.ranks(0)
    cuts, splits = windows.cut(windows.begins(found.ranked[0]))
    dealer = ByTime(key, cuts)
    hint = f"Pass fewer folds, or a shorter gap: rows of one time in {column!r} are all in one fold."
    check_sizes(splits, block_sizes(dataset, dealer, len(cuts) + 1), hint)
    return dealer, splits


def _check_time(field: pa.Field) -> None:
    if not (pa.types.is_integer(field.type) or pa.types.is_date32(field.type) or pa.types.is_timestamp(field.type)):
        raise SchemaError(
            f"column {field.name!r} is {field.type}, which is no time that folds can go by",
            hint="It takes dates, timestamps and integers; cast the column before.",
            column=field.name,
        )


def _before(window: Any) -> int | None:
    if window == "expanding":
        return None
    if window == "sliding":
        return 1
    if not isinstance(window, int) or isinstance(window, bool) or window < 1:
        raise ConfigError(
            f"window is {window!r}, expected 'expanding', 'sliding' or a positive integer",
            hint="An integer is how many spans, each as long as one for validation, are trained on.",
        )
    return window


def _ticks(field: pa.Field, name: str, value: Any) -> int:
    """Return a span in the unit of a column; a fraction of it reaches no further than the whole below."""
    whole = pa.types.is_integer(field.type)
    if not isinstance(value, int if whole else datetime.timedelta) or isinstance(value, bool):
        expected = "an integer" if whole else "a datetime.timedelta"
        raise ConfigError(
            f"{name} is {class_name(value)}, expected {expected}, since column {field.name!r} is {field.type}",
            column=field.name,
        )
    microseconds = value if isinstance(value, int) else value // datetime.timedelta(microseconds=1)
    if microseconds < 0:
        raise ConfigError(f"{name} is {value!r}, expected one that is not negative", column=field.name)
    if whole:
        return microseconds
    return microseconds // _DAY if pa.types.is_date(field.type) else microseconds * _TICKS[field.type.unit] // 10**6


def _located(dataset: Dataset, column: str) -> DataValueError | None:
    """Return the error for all nulls in the column of time, with the first; None if there are none."""
    checks = Checks(((column, Rule("null")),))
    (state,), _ = dataset.gather((checks,), label="folds: nulls")
    (nulls,) = checks.finish(state).counts
    if not nulls:
        return None
    error = without_time(column, nulls)
    place = dataset.first_where(error.predicate, [column])
    return error if place is None else error.at(path=place[0], row=place[1])  # type: ignore[return-value]
