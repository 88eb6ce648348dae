"""Rows for gangs of threads, and an engine that keeps what it is told of them."""

import pyarrow as pa
import pytest
from spmd.rank_threads import Notes

from penstock.dataset import Dataset
from penstock.engines.local import LocalEngine


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def data(notes: Notes) -> dict[str, Dataset]:
    engine = LocalEngine(device="cpu", progress=notes)
    return {"train": engine.from_arrow(pa.table({"x": range(10)}), fragment_bytes=24)}
