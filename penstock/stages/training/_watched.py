"""Checks of validation rows for early stopping, made before training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw

from penstock.core.errors import ConfigError, DataValueError, EmptyInputError

if TYPE_CHECKING:
    from penstock.spmd import Rank


class Seen(NamedTuple):
    """How many rows there are, how many of a weight above 0, and labels by group, under None those of no group."""

    rows: int
    weighing: int
    labels: dict[Any, set[Any]]
    groups: set[Any]
    """Those that a row of a weight above 0 is in."""


@dataclass(frozen=True)
class Watched:
    """Requirements of a metric on rows: with fewer it is undefined, or constant.

    Parameters
    ----------
    metric : str
        What errors call it.
    label : str
    weight : str, optional
        Rows of weight 0 do not count.
    group : str, optional
        Labels have to differ inside a group. It counts with all its rows, unless each has weight 0.
    labels : int
        How many different labels there have to be.
    events : bool
        Whether there have to be two rows, and one with a label above 0.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> curve = Watched("a", "y", labels=2)
    >>> curve.refuse(curve.seen(frames.from_arrow(pa.table({"y": [1, 1]}))))
    Traceback (most recent call last):
    penstock.errors.DataValueError: early stopping by a needs 2 different values of 'y', which 2 validation rows lack
      Hint: Pass other rows as validation, watch another metric, or leave early_stopping_rounds out.
    """

    metric: str
    label: str
    weight: str | None = None
    group: str | None = None
    labels: int = 1
    events: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return tuple(dict.fromkeys(name for name in (self.label, self.weight, self.group) if name is not None))

    def seen(self, frame: nw.DataFrame) -> Seen:
        """Return the state of the rows of one fragment."""
        weighing = frame if self.weight is None else frame.filter(nw.col(self.weight) > 0)
        if self.group is None:
            counted = weighing.filter(nw.col(self.label) > 0) if self.events else weighing
            label = counted[self.label]
            few = (label if self.labels == 1 else label.unique()).head(self.labels)
            return Seen(len(frame), len(weighing), {None: set(few.to_list())}, {None})
        named = frame.select(nw.col(self.group).alias("group"), nw.col(self.label).alias("label"))
        ends = named.group_by("group").agg(nw.col("label").min().alias("low"), nw.col("label").max().alias("high"))
        columns = (ends[name].to_list() for name in ("group", "low", "high"))
        labels = {group: {*each} for group, *each in zip(*columns, strict=True)}
        return self._shortened(Seen(len(frame), len(weighing), labels, set(weighing[self.group].to_list())))

    def merged(self, parts: Sequence[Seen]) -> Seen:
        """Return the state of the rows of all parts."""
        labels: dict[Any, set[Any]] = {}
        for part in parts:
            for group, some in part.labels.items():
                labels.setdefault(group, set()).update(some)
        rows, weighing = (sum(getattr(part, name) for part in parts) for name in ("rows", "weighing"))
        return self._shortened(Seen(rows, weighing, labels, set().union(*(part.groups for part in parts))))

    def _shortened(self, seen: Seen) -> Seen:
        """Return one group alone where its labels are enough: there may be millions of groups."""
        for group in seen.groups:
            if len(seen.labels.get(group, ())) >= self.labels:
                return seen._replace(labels={group: seen.labels[group]}, groups={group})
        return seen

    def refuse(self, seen: Seen) -> None:
        """Raise EmptyInputError or DataValueError where the metric could say nothing of such rows."""
        hint = "Pass other rows as validation, watch another metric, or leave early_stopping_rounds out."
        begin, rows = f"early stopping by {self.metric} needs", f"which {seen.rows} validation rows lack"
        if not seen.rows:
            raise EmptyInputError(f"{begin} rows to watch, but there are no validation rows", hint=hint)
        if not seen.weighing:
            raise DataValueError(f"{begin} rows of a weight above 0, {rows}", hint=hint, column=self.weight)
        enough = any(len(seen.labels.get(group, ())) >= self.labels for group in seen.groups)
        if not enough or (self.events and seen.weighing == 1):
            raise DataValueError(f"{begin} {self._needed}, {rows}", hint=hint, column=self.label)

    @property
    def _needed(self) -> str:
        inside = "" if self.group is None else f" in one group of {self.group!r}"
        weighing = "" if self.weight is None else f" where {self.weight!r} is above 0"
        different = f"{self.labels} different values of {self.label!r}{inside}"
        return (f"two rows, and an event (above 0) in {self.label!r}" if self.events else different) + weighing


def check_stopping(rank: Rank, patience: int | None, watched: Watched) -> None:
    """Refuse early stopping where rows to watch are missing, or say nothing; every rank calls it before training.

    Raises
    ------
    ConfigError
        There is no "validation" dataset.
    EmptyInputError
        It has no rows.
    DataValueError
        Its weights are all 0, or its labels are too few for the metric.
    """
    if patience is None:
        return
    if "validation" not in rank.datasets:
        raise ConfigError(
            f"early_stopping_rounds is {patience}, but there is no validation data to watch",
            hint="Pass validation=dataset to fit or refit, or leave early_stopping_rounds out.",
        )
    own = rank.prepared(watched, lambda: watched.merged([*rank.batches("validation", watched.columns, watched.seen)]))
    watched.refuse(watched.merged(rank.gather(own)))
