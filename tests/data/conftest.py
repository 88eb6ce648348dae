"""Rows of a generator as a frame, and chunks of a few rows."""

from pathlib import Path
from types import ModuleType

import _write
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def frame(generator: ModuleType, rows: int, seed: int = 0) -> pl.DataFrame:
    return pl.DataFrame(pa.concat_tables(generator.generate(rows, seed)))


def content(paths: list[Path]) -> pl.DataFrame:
    """Return the rows of files of Parquet."""
    return pl.concat(pl.DataFrame(pq.read_table(path)) for path in paths)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_write, "CHUNK_ROWS", 100)
