"""Durations of tests, as JSON for ``tools/suite.py``."""

import json
from collections import Counter
from pathlib import Path

import pytest


class Durations:
    """Recorder of the seconds of each test, set-up and tear-down included.

    The durations of sub-tests are part of their test's. Under xdist the controller records, which gets all reports.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds = Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not isinstance(report, pytest.SubtestReport):
            self._seconds[str(report.nodeid).partition("@")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps({test: round(took, 4) for test, took in self._seconds.items()}, indent=0))
