"""Names that columns cannot have are refused alike, by whatever way a column comes in."""

import ast
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock import Pipeline
from penstock import stages as st
from penstock.core import names
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


HIDDEN = [names.hidden_name("order", 0), names.hidden_name("key", 12), names.hidden_name("mine")]


def own_folder(folder: Path, *names: object) -> Path:
    made = folder / "-".join(map(str, names))
    made.mkdir()
    return made


def test_a_name_of_the_kind_that_operations_hide_columns_under_is_refused(local, tmp_path):
    for number, name in enumerate(HIDDEN):
        problem = f"column '{name}', and Penstock keeps names that begin with '__penstock_'"
        for read in (parquet, MEMORY["polars"], declared):
            with pytest.raises(SchemaError, match=problem):
                read(local, own_folder(tmp_path, number, read.__name__), name)


def test_the_columns_that_operations_hid_before_are_the_users_own(local):
    own = {name: [3, 1, 2] for name in ("__order_0__", "__key_0__", "__value_0__", "__input_0__", "__key_on__")}
    data = local.from_arrow(pa.table({"id": [3, 1, 2], **own}))
    other = local.from_arrow(pa.table({"id": [1, 2], "y": [10, 20]}))
    rows = data.join(other, on="id", how="left").to_arrow().to_pylist()
    assert [(row["id"], row["y"], {row[name] for name in own}) for row in rows] == [
        (3, None, {3}), (1, 10, {1}), (2, 20, {2}),
    ]  # fmt: skip
    sums = data.group_by("__key_0__").agg(**{name: nw.col(name).sum() for name in own if name != "__key_0__"})
    assert sums.to_arrow().num_rows == 3


def test_a_value_that_a_pivot_would_make_such_a_column_of_is_refused(local):
    for name in ("__row__", HIDDEN[0]):
        data = local.from_arrow(pa.table({"id": [1, 1], "kind": ["a", name], "x": [1, 2]}))
        with pytest.raises(SchemaError, match=f"column '{name}'"):
            data.pivot("kind", index="id", values="x", aggregate_function="sum").to_arrow()


REFUSED = {
    **{name: (f"column '{name}'.*keeps for", "Rename") for name in names.RESERVED},
    "": ("a column without a name", "index=False"),
}
"""Messages and hints for invalid column names."""


def test_a_column_of_a_file_with_such_a_name_or_none_is_refused_with_the_file(local, tmp_path, subtests):
    for read, (name, (problem, hint)) in itertools.product(FILES, REFUSED.items()):
        with subtests.test(read.__name__, name=name):
            with pytest.raises(SchemaError, match=problem) as raised:
                read(local, own_folder(tmp_path, read.__name__, name), name)
            assert not name or raised.value.column == name
            assert Path(raised.value.path).is_file()
            assert hint in raised.value.hint


def test_a_column_in_memory_with_such_a_name_or_none_is_refused(local, tmp_path, subtests):
    doors = {**MEMORY, "declared": declared}
    for door, (name, (problem, _)) in itertools.product(doors, REFUSED.items()):
        with subtests.test(door, name=name), pytest.raises(SchemaError, match=problem):
            doors[door](local, own_folder(tmp_path, door, name), name)


def test_such_a_name_that_a_declared_schema_leaves_out_does_no_harm(local, tmp_path):
    for read, name in itertools.product((parquet, text, json_lines), (names.ROW, "")):
        with pytest.warns(UserWarning, match=f"{name} in|'{name}'" if name else "are left out"):
            data = read(local, own_folder(tmp_path, read.__name__, name), name, schema={"b": "int64"})
        assert data.to_arrow().to_pydict()["b"][0] == 1


# The index of pandas


def test_what_pandas_writes_with_its_index_is_told_with_the_position_and_what_to_do(local, tmp_path):
    frame = pd.DataFrame({"b": [5, 6]})
    for index in (frame.index, pd.MultiIndex.from_product([["x"], ["one", "two"]])):
        frame.set_index(index).to_csv(tmp_path / "a.csv")
        with pytest.raises(SchemaError, match=r"at position 0 of [23]\n.*pandas writes its index so"):
            local.read_csv(tmp_path / "a.csv")
        frame.set_index(index).to_csv(tmp_path / "b.csv", index=False)
        assert local.read_csv(tmp_path / "b.csv").to_arrow().to_pydict() == {"b": [5, 6]}


def test_the_index_that_pandas_stores_in_parquet_is_left_out_with_one_warning(local, tmp_path):
    frame = pd.DataFrame({"b": [5, 6, 7]})
    index = pd.MultiIndex.from_product([["x"], [3, 1, 9]])
    for first, second in ((index, index), (index.droplevel(0),) * 2, (frame.index, index.droplevel(0))):
        frame.set_index(first).to_parquet(tmp_path / "1.parquet")
        frame.set_index(second).to_parquet(tmp_path / "2.parquet")
        with pytest.warns(UserWarning, match="index of pandas.*__index_level_0__.* is left out") as warned:
            data = local.read_parquet(str(tmp_path / "*.parquet"))
        assert len(warned) == 1
        assert data.to_arrow().to_pydict() == {"b": [5, 6, 7] * 2}


def test_an_index_that_is_declared_is_a_column_and_that_of_a_table_left_out_as_of_a_frame(local, tmp_path):
    frame = pd.DataFrame({"b": [5, 6, 7]}, index=[3, 1, 9])
    frame.to_parquet(tmp_path / "a.parquet")
    data = local.read_parquet(tmp_path / "a.parquet", schema={"b": "int64", "__index_level_0__": "int64"})
    assert data.to_arrow()["__index_level_0__"].to_pylist() == [3, 1, 9]
    with pytest.warns(UserWarning, match="index of pandas"):
        data = local.from_arrow(pa.Table.from_pandas(frame))
    assert data.to_arrow().equals(local.from_pandas(frame).to_arrow())


# What is made


def renamed(name: str) -> Callable[[Any], Any]:
    return lambda frame: frame.rename({"b": name})


MADE: dict[str, Callable[[Dataset, str], Any]] = {
    "map_partitions": lambda data, name: data.map_partitions(renamed(name), {name: "int64"}),
    "returns": lambda data, name: st.FunctionStage("f", "b", {name: "int64"}),
    "output_columns": lambda data, name: Pipeline(st.Log1p("b", output_columns=(name,))).fit(data),
    "prediction": lambda data, name: Pipeline(st.LinearRegression("b", features="x", prediction=name)).fit(data),
    "lag": lambda data, name: data.lag("b", by=(), order_by="b", output_columns=name),
}


def test_what_is_made_cannot_have_such_a_name(local, subtests):
    data = local.from_arrow(pa.table({"b": [1, 2, 3], "x": [0.0, 1.0, 3.0]}))
    problems = {"": "without a name", names.ROW: "keeps for row numbers"}
    for made, (name, problem) in itertools.product(MADE, problems.items()):
        with subtests.test(made, name=name), pytest.raises(SchemaError, match=problem):
            MADE[made](data, name)


def test_a_reserved_name_in_the_rows_of_a_query_is_refused(local):
    data = local.from_arrow(pa.table({"b": [2, 1]}))
    for name in names.RESERVED:
        with pytest.raises(SchemaError, match=rf"query\(.*column '{name}'.*keeps for"):
            local.query(lambda frame, name=name: frame.select("b", nw.col("b").alias(name)), data, order_by="b")


@pytest.mark.thorough
def test_every_name_of_this_form_in_the_code_is_reserved():
    """A column that code adds under a name that nothing keeps would replace the user's own."""
    files = Path(penstock.__file__).parent.rglob("*.py")
    texts = {
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    form = {text for text in texts if re.fullmatch(r"__[a-z]+__", text) and not hasattr(int, text)}
    assert form - FOREIGN == set(names.RESERVED)


FOREIGN = {
    "__args__", "__dict__", "__file__", "__id__", "__loader__", "__main__", "__metadata__", "__name__", "__path__",
    "__pycache__", "__version__",
}  # fmt: skip
"""Attributes of Python's objects, and what stands in files of others."""
