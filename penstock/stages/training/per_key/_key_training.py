"""Training on the rows of each key by itself: each rank trains the models of some keys, as the only rank of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from sys import maxsize
from typing import cast

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError, EmptyInputError
from penstock.dataset.steps import placed
from penstock.dataset.tasks import ReadTask
from penstock.frames import ROW
from penstock.io.sources.base import Reader
from penstock.io.sources.memory import MemorySource
from penstock.spmd import Rank, train_in_process
from penstock.spmd.assignment import Assignment, DataShare
from penstock.stages.base import Fitted
from penstock.stages.preprocessing._groups import group_places
from penstock.stages.trainer import Trainer
from penstock.stages.training.per_key._key_states import Outcome
from penstock.stages.vectors import over

_MANY = 2**15
"""Rows from which on several threads gain more than they cost; of a few hundred, one is five times faster than two."""


@dataclass(frozen=True, eq=False)
class KeyTraining:
    """The training of a stage for each key.

    Parameters
    ----------
    stage : Trainer
        Bound.
    keys : pyarrow.Table
    states : sequence of mapping
        What each is given to train with.
    """

    stage: Trainer
    keys: pa.Table
    states: Sequence[Fitted]

    def run(self, rank: Rank) -> list[Outcome]:
        """Return what was learned of each key, or the error that its rows were refused with; every rank calls it.

        A rank reads the rows of all ranks, and keeps those of its own keys: every so many-th.
        """
        own = {name: self._own_rows(rank, name) for name in rank.datasets}
        trained: dict[int, Outcome] = {}
        for place in self._places(rank):
            trained[place] = self._outcome(rank, {name: rows[place] for name, rows in own.items()}, place)
            rank.report(len(trained))
        of_all = {place: each for part in rank.gather(trained) for place, each in part.items()}
        return [of_all[place] for place in range(len(self.states))]

    def _outcome(self, rank: Rank, rows: Mapping[str, pa.Table], place: int) -> Outcome:
        shares = {name: [_share(table.drop_columns(_numbers(table)))] for name, table in rows.items()}
        threads = rank.threads if max(map(len, rows.values())) >= _MANY else 1
        body = partial(over.train, self.stage, learned=self.states[place])
        try:
            outcome: Outcome = train_in_process(Assignment(body, shares, rank.kind, threads), self.stage.title)
        except (DataValueError, EmptyInputError) as error:
            return _located(error, rank, rows)
        return outcome

    def _places(self, rank: Rank) -> range:
        return range(rank.index, len(self.states), rank.size)

    def _own_rows(self, rank: Rank, name: str) -> Mapping[int, pa.Table]:
        """Return the rows of each of a rank's keys, in the order of the dataset, with the numbers that they have."""
        columns = (*self.stage.training_columns(), *([ROW] if rank.numbers_rows(name) else []))

        def convert(frame: nw.DataFrame) -> tuple[pa.Table, np.ndarray]:
            place = group_places(frame, self.keys).to_numpy()
            rows = np.flatnonzero((place % rank.size == rank.index) & (place < len(self.states)))
            return frames.to_arrow(frame.select(*columns)[rows]), place[rows]

        batches = list(rank.with_all_rows().batches(name, (*self.keys.column_names, *columns), convert))
        table, place = pa.concat_tables([rows for rows, _ in batches]), np.concatenate([each for _, each in batches])
        order = np.argsort(place, kind="stable")
        ordered, ends = table.take(pa.array(order)), np.searchsorted(place[order], np.arange(len(self.states) + 1))
        return {each: ordered.slice(ends[each], ends[each + 1] - ends[each]) for each in self._places(rank)}


def _numbers(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if name == ROW]


def _share(rows: pa.Table) -> DataShare:
    source, fragments = MemorySource.plan(rows, maxsize, is_own=True)
    return DataShare(ReadTask(Reader(source), (), ()), fragments)


def _located(error: DataValueError | EmptyInputError, rank: Rank, rows: Mapping[str, pa.Table]) -> DataValueError:
    """Return an error about one of the rows of a key with its file in place of the memory where it was found.

    With rows to validate with there are two tables that it may be of.
    """
    place = {name: value for name, value in error.place.items() if name not in ("path", "row", "partition")}
    found = DataValueError(error.message, hint=error.hint, **place)
    (name, table), *others = rows.items()
    if error.row is None or others or not _numbers(table):
        return found
    number = table[ROW][error.row].as_py()
    fragments = (each for share in rank.assignment.shares[name] for each in share.fragments)
    fragment = next(each for each in fragments if each.start <= number < each.start + each.rows)
    return cast(DataValueError, placed(found.at(row=number), fragment))
