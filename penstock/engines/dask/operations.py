"""Operations of relational verbs on Dask DataFrames: rows that have to meet are moved together, and left to Polars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.dataframe as dd
import narwhals as nw
import polars as pl

from penstock import frames
from penstock.core.names import PARTITION
from penstock.dataset.relations.operation import Meeting, Operation
from penstock.dataset.task_errors import translate_errors
from penstock.engines.dask.query_partition import from_partition, to_partition
from penstock.frames import Kind


def operate(operation: Operation, inputs: Sequence[dd.DataFrame], kind: Kind) -> dd.DataFrame:
    """Return what an operation makes of frames, by as few moves of rows as it takes."""
    if operation.meetings is None:
        return _by_partitions(operation, inputs, kind)
    if (parts := operation.partial()) is not None:
        before, operation = parts
        inputs = [_by_partitions(before, inputs, kind)]
    return _by_partitions(operation, _gathered(operation, inputs, kind), kind)


def _by_partitions(operation: Operation, inputs: Sequence[dd.DataFrame], kind: Kind) -> dd.DataFrame:
    work = PolarsPartitions(operation, kind)
    meta = work(*(each._meta for each in inputs))
    return dd.map_partitions(work, *inputs, meta=meta, enforce_metadata=False, align_dataframes=False)


def _gathered(operation: Operation, inputs: Sequence[dd.DataFrame], kind: Kind) -> list[dd.DataFrame]:
    """Return the inputs with rows that have to meet in partitions of the same number."""
    meetings = operation.meetings or ()
    if all(each.npartitions == 1 for each in inputs):
        return list(inputs)
    if operation.takes_right_whole and (inputs[-1].npartitions == 1 or not meetings[-1].columns):
        return [*inputs[:-1], inputs[-1].repartition(npartitions=1)]
    if not all(meeting.columns for meeting in meetings):
        return [each.repartition(npartitions=1) for each in inputs]
    count = max(each.npartitions for each in inputs)
    return [_shuffled(each, meeting, count, kind) for each, meeting in zip(inputs, meetings, strict=True)]


def _shuffled(frame: dd.DataFrame, meeting: Meeting, count: int, kind: Kind) -> dd.DataFrame:
    place = PlaceByKey(meeting, count, kind)
    placed = frame.map_partitions(place, meta=place(frame._meta), enforce_metadata=False)
    return placed.shuffle(on=PARTITION, npartitions=count)


@dataclass(frozen=True, eq=False)
class PolarsPartitions:
    """Does an operation to partitions, in Polars."""

    operation: Operation
    kind: Kind

    @translate_errors
    def __call__(self, *partitions: Any) -> Any:
        """Return what comes out, as a partition."""
        given = [nw.to_native(from_partition(each, self.kind)).lazy() for each in partitions]
        rows = self.operation(*(each.drop(PARTITION, strict=False) for each in given)).collect(engine="in-memory")
        return to_partition(frames.to_arrow(nw.from_native(rows, eager_only=True)), self.kind)


@dataclass(frozen=True, eq=False)
class PlaceByKey:
    """Tells the partition of each row: the same for equal values of a key, null and minus zero included."""

    meeting: Meeting
    count: int
    kind: Kind

    @translate_errors
    def __call__(self, partition: Any) -> Any:
        """Return the partition with the column ``__partition__`` (int64)."""
        keys = from_partition(partition[list(self.meeting.columns)], self.kind)
        frame: pl.DataFrame = nw.to_native(keys).select(self.meeting.expressions())
        places = frame.hash_rows(seed=0) % self.count
        placed = partition.copy(deep=False)
        placed[PARTITION] = places.to_numpy().astype("int64")
        return placed
