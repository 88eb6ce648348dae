"""Why a Spark job failed, as far as Spark's text says it."""

from __future__ import annotations

import re
from typing import Any, Protocol

from penstock.core.errors import ExecutionError, MemoryLimitError, PenstockError, WorkerLostError
from penstock.dataset.task_errors import NO_MODULE, place_of
from penstock.engines.task_items import describe_with_size
from penstock.io.memory_errors import HINT

_LOST = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Executor heartbeat timed out", "no longer alive")
_OF_MEMORY = (
    "exit code 137", "exit code is 137", "exit status: 137", "exited with code 137", "possible container oom",
    "exceeding physical memory limits", "exceeding virtual memory limits", "exceeding memory limits", "oomkilled",
    "outofmemoryerror",
)  # fmt: skip
_LIMITS = ("spark.executor.memory", "spark.executor.memoryOverhead", "spark.executor.pyspark.memory")


class SettingLookup(Protocol):
    """Spark's settings by name: those of a session, or a dict."""

    def get(self, key: str, default: str, /) -> str | None:
        """Return a setting, `default` where it is not set."""


def job_error(label: str, error: Exception, place: int | None, item: Any, settings: SettingLookup) -> PenstockError:
    """Return what to raise for a job that ended in `error`.

    Parameters
    ----------
    label : str
        What ran.
    error : Exception
        What PySpark raised.
    place : int, optional
        The number of the item that the failed task worked on; None where that is not known.
    item : object
        That item.
    settings : SettingLookup

    Returns
    -------
    WorkerLostError
        A worker died as often as Spark tries a task; MemoryLimitError where Spark says that it was for memory.
    ExecutionError
        The job failed otherwise; the message is the last line of the traceback on the worker.
    """
    reason = cause(error)
    if (lost := loss(label, str(error), reason, item, settings)) is not None:
        return lost.at(partition=place)
    hint = NO_MODULE if reason.startswith(ModuleNotFoundError.__name__) else None
    return ExecutionError(f"{label} failed: {reason}", hint=hint, engine="spark")


def cause(error: Exception) -> str:
    r"""Return the line that says why Spark failed, out of some hundred lines of JVM and Python tracebacks.

    Examples
    --------
    >>> text = "calling o1.x\n: org.apache.spark.SparkException: Job aborted\nTraceback (most recent call last):"
    >>> cause(Exception(text + "\n  File ...\nValueError: too hot\n\n\tat org.apache.spark.api..."))
    'ValueError: too hot'
    >>> cause(Exception('<_Rendezvous of RPC:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = "Socket closed"\n>'))
    'StatusCode.UNAVAILABLE: Socket closed'
    """
    head = re.split(r"\n\s+at ", str(error))[0]
    if (details := re.search(r"status = (StatusCode\.\w+)\s+details = \"(.*?)\"\n", head)) is not None:  # of gRPC
        return f"{details[1]}: {details[2]}"
    _, _, python = head.rpartition("Traceback (most recent call last):")
    if python != head:
        lines = [line for line in python.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
        return " ".join(line for line in lines if "SQLSTATE" not in line)
    java = [line for line in head.splitlines() if line.startswith(": ")]
    return (java or head.splitlines() or [type(error).__name__])[0].removeprefix(": ")


def loss(label: str, text: str, reason: str, item: Any, settings: SettingLookup) -> WorkerLostError | None:
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
    settings : SettingLookup
        Those of Spark: the limits of memory are part of the message.

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
