"""Names that no column can have are refused by every way in, with the name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import CorruptFileError, SchemaError

REFUSED = ("", "*", "^a$", "^.*$", "a\0", "__row__", "__fold__")


def _in_memory(local: Engine, table: pa.Table, _: Path) -> Dataset:
    return local.from_arrow(table)


def _in_parquet(local: Engine, table: pa.Table, folder: Path) -> Dataset:
    pq.write_table(table, folder / "a.parquet")
    return local.read_parquet(folder / "a.parquet")


def _in_csv(local: Engine, table: pa.Table, folder: Path) -> Dataset:
    text = io.StringIO()
    csv.writer(text).writerows(
        [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
    )
    (folder / "a.csv").write_text(text.getvalue())
    return local.read_csv(folder / "a.csv")


def _in_json_lines(local: Engine, table: pa.Table, folder: Path) -> Dataset:
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return local.read_json_lines(folder / "a.jsonl")


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("way_in", [_in_memory, _in_parquet, _in_csv, _in_json_lines])
def test_a_name_that_no_column_can_have_is_refused_by_every_way_in(
    local: Engine, tmp_path: Path, way_in: Callable[[Engine, pa.Table, Path], Dataset], name: str
) -> None:
    table = pa.table([[1, 2], [3, 4]], ["a", name])
    with pytest.raises((SchemaError, CorruptFileError)) as caught:
        way_in(local, table, tmp_path)
    assert "\0" in name or caught.type is SchemaError  # a text with NUL is no text
