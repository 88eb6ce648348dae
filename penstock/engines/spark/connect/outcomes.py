"""Numbered pickled values as the rows of data frames, and the steps of a job that make others of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.engines.spark.connect.by_value import by_value
from penstock.engines.spark.frames import partition_each
from penstock.engines.spark.hash_partitioned import PartNumbers
from penstock.engines.spark.pandas_warning import no_pandas_warning
from penstock.engines.spark.tasks import Outcome

Step: TypeAlias = Callable[[Iterable[Outcome]], Iterator[Outcome]]

_SCHEMA = pa.schema([("number", pa.int64()), ("value", pa.binary()), ("place", pa.int32())])


@dataclass(frozen=True)
class MapOutcomes:
    """Does steps to the outcomes of a partition, in a Python worker of Spark.

    Parameters
    ----------
    steps : tuple of callable
    numbers : PartNumbers, optional
        By which each outcome is given its place among the partitions of the next stage.
    """

    steps: tuple[Step, ...]
    numbers: PartNumbers | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a batch an outcome."""
        outcomes: Iterator[Outcome] = (
            outcome
            for batch in batches
            for outcome in zip(batch.column("number").to_pylist(), batch.column("value").to_pylist(), strict=True)
        )
        for step in self.steps:
            outcomes = step(outcomes)
        for outcome in outcomes:
            place = 0 if self.numbers is None else self.numbers.place_of_group(outcome)
            yield pa.record_batch([[outcome[0]], [outcome[1]], [place]], schema=_SCHEMA)


@dataclass(frozen=True)
class FramePieces:
    """`penstock.engines.spark.driver.Pieces` in a data frame, and the steps that are still to be done to them."""

    frame: DataFrame
    variables: Mapping[str, str]
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, session: SparkSession, values: list[bytes], variables: Mapping[str, str]) -> FramePieces:
        """Return values by their numbers, each in a partition of its own; `variables` are set in the workers."""
        return cls(partition_each(session, values), variables)

    def then(self, step: Step) -> FramePieces:
        return replace(self, steps=(*self.steps, step))

    def meet(self, numbers: PartNumbers, partitions: int) -> FramePieces:
        frame = self.mapped(numbers).repartitionById(partitions, "place")
        return FramePieces(frame, self.variables)

    def mapped(
        self, numbers: PartNumbers | None = None, *, barrier: bool = False, profile: ResourceProfile | None = None
    ) -> DataFrame:
        """Return the frame to which the steps are done, as one stage whose tasks start together if `barrier`."""
        options: dict[str, Any] = {"barrier": barrier} | ({} if profile is None else {"profile": profile})
        work = by_value(MapOutcomes(self.steps, numbers), self.variables)
        with no_pandas_warning():
            return self.frame.mapInArrow(work, from_arrow_schema(_SCHEMA), **options)
