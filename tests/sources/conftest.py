"""Plans and reads small text files as an engine does: tasks and items pass through pickle, pieces are read alone."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import frames
from penstock.io.fragments import FRAGMENT_BYTES
from penstock.io.sources import csv, json_lines
from penstock.io.sources.base import Reader
from penstock.io.sources.files import Storage
from penstock.io.sources.paths import expand

Read = Callable[..., pa.Table]


def run(task: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(task))(item))) for item in items]


def read_with(plan: Callable[..., Any], suffixes: tuple[str, ...]) -> Read:
    def read(paths: Path | list[Path], columns: list[str] | None = None, **options: Any) -> pa.Table:
        storage = Storage()
        options.setdefault("fragment_bytes", FRAGMENT_BYTES)
        files = expand(paths, suffixes, storage, allow_unmanifested=True)
        source, fragments = pickle.loads(pickle.dumps(plan(files, run, storage, **options)))
        wanted = columns or source.schema.names
        read = [frames.to_arrow(Reader(source).read(fragment, wanted, "cpu")) for fragment in fragments]
        assert [len(table) for table in read] == [fragment.rows for fragment in fragments]
        assert all(table.schema == pa.schema([source.schema.field(name) for name in wanted]) for table in read)
        return pa.concat_tables(read)

    return read


@pytest.fixture
def read_csv() -> Read:
    return read_with(csv.plan_csv, csv.SUFFIXES)


@pytest.fixture
def read_json_lines() -> Read:
    return read_with(json_lines.plan_json_lines, json_lines.SUFFIXES)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes, str], Path]:
    """Return what writes one file, whose name is a.csv unless it is said."""

    def write(content: str | bytes, name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
