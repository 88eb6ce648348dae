"""Durations of tests, written to a file as they are read by ``tools/suite.py``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest


class Durations:
    """Adds up the phases of each test, in the process that all reports come to; sub-tests are part of their test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds = Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not isinstance(report, pytest.SubtestReport):
            self._seconds[str(report.nodeid).partition("@")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(
            json.dumps({test: round(seconds, 4) for test, seconds in self._seconds.items()}, indent=0)
        )
