"""Writes small files, and reads text as an engine does: tasks and items pass through pickle, pieces are read alone."""

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from penstock import frames
from penstock.io.formats import find_format
from penstock.io.sources.base import Reader
from penstock.io.sources.files import Storage
from penstock.io.sources.paths import expand

Read = Callable[..., pa.Table]


def write_json_lines(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


WRITERS = {"csv": pacsv.write_csv, "json_lines": write_json_lines, "parquet": pq.write_table}
"""Writers of a table to a file, by format."""


class Pickling:
    """Runs tasks here, as a cluster would: they, the items and the results travel as bytes."""

    def map(self, task: Callable[[Any], Any], items: Sequence[Any], /, *, label: str) -> Iterator[Any]:
        return iter([pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(task))(item))) for item in items])


def read_with(name: str) -> Read:
    format = find_format(name)

    def read(paths: Path | list[Path], columns: list[str] | None = None, **options: Any) -> pa.Table:
        storage = Storage()
        files = expand(paths, format.suffixes, storage, allow_unmanifested=True)
        plan = format.plan(files, Pickling(), storage, format.read_options(options))
        source, fragments = pickle.loads(pickle.dumps(plan))
        wanted = columns or source.schema.names
        read = [frames.to_arrow(Reader(source).read(fragment, wanted, "cpu")) for fragment in fragments]
        assert [len(table) for table in read] == [fragment.rows for fragment in fragments]
        assert all(table.schema == pa.schema([source.schema.field(name) for name in wanted]) for table in read)
        return pa.concat_tables(read)

    return read


@pytest.fixture
def read_csv() -> Read:
    return read_with("csv")


@pytest.fixture
def read_json_lines() -> Read:
    return read_with("json_lines")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes, str], Path]:
    """Return what writes one file, whose name is a.csv unless it is said."""

    def write(content: str | bytes, name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
