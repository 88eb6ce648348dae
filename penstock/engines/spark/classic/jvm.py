"""The JVM in which Spark's driver runs, when it ends before the work does: killed for its memory, say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from penstock.core.errors import WorkerLostError


@contextmanager
def naming_lost_jvm(context: SparkContext, label: str) -> Iterator[None]:
    """Raise WorkerLostError in place of whatever fails inside because the JVM is gone.

    One that this process did not start, as that of spark-submit, is gone where it refuses connections.
    """
    try:
        yield
    except Exception as error:
        end = _end(context, error)
        if end is None:
            raise
        raise WorkerLostError(
            f"{label} lost Spark: its JVM {end}",
            hint="Look at its messages on stderr, and whether the machine ran out of memory. In this process Spark does"
            " not start again: start a new one.",
            engine="spark",
        ) from error


def _end(context: SparkContext, error: Exception) -> str | None:
    """Return how the JVM ended; None while it answers."""
    process = getattr(context._gateway, "proc", None)
    code = None if process is None else process.poll()
    if code is None:
        return "does not answer" if isinstance(error, Py4JNetworkError | ConnectionError) else None
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
