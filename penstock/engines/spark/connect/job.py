"""A job of data frames: followed by what the server reports of it, interrupted by its tag."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from threading import current_thread
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.engines.spark.job import CANCELLING, ENDING, Job
from penstock.engines.spark.job_errors import SettingLookup


class FrameJob(Job):
    """Collects a data frame of Spark Connect.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    label : str
    settings : SettingLookup
    tasks : int
        Of the stage whose progress is followed; 0 where none is.
    """

    def __init__(self, frame: DataFrame, label: str, settings: SettingLookup, tasks: int = 0) -> None:
        super().__init__(label, (), settings)
        self._frame, self._session = frame, frame.sparkSession
        self._tasks, self._completed = tasks, 0

    def collect(self) -> list[Any]:
        """Return a tuple a row."""
        self._session.addTag(self.name)
        self._session.registerProgressHandler(self._follow)
        try:
            table = self._frame.toArrow()
        finally:
            self._session.removeProgressHandler(self._follow)
            self._session.removeTag(self.name)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def completed(self) -> int:
        return self._completed

    def stop(self, patience: float = ENDING) -> None:
        if self.wait(patience):
            return
        with suppress(PySparkException):  # the server is gone
            self._session.interruptTag(self.name)
        self.wait(CANCELLING)

    def _follow(self, stages: Iterable[Any] | None = None, **_: Any) -> None:
        """Take what the server reports of an operation, which it does in the thread that waits for it."""
        if current_thread() is self._thread:
            completed = [each.num_completed_tasks for each in stages or () if each.num_tasks == self._tasks]
            self._completed = max([self._completed, *completed])
