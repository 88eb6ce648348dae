"""What became of the workers that a Spark job lost, as far as Spark's text tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.core.errors import MemoryLimitError, WorkerLostError
from penstock.dataset.task_errors import place_of
from penstock.engines.task_items import describe_with_size
from penstock.io.memory_errors import HINT

_LOST = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Executor heartbeat timed out", "no longer alive")
_OF_MEMORY = (
    "exit code 137", "exit code is 137", "exit status: 137", "exited with code 137", "possible container oom",
    "exceeding physical memory limits", "exceeding virtual memory limits", "exceeding memory limits", "oomkilled",
    "outofmemoryerror",
)  # fmt: skip
_LIMITS = ("spark.executor.memory", "spark.executor.memoryOverhead", "spark.executor.pyspark.memory")


def loss(label: str, text: str, reason: str, item: Any, settings: Mapping[str, str]) -> WorkerLostError | None:
    """Return the error for a job that failed because workers were lost, MemoryLimitError for those ended for memory.

    Parameters
    ----------
    label : str
        What ran.
    text : str
        All that Spark says of the failure.
    reason : str
        The line of it that tells why.
    item : object
        What the failed task worked on; None where that is not known.
    settings : mapping
        Those of Spark, of which the limits of memory are told.

    Returns
    -------
    WorkerLostError, or None
        None where the job failed otherwise.
    """
    lowered = text.lower()
    of_memory = reason.startswith("MemoryError") or any(sign in lowered for sign in _OF_MEMORY)
    if not of_memory and not any(sign in text for sign in _LOST):
        return None
    what = "" if item is None else f" on {describe_with_size(item)}"
    problem = f"{label} lost a worker{what} as often as Spark tries a task. {reason}"
    if of_memory:
        limits = ", ".join(f"{name} is {settings.get(name, 'not set')}" for name in _LIMITS)
        return MemoryLimitError(f"{problem} ({limits})", hint=HINT, engine="spark", **place_of(item))
    return WorkerLostError(
        problem,
        hint="Look at the log of that executor: out of memory, a crash in native code, or a lost machine.",
        engine="spark",
        **place_of(item),
    )
