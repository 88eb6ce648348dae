"""Keys in the names of folders, beside columns of the same name in the files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import SchemaDriftError
from penstock.io.sources.hive import hive_keys
from tests.sources.conftest import WRITERS

Write = Callable[..., None]
Read = Callable[..., Dataset]


SUFFIXES = {"csv": ".csv", "json_lines": ".jsonl", "parquet": ".parquet"}


@pytest.fixture(params=WRITERS)
def format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def write(tmp_path: Path, format: str) -> Write:
    """Return what writes a table to a file in a folder, both below the temporary one."""

    def write_file(folder: str, **columns: Any) -> None:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        WRITERS[format](pa.table(columns), tmp_path / folder / f"a{SUFFIXES[format]}")

    return write_file


@pytest.fixture
def read(local: Engine, tmp_path: Path, format: str) -> Read:
    """Return readers of the whole output and of one of its folders."""

    def read_folder(folder: str = ".", **options: Any) -> Dataset:
        return local.read(format, tmp_path / folder, allow_unmanifested=True, **options)

    return read_folder


UNLIKE: list[tuple[str, list[Any], str, dict[str, Any]]] = [
    ("b=7", [7, 8], r"8 in row 1 of .*/b=7/a\.\w+, but '7' in the folder", {}),
    ("b=7", [7, 8], r"8 in row 1 of .*/b=7/a\.\w+, but '7' in the folder", {"schema": {"x": "int64", "b": "int64"}}),
    ("b=7", [None, 7], r"None in row 0 of .*/b=7/a\.\w+, but '7' in the folder", {}),
    ("b=__HIVE_DEFAULT_PARTITION__", [7, 7], "7 in row 0 of .* but None in the folder name", {}),
]


def test_a_stored_value_unlike_the_folder_is_refused(write: Write, read: Read, subtests: pytest.Subtests) -> None:
    for case, (folder, stored, problem, options) in enumerate(UNLIKE):
        write(f"{case}/{folder}", x=[1, 2], b=stored)
        for fragment_bytes in (4, 2**20):
            with subtests.test(case=case, fragment_bytes=fragment_bytes):
                with pytest.raises(SchemaDriftError, match=f"column 'b' is {problem}") as found:
                    read(str(case), fragment_bytes=fragment_bytes, **options).to_arrow()
                assert found.value.column == "b"


def test_a_stored_value_like_the_folder_is_read_in_its_type(write: Write, read: Read) -> None:
    for case, (name, values) in enumerate((("b=7", [7, 7]), ("b=a%20b", ["a b"] * 2), ("b=true", [True] * 2))):
        write(f"{case}/{name}", b=values, x=[1, 2])
        data = read(str(case))
        assert data.to_arrow().to_pydict() == {"b": values, "x": [1, 2]}
        assert data.schema.field("b").type == pa.array(values).type
    write("some/b=7", x=[1], b=[7])
    write("some/b=8", x=[2])
    assert read("some").to_arrow().to_pydict() == {"x": [1, 2], "b": [7, 8]}


def test_a_type_of_its_own_is_kept(local: Engine, tmp_path: Path) -> None:
    (tmp_path / "b=7").mkdir()
    pq.write_table(pa.table({"b": pa.array([7], pa.int16())}), tmp_path / "b=7" / "a.parquet")
    assert local.read_parquet(tmp_path, allow_unmanifested=True).schema.field("b").type == pa.int16()


def test_a_schema_that_leaves_the_stored_column_out_has_that_of_the_folder(write: Write, read: Read) -> None:
    write("b=7", x=[1], b=[8])
    with pytest.warns(UserWarning, match="columns that the declared schema lacks are left out: b in"):
        data = read(schema={"x": "int64"})
    assert data.to_arrow().to_pydict() == {"x": [1], "b": [7]}


def test_a_key_that_lines_lack_is_refused_wherever_the_file_is_cut(local: Engine, tmp_path: Path) -> None:
    (tmp_path / "b=7").mkdir()
    (tmp_path / "b=7" / "a.jsonl").write_text('{"x": 1, "b": 7}\n' + '{"x": 2}\n' * 5)
    for fragment_bytes in (4, 2**20):
        data = local.read_json_lines(tmp_path, allow_unmanifested=True, fragment_bytes=fragment_bytes)
        with pytest.raises(SchemaDriftError, match="column 'b' is None in row 1 of"):
            data.to_arrow()


def test_a_key_with_two_values_is_refused(write: Write, read: Read) -> None:
    write("k=1/k=2", x=[1])
    with pytest.raises(SchemaDriftError, match=r"column 'k' is '1' and '2' in the folder names of k=1/k=2/a\.\w+"):
        read()


def test_a_key_with_two_values_is_refused_in_a_store(local: Engine) -> None:
    fsspec.filesystem("memory").pipe("/hive-twice/k=1/k=2/a.csv", b"x\n1\n")
    with pytest.raises(SchemaDriftError, match="column 'k' is '1' and '2' in the folder names"):
        local.read_csv("memory://hive-twice", allow_unmanifested=True)


def test_a_key_that_stands_twice_with_one_value_is_one_key() -> None:
    assert hive_keys("k=1/k=1/a.csv") == (("k", "1"),)
