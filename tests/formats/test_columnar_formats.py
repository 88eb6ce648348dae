"""ORC, Avro and Arrow IPC, written by other libraries: the contract that Parquet has."""

import os
from collections.abc import Iterator
from pathlib import Path

import fsspec
import narwhals as nw
import pyarrow as pa
import pytest
from columnar_files import GROUP, WRITERS, table

import penstock as ps
from penstock.engines.base import Engine
from penstock.errors import ConfigError, CorruptFileError, IncompleteInputError, PenstockError, SchemaDriftError
from penstock.io.fragments import row_bytes

ALL = pytest.mark.parametrize("name", WRITERS)


def write(name: str, path: Path, rows: pa.Table) -> Path:
    format, writer = WRITERS[name]
    path = path.with_suffix(f".{format}")
    writer(rows, path)
    return path


def read(engine: Engine, name: str, paths: object, **options: object) -> ps.Dataset:
    return engine.read(WRITERS[name][0], paths, **options)  # type: ignore[arg-type]


def rows_or_error(engine: Engine, name: str, path: Path, error: type[PenstockError]) -> set[int]:
    """Return how many rows a file has, none where it is refused with its path."""
    try:
        return {read(engine, name, path).to_arrow().num_rows}
    except error as refusal:
        if str(path) not in str(refusal):
            raise
        return set()


@pytest.fixture
def store() -> Iterator[fsspec.AbstractFileSystem]:
    filesystem = fsspec.filesystem("memory")
    filesystem.mkdir("/columnar")
    yield filesystem
    filesystem.rm("/columnar", recursive=True)


@ALL
def test_files_of_other_writers_are_read_in_fragments_without_losing_a_row(local, name, tmp_path):
    rows = table(5 * GROUP + 100)
    paths = [write(name, tmp_path / "a", rows.slice(0, 3 * GROUP)), write(name, tmp_path / "b", rows.slice(3 * GROUP))]
    data = read(local, name, [str(path) for path in paths], fragment_bytes=GROUP * row_bytes(rows.schema))
    assert [fragment.rows for fragment in data.fragments] == [GROUP] * 5 + [100]
    assert data.to_arrow().equals(rows)
    assert data.select("s").to_arrow().equals(rows.select(["s"]))
    assert data.count() == rows.num_rows


@ALL
def test_ranks_and_samples_read_parts_of_a_group_and_a_nan_is_null(local, name, tmp_path):
    rows = table(GROUP + 10)
    data = read(local, name, write(name, tmp_path / "a", rows))
    train, test = (part.to_arrow()["id"].to_pylist() for part in data.split([0.5, 0.5], seed=1))
    assert train
    assert test
    assert sorted(train + test) == list(range(GROUP + 10))
    assert data.head(3)["id"].to_list() == [0, 1, 2]
    odd = write(name, tmp_path / "b", pa.table({"x": [1.0, float("nan"), float("inf")]}))
    assert read(local, name, odd).to_arrow()["x"].to_pylist() == [1.0, None, float("inf")]


@ALL
def test_a_url_is_read_as_a_path_is(local, name, tmp_path, store):
    rows = table(2 * GROUP)
    path = write(name, tmp_path / "a", rows)
    store.pipe(f"/columnar/{path.name}", path.read_bytes())
    assert read(local, name, f"memory://columnar/{path.name}").to_arrow().equals(rows)


@ALL
def test_keys_of_folders_are_columns_and_a_file_that_lacks_a_column_is_told(local, name, tmp_path):
    for day, rows in ((1, table(10)), (2, table(10, 10).drop_columns("b"))):
        (tmp_path / f"day={day}").mkdir()
        write(name, tmp_path / f"day={day}" / "a", rows)
    with pytest.raises(SchemaDriftError, match=r"column 'b' of .* is not in "):
        read(local, name, tmp_path, allow_unmanifested=True)
    data = read(local, name, tmp_path, allow_unmanifested=True, missing_columns="null")
    read_back = data.to_arrow()
    assert read_back["day"].to_pylist() == [1] * 10 + [2] * 10
    assert read_back["b"].to_pylist() == [*table(10)["b"].to_pylist(), *[None] * 10]
    assert data.filter(nw.col("day") == 2).count() == 10


@ALL
def test_a_column_that_is_not_declared_is_left_out_and_a_type_that_does_not_hold_it_is_refused(local, name, tmp_path):
    path = write(name, tmp_path / "a", table(10))
    with pytest.warns(UserWarning, match="columns that the declared schema lacks are left out: x in "):
        data = read(local, name, path, schema={"s": "string", "id": "int64"})
    assert data.to_arrow().equals(table(10).select(["s", "id"]))
    with pytest.raises(SchemaDriftError, match=r"column 'x' is double in .*float"):
        read(local, name, path, schema={"id": "int64", "x": "float32", "s": "string", "b": "bool"})


@ALL
def test_an_empty_file_and_one_of_another_format_are_told(local, name, tmp_path):
    path = write(name, tmp_path / "a", table(3))
    path.write_bytes(b"")
    with pytest.raises(CorruptFileError, match=f"{path}: 0 bytes, expected an? "):
        read(local, name, path)
    path.write_bytes(b"PAR1" + b"\x15\x04" * 100)
    with pytest.raises(CorruptFileError, match=r"not an? .* file .*looks like Parquet") as caught:
        read(local, name, path)
    assert "engine.read_parquet" in str(caught.value.hint)


@pytest.mark.thorough
@ALL
def test_a_file_that_is_cut_anywhere_is_corrupt_or_of_whole_blocks(local, name, tmp_path):
    path = write(name, tmp_path / "a", table(GROUP + 10))
    whole = path.read_bytes()
    rows = set()
    for size in {*range(20, len(whole), max(1, len(whole) // 60)), len(whole) - 1, len(whole) - 8}:
        path.write_bytes(whole[:size])
        rows |= rows_or_error(local, name, path, CorruptFileError)
    assert rows <= ({0, GROUP} if name == "avro" else set())  # between two blocks Avro has no way to tell


def test_a_stream_that_is_cut_between_two_batches_and_two_in_one_file_are_corrupt(local, tmp_path):
    path = write("stream", tmp_path / "a", table(10))
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    assert pa.ipc.open_stream(path.read_bytes()).read_all().num_rows == 10  # pyarrow does not mind
    with pytest.raises(CorruptFileError, match="ends without the mark of its end"):
        local.read_arrow(path)
    path.write_bytes(whole * 2)
    with pytest.raises(CorruptFileError, match="bytes follow the end of the stream"):
        local.read_arrow(path)


@pytest.mark.thorough
@ALL
def test_a_changed_byte_never_ends_in_anything_but_rows_or_an_error_of_penstock(local, name, tmp_path):
    for rows in (10, GROUP + 5):
        path = write(name, tmp_path / str(rows), table(rows))
        whole = path.read_bytes()
        for place in range(3, len(whole), max(1, len(whole) // 40)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
            rows_or_error(local, name, path, PenstockError)


@ALL
def test_a_file_that_changed_since_it_was_planned_is_told(local, name, tmp_path):
    path = write(name, tmp_path / "a", table(10))
    data = read(local, name, path)
    write(name, tmp_path / "a", table(20))
    with pytest.raises(IncompleteInputError, match="changed while it was being read"):
        data.to_arrow()


@pytest.mark.parametrize("format", ["orc", "avro", "arrow"])
def test_a_part_that_is_not_the_one_of_its_manifest_is_told(local, format, tmp_path):
    local.from_arrow(table(100)).write(tmp_path / "out", format=format, compression="uncompressed")
    part = tmp_path / "out" / f"part-00000.{format}"
    status, content = part.stat(), part.read_bytes()
    place = content.index("größe 3".encode())
    part.write_bytes(content[:place] + b"G" + content[place + 1 :])
    os.utime(part, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(CorruptFileError, match="its manifest lists"):
        local.read(format, tmp_path / "out").to_arrow()


@pytest.mark.thorough
def test_a_dictionary_and_views_are_strings(local, tmp_path):
    texts = pa.array(["a", None, "b", "a"] * GROUP)
    rows = pa.table(
        {"d": texts.dictionary_encode(), "v": texts.cast(pa.string_view()), "l": texts.cast("large_string")}
    )
    for name in ("arrow", "stream"):
        data = local.read_arrow(write(name, tmp_path / name, rows), fragment_bytes=GROUP * 84)
        assert len(data.fragments) == 4
        assert data.schema == pa.schema([(column, pa.string()) for column in "dvl"])
        assert data.to_arrow()["d"].to_pylist() == texts.to_pylist() == data.to_arrow()["v"].to_pylist()


def test_a_name_with_a_dot_is_a_name(local, tmp_path):
    rows = pa.table({"a": [{"b": 1}], "a.b": [2]})
    assert local.read_orc(write("orc", tmp_path / "a", rows)).select("a.b").to_arrow().to_pydict() == {"a.b": [2]}


def test_times_that_readers_of_orc_overflow_or_fail_on_are_refused_when_they_are_written(local, tmp_path):
    early = pa.array([None, -1_500_000], pa.timestamp("us"))
    for column, problem in (
        (pa.array([253_402_300_799], pa.timestamp("s")), r"is timestamp\[.*\], stored as timestamp\[ns\]"),
        (early, "has a time before 1970 with a fraction of a second"),  # in Java
        (pa.ListArray.from_arrays([0, 1, 2], early), "has a time before 1970 with a fraction of a second"),
    ):
        with pytest.raises(PenstockError, match=f"column 't' {problem}"):
            local.from_arrow(pa.table({"t": column})).write(tmp_path / "out", format="orc")
        assert not (tmp_path / "out").exists()


def test_an_option_of_the_writer_and_a_type_that_it_cannot_hold_are_refused_before_anything_is_read(local, tmp_path):
    def explode(frame: nw.DataFrame) -> nw.DataFrame:
        raise AssertionError("was read")

    rows = pa.table({"x y": [1], "u": pa.array([1], pa.uint64())})
    data = local.from_arrow(rows).map_partitions(explode, schema=rows.schema)
    with pytest.raises(ConfigError, match="compression is 'gzip', expected one of"):
        data.write(tmp_path / "out", format="orc", compression="gzip")
    with pytest.raises(ConfigError, match=r"column 'x y' has a name that Avro does not allow"):
        data.select("x y").write(tmp_path / "out", format="avro")
    for format in ("orc", "avro"):
        with pytest.raises(ConfigError, match=r"column 'u' is uint64, which .* cannot hold"):
            data.select("u").write(tmp_path / "out", format=format)


def test_on_a_cluster_parts_are_written_and_read_as_here(distributed_engine, local, tmp_path):
    rows = table(3 * GROUP)
    data = distributed_engine.from_arrow(rows, fragment_bytes=GROUP * row_bytes(rows.schema))
    for format in ("orc", "avro", "arrow"):
        assert data.write(tmp_path / format, format=format).rows == rows.num_rows
        assert distributed_engine.read(format, tmp_path / format).to_arrow().equals(rows)
        assert local.read(format, tmp_path / format).to_arrow().equals(rows)
