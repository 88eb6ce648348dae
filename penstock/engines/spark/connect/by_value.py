"""Functions that Spark Connect moves by value, as no variable of its workers can be set before they import anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark import cloudpickle

from penstock.core.by_value import register_modules
from penstock.engines.spark.tasks import unpickle_once

Batches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Enclosed:
    """An object that travels pickled in the function of a job, and is unpickled once in each Python worker."""

    key: str
    data: bytes

    @classmethod
    def of(cls, value: Any) -> Enclosed:
        """Return a value ready to be sent."""
        register_modules(cloudpickle)
        return cls(uuid4().hex, cloudpickle.dumps(value))

    def value(self) -> Any:
        """Return the object."""
        return unpickle_once(self.key, lambda: self.data)


def by_value(work: Batches, variables: Mapping[str, str]) -> Batches:
    """Return a function that does `work`, and sets variables of the environment before it imports what that needs.

    ``PYTHONPATH`` is for the worker itself too, which has started.
    """
    pickled, variables = cloudpickle.dumps(work), dict(variables)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import pickle
        import sys

        os.environ.update(variables)
        sys.path += [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path not in sys.path]
        yield from pickle.loads(pickled)(batches)

    return run
