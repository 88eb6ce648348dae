"""Statistics of the folds of a cross-validation: each fold's, and of the rest without it, from one scan."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from penstock.core.errors import ConfigError, DataValueError
from penstock.core.names import FOLD
from penstock.frames import ROW, matrices
from penstock.io.row_hashes import hash_rows
from penstock.statistics.aggregates import row_numbers
from penstock.statistics.base import State, Statistic
from penstock.statistics.distinct.footprint import Found
from penstock.statistics.distinct.partitionable import as_partitionable
from penstock.statistics.grouped.base import union
from penstock.statistics.grouped.grouped_by import GroupedBy

_STREAM = 0x9FB21C651E98DF25  # of its own: of rows that `Dataset.split` has kept, some fold would have none


@dataclass(frozen=True)
class Folded(GroupedBy):
    """Statistics of each fold, and of all rows that are not in it; none of these needs the rows again.

    Parameters
    ----------
    num_folds : int
        At least 2.
    fold : str or None
        A column of whole numbers from 0 to ``num_folds - 1``. None deals rows by their number and the seed: the same
        rows on every engine, device and partitioning, and about as many to each fold.
    seed : int
        Of that deal.

    Examples
    --------
    >>> from penstock import frames
    >>> from penstock.statistics import Counts
    >>> import pyarrow as pa
    >>> folded = Folded.of([Counts(("x",))], num_folds=2, fold="f")
    >>> state = folded.summarise(frames.from_arrow(pa.table({"x": [1, 2, None], "f": [0, 1, 1]})))
    >>> folded.finish(state)["held out", 1], folded.finish(state)["rest", 1]
    (({'x': Count(rows=2, nulls=1)},), ({'x': Count(rows=1, nulls=0)},))
    """

    num_folds: int
    fold: str | None
    seed: int

    @classmethod
    def of(cls, statistics: Sequence[Statistic], *, num_folds: int, fold: str | None = None, seed: int = 0) -> Folded:
        """Return the statistics of the folds.

        Raises
        ------
        ConfigError
            There are fewer than 2 folds.
        """
        if num_folds < 2:
            raise ConfigError(f"num_folds is {num_folds}, expected at least 2")
        return cls(union(statistics, fold or ROW), tuple(statistics), num_folds, fold, seed)

    @property
    def number(self) -> int:
        """How many folds there are."""
        return self.num_folds

    def sets(self, state: State) -> list[list[State]]:
        """Return the states of each fold."""
        return state["folds"]

    def of_sets(self, sets: list[list[State]], beside: State) -> State:
        """Return the state of folds."""
        return {"strays": beside["strays"], "folds": sets}

    def cardinalities(self, result: Mapping[Hashable, tuple[Any, ...]]) -> Mapping[str, Found]:
        """Return how many values there were in all rows."""
        pairs = zip(map(as_partitionable, self.statistics), result["all",], strict=True)
        return {name: each for statistic, of in pairs for name, each in statistic.cardinalities(of).items()}

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the states of each fold, and how many rows are in none."""
        strays = self._strays(frame)
        numbered = frame.with_columns(self.deal(frame).alias(FOLD))
        parts = [numbered.filter(nw.col(FOLD) == number) for number in range(self.num_folds)]
        return {"strays": strays, "folds": [self._summarised(part) for part in parts]}

    def deal(self, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        """Return the fold of each row."""
        if self.fold is not None:
            return frame[self.fold]
        return matrices.column(frame, FOLD, folds(row_numbers(frame), self.num_folds, self.seed))

    def _strays(self, frame: nw.DataFrame[Any]) -> int:
        return int(frame.select(self._stray().sum()).item()) if self.fold is not None and len(frame) else 0

    def _stray(self) -> nw.Expr:
        assert self.fold is not None
        return ~nw.col(self.fold).is_in(list(range(self.num_folds))).fill_null(False)

    def merge(self, states: Sequence[State]) -> State:
        """Merge fold by fold."""
        folds = zip(*(state["folds"] for state in states), strict=True)
        return {"strays": sum(state["strays"] for state in states), "folds": [self._merged(parts) for parts in folds]}

    def finish(self, state: State) -> Mapping[Hashable, tuple[Any, ...]]:
        """Return the results of ``("held out", fold)``, of ``("rest", fold)``, and of all rows, ``("all",)``.

        Raises
        ------
        DataValueError
            The column of folds has other values than 0 to ``num_folds - 1``.
        """
        if state["strays"]:
            raise self._error(state["strays"])
        found: dict[Hashable, tuple[Any, ...]] = {("all",): self._finished(self._merged(state["folds"]))}
        for number, held in enumerate(state["folds"]):
            others = [states for place, states in enumerate(state["folds"]) if place != number]
            found["held out", number] = self._finished(held)
            found["rest", number] = self._finished(self._merged(others))
        return found

    def _error(self, strays: int) -> DataValueError:
        return DataValueError(
            f"column {self.fold!r} has {strays} values that are no fold, expected 0 to {self.num_folds - 1}",
            hint="Number the folds from 0, or set num_folds to how many there are.",
            column=self.fold,
            rows=strays,
            predicate=self._stray(),
        )


def folds(rows: Any, num_folds: int, seed: int) -> Any:
    """Return the fold of each row, int64, by its number (uint64) in the dataset: where the numbers are.

    Examples
    --------
    >>> folds(np.arange(8, dtype=np.uint64), 3, seed=0).tolist()
    [2, 1, 0, 1, 2, 2, 1, 0]
    """
    return (hash_rows(rows, (seed + _STREAM) % 2**64) * num_folds).astype(np.int64)
