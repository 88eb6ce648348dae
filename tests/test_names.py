"""Names that columns cannot have are refused alike, by whatever way a column comes in."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock import Pipeline, names
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import SchemaError

Read = Callable[[Engine, Path, str], Dataset]


def write(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def parquet(engine: Engine, folder: Path, name: str, **options: Any) -> Dataset:
    pq.write_table(pa.table({"b": [1, 2], name: [100, 200]}), folder / "a.parquet")
    return engine.read_parquet(folder / "a.parquet", **options)


def text(engine: Engine, folder: Path, name: str, **options: Any) -> Dataset:
    return engine.read_csv(write(folder, "a.csv", f"b,{name}\n1,100\n2,200\n"), **options)


def json_lines(engine: Engine, folder: Path, name: str, **options: Any) -> Dataset:
    return engine.read_json_lines(write(folder, "a.jsonl", json.dumps({"b": 1, name: 100}) + "\n"), **options)


def second_file(engine: Engine, folder: Path, name: str) -> Dataset:
    write(folder, "1.jsonl", "\n")
    write(folder, "2.jsonl", json.dumps({"b": 1, name: 100}) + "\n")
    return engine.read_json_lines(str(folder / "*.jsonl"))


def parquet_folder(engine: Engine, folder: Path, name: str) -> Dataset:
    (folder / f"{name}=7").mkdir()
    pq.write_table(pa.table({"b": [1, 2]}), folder / f"{name}=7" / "a.parquet")
    return engine.read_parquet(folder, allow_unmanifested=True)


def text_folder(engine: Engine, folder: Path, name: str) -> Dataset:
    write(folder, f"{name}=7/a.csv", "b\n1\n")
    return engine.read_csv(folder, allow_unmanifested=True)


def declared(engine: Engine, folder: Path, name: str) -> Dataset:
    return text(engine, folder, "a", schema={"b": "int64", name: "int64"}, missing_columns="null")


FILES: list[Read] = [parquet, text, json_lines, second_file, parquet_folder, text_folder]
MEMORY: dict[str, Read] = {
    "arrow": lambda engine, folder, name: engine.from_arrow(pa.table({name: [100, 200], "b": [1, 2]})),
    "pandas": lambda engine, folder, name: engine.from_pandas(pl.DataFrame({name: [1], "b": [2]}).to_pandas()),
    "polars": lambda engine, folder, name: engine.from_polars(pl.DataFrame({name: [1], "b": [2]})),
}


@pytest.mark.parametrize("name", names.RESERVED)
@pytest.mark.parametrize("read", FILES)
def test_a_reserved_name_in_a_file_is_refused_with_the_file(local: Engine, tmp_path: Path, read: Read, name: str):
    with pytest.raises(SchemaError, match=f"column '{name}'.*keeps for") as raised:
        read(local, tmp_path, name)
    assert raised.value.column == name
    assert Path(raised.value.path).is_file()
    assert "Rename" in raised.value.hint


@pytest.mark.parametrize("name", names.RESERVED)
@pytest.mark.parametrize("read", [*MEMORY.values(), declared], ids=[*MEMORY, "declared"])
def test_a_reserved_name_in_memory_is_refused(local: Engine, tmp_path: Path, read: Read, name: str):
    with pytest.raises(SchemaError, match=f"column '{name}'.*keeps for"):
        read(local, tmp_path, name)


@pytest.mark.parametrize("read", [parquet, text, json_lines])
def test_a_reserved_name_that_a_declared_schema_leaves_out_does_no_harm(local: Engine, tmp_path: Path, read: Any):
    with pytest.warns(UserWarning, match="'__row__'|__row__ in"):
        data = read(local, tmp_path, names.ROW, schema={"b": "int64"})
    assert data.to_arrow().to_pydict()["b"][0] == 1


def renamed(name: str) -> Callable[[Any], Any]:
    return lambda frame: frame.rename({"b": name})


MADE: dict[str, Callable[[Dataset, str], Any]] = {
    "map_partitions": lambda data, name: data.map_partitions(renamed(name), {name: "int64"}),
    "returns": lambda data, name: st.FunctionStage("f", "b", {name: "int64"}),
    "output_columns": lambda data, name: Pipeline(st.Log1p("b", output_columns=(name,))).fit(data),
    "prediction": lambda data, name: Pipeline(st.LinearRegression("b", features="x", prediction=name)).fit(data),
    "lag": lambda data, name: data.lag("b", by=(), order_by="b", output_columns=name),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_reserved_name_for_what_is_made_is_refused(local: Engine, make: Callable[[Dataset, str], Any]):
    data = local.from_arrow(pa.table({"b": [1, 2, 3], "x": [0.0, 1.0, 3.0]}))
    with pytest.raises(SchemaError, match=r"column '__row__'.*keeps for row numbers"):
        make(data, names.ROW)


@pytest.mark.parametrize("name", names.RESERVED)
def test_a_reserved_name_in_the_rows_of_a_query_is_refused(engine: Engine, name: str):
    data = engine.from_arrow(pa.table({"b": [2, 1]}))
    with pytest.raises(SchemaError, match=rf"query\(.*column '{name}'.*keeps for"):
        engine.query(lambda frame: frame.select("b", nw.col("b").alias(name)), data, order_by="b")


def test_every_name_of_this_form_in_the_code_is_reserved():
    """A column that code adds under a name that nothing keeps would replace the user's own."""
    files = Path(penstock.__file__).parent.rglob("*.py")
    texts = {
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    form = {text for text in texts if re.fullmatch(r"__\w+__", text) and not hasattr(object, text)}
    assert form - FOREIGN == set(names.RESERVED)


FOREIGN = {
    "__args__", "__dict__", "__id__", "__loader__", "__main__", "__metadata__", "__name__", "__version__",
    "__HIVE_DEFAULT_PARTITION__",
}  # fmt: skip
"""Attributes of Python's objects, and what stands in files of others."""
