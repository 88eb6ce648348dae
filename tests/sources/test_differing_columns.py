"""Columns that some files lack: an error, null or dropped, in CSV, JSON lines and Parquet alike."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import SchemaDriftError
from tests.sources.conftest import WRITERS

Columns = dict[str, list[Any]]
Read = Callable[..., Dataset]


@pytest.fixture(params=WRITERS)
def read(request: pytest.FixtureRequest, local: Engine, tmp_path: Path) -> Read:
    """Return what writes a file for each table, called a, b and so on, and reads them."""

    def read_tables(*tables: Columns, **options: Any) -> Dataset:
        paths = [tmp_path / name for name, _ in zip("abcd", tables, strict=False)]
        for path, columns in zip(paths, tables, strict=True):
            WRITERS[request.param](pa.table(columns), path)
        return local.read(request.param, paths, **options)

    return read_tables


def test_columns_are_bound_by_name_in_the_order_of_the_first_file(read: Read) -> None:
    found = read({"x": [1], "y": ["a"]}, {"y": ["b"], "x": [2]}).to_arrow()
    assert list(found.to_pydict().items()) == [("x", [1, 2]), ("y", ["a", "b"])]


def test_a_missing_column_is_told_with_the_near_one_or_null_when_that_is_asked(read: Read) -> None:
    with pytest.raises(
        SchemaDriftError, match=r"column 'label' of .*/a is not in .*/b. Did you mean 'Label'\?"
    ) as found:
        read({"x": [1], "label": [1]}, {"x": [2], "Label": [1]})
    assert 'missing_columns="null"' in str(found.value.hint)
    data = read({"x": [1], "y": ["a"]}, {"x": [2]}, missing_columns="null")
    assert data.to_arrow().to_pydict() == {"x": [1, 2], "y": ["a", None]}
    assert data.select("y").to_arrow().to_pydict() == {"y": ["a", None]}
    with pytest.warns(UserWarning, match="left out: z in"):
        data = read({"x": [1]}, {"z": [1, 2, 3]}, missing_columns="null")
    assert data.to_arrow()["x"].to_pylist() == [1, None, None, None]


def test_a_declared_column_that_no_file_has_is_missing(read: Read) -> None:
    with pytest.raises(SchemaDriftError, match=r"column 'y' of the declared schema is not in .*/a"):
        read({"x": [1]}, schema={"x": "int64", "y": "string"})


def test_an_extra_column_is_left_out_with_one_warning_or_an_error_when_that_is_asked(read: Read) -> None:
    tables: list[Columns] = [{"x": [1]}, {"z": ["a"], "x": [2]}, {"x": [3], "z": ["b"]}]
    with pytest.warns(UserWarning, match=r"z in .*/b, .*/c") as warned:
        assert read(*tables).to_arrow().to_pydict() == {"x": [1, 2, 3]}
    assert len(warned) == 1
    with pytest.raises(SchemaDriftError, match=r"column 'z' of .*/b is not in .*/a"):
        read(*tables[:2], extra_columns="error")


def test_a_declared_schema_leads_and_what_it_lacks_is_left_out(read: Read) -> None:
    with pytest.warns(UserWarning, match=r"columns that the declared schema lacks are left out: z in .*/a"):
        data = read({"y": ["b"], "x": [1], "z": [0]}, schema={"x": "int64", "y": "string"})
    assert data.to_arrow().equals(pa.table({"x": [1], "y": ["b"]}))
