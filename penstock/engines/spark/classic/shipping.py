"""What a job of RDDs moves beside its items: what its steps call, to the workers, and failures, from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark import AccumulatorParam, Broadcast, SparkContext, cloudpickle

from penstock.core.by_value import register_modules
from penstock.engines.spark.tasks import Failure, unpickle_once


class Failures(AccumulatorParam[list[Failure]]):
    """Reports failures to the driver as they happen, so that it need not wait for the end of the job."""

    def zero(self, value: list[Failure]) -> list[Failure]:
        """Return no failures."""
        return []

    def addInPlace(self, value1: list[Failure], value2: list[Failure]) -> list[Failure]:  # noqa: N802
        """Return the failures of both."""
        return value1 + value2


@dataclass(frozen=True)
class Broadcasted:
    """An object sent once to each executor, and unpickled once in each Python worker for all its tasks."""

    key: str
    broadcast: Broadcast[bytes]

    @classmethod
    def of(cls, context: SparkContext, value: Any) -> Broadcasted:
        """Return a value ready to be sent; to be closed when no task needs it any more."""
        register_modules(cloudpickle)
        return cls(uuid4().hex, context.broadcast(cloudpickle.dumps(value)))

    def close(self) -> None:
        """Remove it from the driver and the executors."""
        self.broadcast.destroy()

    def value(self) -> Any:
        """Return the object."""
        return unpickle_once(self.key, lambda: self.broadcast.value)
