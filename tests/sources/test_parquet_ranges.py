"""Parquet in stores: the rows of a disk, from few requests and no more bytes than the columns take."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from penstock.errors import IncompleteInputError
from penstock.io.sources import parquet
from penstock.io.sources.files import InputFile, Storage

Range = tuple[int, int]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Range]]:
    """The ranges that are asked for; nothing else of a file is read."""
    ranges: list[Range] = []
    read = MemoryFileSystem.cat_file

    def cat_file(self: MemoryFileSystem, path: str, start: int, end: int, **options: object) -> bytes:
        ranges.append((start, end))
        return read(self, path, start, end, **options)  # type: ignore[no-any-return]

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("a file was opened as a whole")

    monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)
    monkeypatch.setattr(MemoryFileSystem, "_open", refuse)
    monkeypatch.setattr(parquet, "_known", type(parquet._known)())
    yield ranges
    MemoryFileSystem.store.clear()


@pytest.fixture
def table() -> pa.Table:
    rng = np.random.default_rng(3)
    rows = 40_000
    return pa.table(
        {
            "x": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.1),
            "s": pa.array([f"text {value}" for value in rng.integers(5000, size=rows)]),
            "l": pa.array([[float(row), None] for row in range(rows)]),
            "t": pa.StructArray.from_arrays([pa.array(range(rows)), rng.random(rows)], ["a.b", "c"]),
            "y": rng.random(rows),
        }
    )


@pytest.fixture
def content(table: pa.Table, tmp_path: Path) -> bytes:
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=10_000)
    data = (tmp_path / "a.parquet").read_bytes()
    MemoryFileSystem().store["/r/a.parquet"] = fsspec.implementations.memory.MemoryFile(None, "/r/a.parquet", data)
    return data


@pytest.mark.thorough
def test_planning_takes_one_request_for_each_footer_and_reading_none(local, requests, content):
    data = local.read_parquet("memory://r/a.parquet", fragment_bytes=200_000)
    assert requests == [(len(content) - parquet.FOOTER_BYTES, len(content))]
    requests.clear()
    data.select("x").to_arrow()
    assert len(requests) == len(data.fragments) > 1


def test_bytes_are_those_of_the_columns(local, requests, content, tmp_path):
    data = local.read_parquet("memory://r/a.parquet", fragment_bytes=2**30)
    requests.clear()
    data.select("x").to_arrow()
    metadata = pq.read_metadata(tmp_path / "a.parquet")
    chunks = sum(metadata.row_group(group).column(0).total_compressed_size for group in range(4))
    assert chunks <= sum(end - start for start, end in requests) < len(content)


@pytest.mark.thorough
def test_a_footer_that_is_longer_than_most_is_fetched_whole(local, requests, content, table, monkeypatch):
    monkeypatch.setattr(parquet, "FOOTER_BYTES", 100)
    assert local.read_parquet("memory://r/a.parquet").select("y").to_arrow() == table.select(["y"])
    assert [end for _, end in requests[:2]] == [len(content)] * 2


@pytest.mark.thorough
def test_a_file_that_is_shorter_than_it_was_is_told(requests, content):
    file = InputFile("memory://r/a.parquet", len(content) + 7, 0.0)
    with pytest.raises(IncompleteInputError, match="where 65536 were planned"):
        parquet.read_metadata(Storage(), file)
