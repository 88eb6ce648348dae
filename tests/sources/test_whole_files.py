"""Files as rows: what is listed, what is opened, and what is said when a file is not what it was."""

import os
from datetime import datetime
from pathlib import Path

import fsspec
import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import IncompleteInputError, InputError, MissingInputError
from penstock.io.formats.whole_files import WholeFiles, WholeFilesOptions
from penstock.io.sources.files import InputFile, Storage

CONTENTS = {"a.jpg": b"\xff\xd8\0", "b.PNG": b"", "c.txt": b"text", "sub/d.jpg": bytes(range(256))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in CONTENTS.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1_700_000_000.25, 1_700_000_000.25))
    return tmp_path / "files"


def test_each_file_is_a_row(engine, folder):
    dataset = engine.read_files(f"{folder}/**/*")
    assert dataset.to_arrow().to_pylist() == [
        {"path": str(folder / name), "size": len(content), "modified": datetime(2023, 11, 14, 22, 13, 20, 250000),
         "content": content}
        for name, content in CONTENTS.items()
    ]  # fmt: skip


def test_content_passes_through_every_way_out(engine, folder, tmp_path):
    dataset = engine.read_files(folder).filter(nw.col("size") > 2).select("content", "path")
    wanted = [content for content in CONTENTS.values() if len(content) > 2]
    dataset.write_parquet(tmp_path / "out")
    doubled = dataset.map_partitions(_twice, {"content": "binary"}, frame="arrow")
    assert engine.read_parquet(tmp_path / "out").to_arrow()["content"].to_pylist() == wanted
    assert dataset.to_pandas()["content"].to_list() == wanted
    assert doubled.to_arrow()["content"].to_pylist() == [content * 2 for content in wanted]


def _twice(table: pa.Table) -> pa.Table:
    return pa.table({"content": pa.array([content * 2 for content in table["content"].to_pylist()], pa.binary())})


_twice.__module__ = "__main__"  # so that it travels to workers, which cannot import this file


def test_a_file_that_is_named_twice_is_one_row(local, folder):
    dataset = local.read_files([folder / "c.txt", folder, folder / "a.jpg"])
    assert [Path(path).name for path in dataset.to_arrow()["path"].to_pylist()] == ["c.txt", "a.jpg", "b.PNG", "d.jpg"]


def test_a_file_is_not_opened_for_its_path_and_size(local, folder):
    dataset = local.read_files(folder)
    for name in CONTENTS:
        (folder / name).unlink()
    assert dataset.select("path", "size").to_arrow()["size"].to_pylist() == [3, 0, 4, 256]
    assert dataset.count() == 4


def test_files_are_put_together_by_their_size(local):
    files = [InputFile(f"{place}.jpg", 2**20, 0.0) for place in range(5)] + [InputFile("large.jpg", 2**24, 0.0)]
    _, fragments = WholeFiles().plan(files, local, Storage(), WholeFilesOptions(fragment_bytes=3 * 2**20))
    assert [fragment.rows for fragment in fragments] == [2, 2, 1, 1]
    assert [(fragment.index, fragment.start) for fragment in fragments] == [(0, 0), (1, 2), (2, 4), (3, 5)]
    assert fragments[1].locate(3) == ("3.jpg", 0)
    small = [InputFile(f"{place}.jpg", 100, 0.0) for place in range(2000)]
    _, fragments = WholeFiles().plan(small, local, Storage(), WholeFilesOptions())
    assert max(fragment.rows for fragment in fragments) <= 512


def test_extensions_are_found_in_upper_and_lower_case_and_none_is_an_error(local, folder):
    dataset = local.read_files(folder, extensions=["jpg", ".png"])
    assert [Path(path).name for path in dataset.to_arrow()["path"].to_pylist()] == ["a.jpg", "b.PNG", "d.jpg"]
    with pytest.raises(MissingInputError, match=r"none of 4 file\(s\) ends in \.webp"):
        local.read_files(folder, extensions=["webp"])


def test_a_file_that_changed_is_an_error(local, folder):
    dataset = local.read_files(folder)
    (folder / "c.txt").write_bytes(b"longer text")
    with pytest.raises(IncompleteInputError, match=r"c\.txt changed while it was being read"):
        dataset.to_arrow()


def test_files_of_a_store_are_urls_and_may_have_no_time(local):
    with fsspec.open("memory://images/a.jpg", "wb") as file:
        file.write(b"\xff\xd8")
    (row,) = local.read_files("memory://images/*.jpg").to_arrow().to_pylist()
    assert (row["path"], row["size"], row["content"]) == ("memory:///images/a.jpg", 2, b"\xff\xd8")


def test_a_file_of_more_than_two_gigabytes_is_refused_when_its_content_is_asked_for(local, tmp_path):
    with open(tmp_path / "large.bin", "wb") as file:
        file.truncate(2**31)
    dataset = local.read_files(tmp_path / "large.bin")
    assert dataset.select("size").to_arrow()["size"].to_pylist() == [2**31]
    with pytest.raises(InputError, match="has 2147483648 bytes, expected at most 2 GiB"):
        dataset.to_arrow()


def test_rows_of_a_split_are_the_same_files_everywhere(engine, folder):
    parts = [part.to_arrow()["path"].to_pylist() for part in engine.read_files(folder).split([0.5, 0.5], seed=3)]
    assert sorted(parts[0] + parts[1]) == sorted(str(folder / name) for name in CONTENTS)
    alone = ps.LocalEngine(device="cpu").read_files(folder, fragment_bytes=1).split([0.5, 0.5], seed=3)
    assert [part.to_arrow()["path"].to_pylist() for part in alone] == parts
