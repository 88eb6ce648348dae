"""An engine, tables, a catalog of Iceberg, and an account of the files that are opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import penstock as ps
from penstock.io.sources.files import Storage
from tests.tables.output_table import OutputTable

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog


@pytest.fixture(scope="session")
def local() -> ps.LocalEngine:
    return ps.LocalEngine(device="cpu")


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path, local: ps.LocalEngine) -> Iterator[OutputTable]:
    """A new Delta table and a new Iceberg table."""
    made = OutputTable(request.param, tmp_path, local)
    yield made
    made.close()


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    """Iceberg's catalog in a file of SQLite, with a namespace ``ns``."""
    from pyiceberg.catalog.sql import SqlCatalog

    made = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    made.create_namespace("ns")
    yield made
    made.close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened from here on, by name."""
    names: list[str] = []
    plain = Storage.open

    def counted(self: Storage, path: str) -> Any:
        names.append(path)
        return plain(self, path)

    monkeypatch.setattr(Storage, "open", counted)
    return names
