"""Paths to files: what a name, a glob, a directory or a URL stands for, and when a directory is refused."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, orc

from penstock.errors import ConfigError, CorruptFileError, IncompleteInputError, InputError, MissingInputError
from penstock.io.sinks import file_entry
from penstock.io.sources.files import InputFile, Storage, corrupt, detect
from penstock.io.sources.hive import with_keys
from penstock.io.sources.paths import expand
from tests.outputs.alone import StagedDirectory

LOCAL = Storage()


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x" * (len(name) + 1))


def names(found: list[InputFile], root: Path) -> list[str]:
    return [os.path.relpath(file.path, root) for file in found]


def output(target: Path, *contents: str) -> None:
    """Write a directory with a manifest."""
    with StagedDirectory(target, run_id="r1") as staged:
        entries = []
        for name in contents:
            (staged.path / name).write_text(name)
            entries.append(file_entry(staged.path / name, staged.path, rows=1, kind="parquet"))
        staged.commit(entries)


# Names


def test_a_file_is_itself_whatever_its_suffix(tmp_path):
    make(tmp_path, "with space.bin")
    path = tmp_path / "with space.bin"
    found = os.stat(path)
    for named in (path, path.as_uri()):
        (file,) = expand(named, (".pq",), LOCAL)
        assert (file.path, file.size, file.mtime) == (str(path), found.st_size, found.st_mtime)


def test_a_glob_is_sorted_and_leaves_hidden_files_out_unless_it_asks_for_them(tmp_path):
    make(tmp_path, "b.pq", "a.pq", "_hidden.pq", ".dot.pq", "c[1].pq", "x/1/d.pq")
    for pattern, expected in (
        ("[a-b].pq", ["a.pq", "b.pq"]),
        ("*.pq", ["a.pq", "b.pq", "c[1].pq"]),
        ("_*.pq", ["_hidden.pq"]),
        ("**/*.pq", ["a.pq", "b.pq", "c[1].pq", "x/1/d.pq"]),
        ("c[1].pq", ["c[1].pq"]),  # a name with brackets is a name first
    ):
        assert names(expand(str(tmp_path / pattern), (".pq",), LOCAL), tmp_path) == expected
    listed = [tmp_path / "b.pq", str(tmp_path / "a.pq")]
    assert names(expand(listed, (".pq",), LOCAL), tmp_path) == ["b.pq", "a.pq"]


def test_nothing_that_matches_names_the_pattern_the_directory_and_what_is_near(tmp_path):
    make(tmp_path, "clicks-2024.pq", "trips.pq")
    with pytest.raises(MissingInputError, match="working directory") as caught:
        expand(str(tmp_path / "click-2024.pq"), (".pq",), LOCAL)
    assert str(tmp_path / "click-2024.pq") in caught.value.message
    assert str(tmp_path / "clicks-2024.pq") in str(caught.value.hint)
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(MissingInputError, match=r"b\*\.pq"):
        expand([str(tmp_path / "trips.pq"), str(tmp_path / "b*.pq")], (".pq",), LOCAL)
    with pytest.raises(MissingInputError) as caught:
        expand(str(tmp_path / "no" / "such" / "*.pq"), (".pq",), LOCAL)
    assert str(tmp_path / "trips.pq") in str(caught.value.hint)
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingInputError):
        expand(tmp_path / "empty", (".pq",), LOCAL)


def test_hidden_files_are_not_shown_for_a_name_that_is_not_hidden(tmp_path):
    make(tmp_path, ".near.pq", "else.csv")
    for name, shown in (("near.pq", "else.csv"), (".nearer.pq", ".near.pq")):
        with pytest.raises(MissingInputError) as caught:
            expand(str(tmp_path / name), (".pq",), LOCAL)
        assert str(caught.value.hint).startswith(f"Near it: {tmp_path / shown}")
        assert (".near.pq" in str(caught.value.hint)) == name.startswith(".")


def test_a_wrong_folder_shows_the_one_that_it_is_most_like(tmp_path, monkeypatch):
    for folder in (tmp_path, tmp_path / "data"):
        (folder / "samples" / "clicks").mkdir(parents=True)
        make(folder, "clicks.pq")
    monkeypatch.chdir(tmp_path)
    for path in ("sampels/clicks", "sampels/clicks/*.pq", "data/sampels/clicks/a.pq"):
        with pytest.raises(MissingInputError) as caught:
            expand(path, (".pq",), LOCAL)
        where = "data/samples" if path.startswith("data/") else "./samples"
        assert str(caught.value.hint).startswith(f"Near it: {where}"), path


def test_no_path_at_all_is_refused():
    with pytest.raises(ConfigError, match="no path is given"):
        expand([], (".pq",), LOCAL)


# Directories


def test_a_directory_without_a_marker_is_refused(tmp_path):
    make(tmp_path, "a.pq", "b.pq")
    with pytest.raises(IncompleteInputError, match=r"neither a Penstock manifest nor a _SUCCESS.*2 file") as caught:
        expand(tmp_path, (".pq",), LOCAL)
    assert "allow_unmanifested=True" in str(caught.value.hint)


def test_the_marker_of_spark_makes_a_directory_whole_and_the_debris_of_a_job_is_refused_always(tmp_path):
    make(tmp_path, "part-1.pq", "_SUCCESS")
    assert names(expand(tmp_path, (".pq",), LOCAL), tmp_path) == ["part-1.pq"]
    make(tmp_path, "_temporary/0/part-2.pq")
    for allow in (False, True):
        with pytest.raises(IncompleteInputError, match=r"_temporary.*1 file\(s\) found"):
            expand(tmp_path, (".pq",), LOCAL, allow_unmanifested=allow)


def test_a_manifest_gives_files_in_its_order_with_hashes(tmp_path):
    output(tmp_path / "out", "b.pq", "a.pq", "notes.txt")
    found = expand(tmp_path / "out", (".pq",), LOCAL)
    assert names(found, tmp_path / "out") == ["b.pq", "a.pq"]
    assert all(len(file.sha256 or "") == 64 for file in found)


def test_a_directory_that_may_not_be_read_is_an_input_error(tmp_path, monkeypatch):
    make(tmp_path, "shut/_SUCCESS")

    def refuses(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", refuses)
    with pytest.raises(InputError, match="shut: Permission denied") as caught:
        expand(tmp_path / "shut", (".pq",), LOCAL)
    assert caught.value.path == str(tmp_path / "shut")


# Hive


def test_folders_become_keys(tmp_path):
    make(tmp_path, "_SUCCESS", "_day=1/a.pq", "year=2024/city=S%C3%A3o/a.pq")
    make(tmp_path, "year=2025/city=__HIVE_DEFAULT_PARTITION__/a.pq")
    underscored, first, second = expand(tmp_path, (".pq",), LOCAL)
    assert underscored.keys == (("_day", "1"),)
    assert first.keys == (("year", "2024"), ("city", "São"))
    assert second.keys == (("year", "2025"), ("city", None))


def test_keys_are_numbers_only_where_nothing_is_lost(subtests):
    for values, expected in (
        (["1", "-20", None], "int64"),
        ([None], "int64"),
        (["01", "02"], "string"),
        (["1", "x"], "string"),
        (["--5"], "string"),
        (["²"], "string"),
        (["9223372036854775808"], "string"),
        (["1.5"], "string"),
    ):
        with subtests.test(values=values, expected=expected):
            files = [InputFile("f", 1, 0.0, keys=(("k", value),)) for value in values]
            assert str(with_keys(pa.schema([]), files).field("k").type) == expected


# URLs


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.rm("/penstock", recursive=True)


def put(filesystem: fsspec.AbstractFileSystem, *paths: str) -> None:
    for path in paths:
        filesystem.pipe_file(f"/penstock/{path}", b"x")


def test_a_glob_of_a_store_is_sorted(memory):
    put(memory, "b.pq", "a.pq", "_c.pq", "a.txt")
    found = expand("memory://penstock/*.pq", (".pq",), LOCAL)
    assert [file.path for file in found] == ["memory:///penstock/a.pq", "memory:///penstock/b.pq"]
    assert all(file.size == 1 and file.mtime > 0 for file in found)


def test_nothing_that_matches_in_a_store_shows_what_is_near_there(memory):
    put(memory, "clicks.pq")
    with pytest.raises(MissingInputError) as caught:
        expand("memory://penstock/click.pq", (".pq",), LOCAL)
    assert "memory:///penstock" in caught.value.message
    assert "clicks.pq" in str(caught.value.hint)


def test_a_directory_of_a_store_needs_a_marker(memory):
    put(memory, "d/a.pq")
    with pytest.raises(IncompleteInputError, match="neither a Penstock manifest nor a _SUCCESS"):
        expand("memory://penstock/d", (".pq",), LOCAL)
    put(memory, "d/_SUCCESS", "d/_x/b.pq", "d/y=1/c.pq")
    found = expand("memory://penstock/d", (".pq",), LOCAL)
    assert [(file.path, file.keys) for file in found] == [
        ("memory:///penstock/d/a.pq", ()),
        ("memory:///penstock/d/y=1/c.pq", (("y", "1"),)),
    ]
    put(memory, "d/_temporary/0/a.pq")
    with pytest.raises(IncompleteInputError, match="_temporary"):
        expand("memory://penstock/d", (".pq",), LOCAL, allow_unmanifested=True)


CHANGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "missing": (lambda fs: fs.rm("/penstock/d/a.pq"), r"lacks 1 file\(s\): a\.pq"),
    "extra": (lambda fs: put(fs, "d/z.pq"), r"holds, beside those of its manifest, 1 file\(s\): z\.pq"),
    "resized": (lambda fs: put(fs, "d/a.pq"), r"has other sizes than its manifest for 1 file\(s\): a\.pq"),
}


def test_a_manifest_in_a_store_is_checked(memory, tmp_path, subtests):
    output(tmp_path / "out", "a.pq", "b.pq")
    for what, (change, message) in CHANGES.items():
        memory.rm("/penstock/d", recursive=True) if memory.exists("/penstock/d") else None
        for name in os.listdir(tmp_path / "out"):
            memory.pipe_file(f"/penstock/d/{name}", (tmp_path / "out" / name).read_bytes())
        found = expand("memory://penstock/d", (".pq",), LOCAL)
        assert [os.path.basename(file.path) for file in found] == ["a.pq", "b.pq"]
        assert all(file.sha256 for file in found)
        change(memory)
        with subtests.test(what=what), pytest.raises(IncompleteInputError, match=message):
            expand("memory://penstock/d", (".pq",), LOCAL)


def test_a_url_of_an_unknown_kind_is_refused():
    with pytest.raises(ConfigError, match="nosuch://x cannot be read"):
        expand("nosuch://x", (".pq",), LOCAL)


# One file


def test_permission_denied_names_the_file(monkeypatch):
    def refuses(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuses)
    with pytest.raises(InputError, match=r"cannot open a\.pq: Permission denied") as caught:
        LOCAL.open("a.pq")
    assert caught.value.path == "a.pq"


@pytest.mark.thorough
def test_a_store_that_fails_says_so_without_credentials(monkeypatch):
    def fails(*arguments: object, **options: object) -> None:
        raise OSError("503 Slow Down")

    monkeypatch.setattr(fsspec, "open", fails)
    with pytest.raises(InputError, match="503 Slow Down") as caught:
        Storage({"secret": "hunter2"}).open("s3://bucket/a.pq")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(Storage({"secret": "hunter2"}))


def test_a_file_that_went_away_is_told():
    with pytest.raises(IncompleteInputError, match="was there when the dataset was planned and is gone"):
        LOCAL.open("/no/such/file.pq")


def test_a_file_that_changed_is_told_with_both_sizes(tmp_path):
    make(tmp_path, "a.pq")
    (file,) = expand(tmp_path / "a.pq", (".pq",), LOCAL)
    LOCAL.check_unchanged(file)
    (tmp_path / "a.pq").write_bytes(b"longer than before")
    with pytest.raises(IncompleteInputError, match="5 bytes when planned, 18 bytes now"):
        LOCAL.check_unchanged(file)


def test_a_file_is_told_by_its_first_bytes(subtests):
    for head, kind in (
        (b"PAR1\x15", "Parquet"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"PK\x03\x04", "zip"),
        (b"a,b\n", "text"),
        (b"Obj\x01\x04\x14avro.codec", "Avro"),
        (b"ARROW1\0\0\xff\xff", "Arrow"),
        (b"SQLite format 3\0\x10", "SQLite"),
        (b"ARROW1,b\n", "text"),
        (b"SQLite format 3,b\n", "text"),
        (b"PAR1,b\n", "text"),
        (b"ORC\tb\n1\t2\n", "text"),
        (b"\0\1", "binary data"),
    ):
        with subtests.test(head=head):
            assert detect(head) == kind
            assert f"looks like {kind}" in corrupt("f", "is wrong", head).message
            assert isinstance(corrupt("f", "is wrong"), CorruptFileError)


# Tables that keep a log

UUID = "6d6a3a3e-4a5b-4b3e-9a51-0c3c2c7a6b1d"
TABLES = {
    "Delta": "t/_delta_log/00000000000000000000.json",
    "Iceberg": f"t/metadata/00002-{UUID}.metadata.json",
    "Hudi": "t/.hoodie/hoodie.properties",
}
READERS = {"Delta": "engine.read_delta", "Iceberg": "engine.read_iceberg", "Hudi": "files of its newest"}


def test_a_table_that_keeps_a_log_is_refused_by_directory_and_by_glob_but_not_by_a_list_of_files(
    tmp_path, memory, subtests
):
    for case, (kind, data) in enumerate(product(TABLES, ("t/a.pq", "t/day=1/k=2/a.pq", "t/data/k=2/a.pq"))):
        make(tmp_path / str(case), TABLES[kind], data, "t/_SUCCESS")
        put(memory, *(f"{case}/{name}" for name in (TABLES[kind], data, "t/_SUCCESS")))
        folder = os.path.dirname(data)
        for root in (f"{tmp_path}/{case}", f"memory://penstock/{case}"):
            for path in ("t", folder, f"{folder}/*.pq", "**/*.pq", "t/**/*.pq", f"{folder}/?.pq", "t*", ""):
                with subtests.test(kind=kind, data=data, root=root, path=path):
                    with pytest.raises(InputError, match=f"/t is a table of {kind}") as caught:
                        expand(f"{root}/{path}", (".pq",), LOCAL, allow_unmanifested=True)
                    assert READERS[kind] in str(caught.value.hint)
            (file,) = expand([f"{root}/{data}"], (".pq",), LOCAL)
            assert file.path.endswith(data)


def test_a_folder_called_metadata_makes_no_table(tmp_path):
    make(tmp_path, "metadata/photo.metadata.json", "a.pq", "_SUCCESS")
    with pytest.warns(UserWarning, match="photo"):
        assert names(expand(tmp_path, (".pq",), LOCAL), tmp_path) == ["a.pq"]


def other_formats(folder: Path) -> dict[str, Path]:
    """Write a file of each format, by the libraries that have them."""
    table = pa.table({"x": [1, 2, 3]})
    orc.write_table(table, folder / "a.orc")
    feather.write_feather(table, folder / "a.arrow")
    with pa.ipc.new_stream(folder / "a.stream", table.schema) as writer:
        writer.write_table(table)
    pl.from_arrow(table).write_avro(folder / "a.avro")
    with closing(sqlite3.connect(folder / "a.db")) as connection:
        connection.execute("create table t (x int)")
        connection.commit()
    names = {"ORC": "orc", "Arrow": "arrow", "an Arrow stream": "stream", "Avro": "avro", "SQLite": "db"}
    return {kind: folder / f"a.{name}" for kind, name in names.items()}


def test_a_file_of_another_format_is_named_with_what_reads_it(local, tmp_path):
    readers = ("engine.read_orc", "engine.read_arrow", "engine.read_arrow", "engine.read_avro", "engine.read_sql")
    for (kind, path), reader in zip(other_formats(tmp_path).items(), readers, strict=True):
        for read in (local.read_parquet, local.read_csv, local.read_json_lines):
            with pytest.raises(CorruptFileError, match=f"which looks like {kind}\n") as caught:
                read(path)
            assert reader in str(caught.value.hint)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    with pytest.raises(CorruptFileError) as caught:
        local.read_csv(tmp_path / "a.parquet")
    assert "engine.read_parquet" in str(caught.value.hint)


def test_orc_is_told_whatever_its_compression(tmp_path):
    for table in (pa.table({"x": [1, 2, 3], "s": ["a", None, "c"]}), pa.table({"x": pa.array([], pa.int64())})):
        for codec in ("uncompressed", "snappy", "zlib", "zstd"):
            orc.write_table(table, tmp_path / "a.orc", compression=codec)
            assert detect((tmp_path / "a.orc").read_bytes()[:16]) == "ORC"


def test_a_header_that_begins_as_another_format_is_a_header(local, tmp_path):
    for name in ("ORC", "PAR1", "ARROW1", "PARE"):
        (tmp_path / "a.csv").write_text(f"{name},b\n1,2\n")
        assert local.read_csv(tmp_path / "a.csv").schema.names == [name, "b"]
