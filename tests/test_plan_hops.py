"""How often a fit goes from one file of Penstock to another: what a reader has to follow, counted as calls."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st

ROOT = str(Path(ps.__file__).parent)
FEW = 138
"""It was 190 when a scan was fused three times over; that what authors give is checked takes calls, too, and so does
that a stage may be one of vectors, or fill nulls in columns that others gather in the same scan, that tasks may be
recorded, and that a GPU has other types."""


def file_of(frame: FrameType | None) -> str | None:
    """Return the file of the function, or of the nearest of its callers that is in Penstock."""
    while frame is not None and not frame.f_code.co_filename.startswith(ROOT):
        frame = frame.f_back
    return None if frame is None else frame.f_code.co_filename[len(ROOT) + 1 :]


@contextmanager
def hops() -> Iterator[Counter[tuple[str, str]]]:
    """Count the calls, in all threads, that come to a function in one file from one in another."""
    counts: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            caller, called = file_of(frame.f_back), frame.f_code.co_filename[len(ROOT) + 1 :]
            if caller not in (None, called):
                counts[str(caller), called] += 1

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield counts
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> ps.Dataset:
    monkeypatch.setattr("penstock.core.bounded_pool._TICK", 600.0)  # a slow machine makes no more calls
    return ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, 2.0, 3.0]}))


def test_the_fit_of_one_column_goes_from_file_to_file_seldom(data: ps.Dataset) -> None:
    pipeline = ps.Pipeline(st.StandardScaler("x"))
    pipeline.fit(data)  # what is imported late, is
    with hops() as counts:
        model = pipeline.fit(data)
    assert model.fitted[0]["mean"] == {"x": 2.0}
    told = "\n".join(f"{count} {caller} -> {called}" for (caller, called), count in counts.most_common())
    assert 0 < counts.total() <= FEW, told


def test_a_scan_is_fused_once_for_a_fit(data: ps.Dataset) -> None:
    pipeline = ps.Pipeline(st.StandardScaler("x"))
    with hops() as counts:
        pipeline.fit(data)
    assert counts["pipeline/plan.py", "pipeline/fusion.py"] == 1
    assert counts["pipeline/fit.py", "pipeline/fusion.py"] == 2  # what to gather, and what is answered by it
