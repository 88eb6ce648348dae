"""Delta or Iceberg table in a folder, written by Penstock and read by deltalake or pyiceberg."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.dataset.writing import WriteResult
from penstock.io.tables import committer
from tests.tables.table_rows import delta_table


@dataclass
class OutputTable:
    """Delta or Iceberg table to be created.

    ``options`` are those of a write, apart from the format.
    """

    kind: str
    folder: Path
    local: ps.LocalEngine
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.target = str(self.folder / "ns" / "t")
        if self.kind == "iceberg":
            from pyiceberg.catalog import load_catalog

            place = {"uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}"}
            self.target, self.options = "ns.t", {"catalog": {"type": "sql", **place}}
            self.catalog = load_catalog(**self.options["catalog"])
            self.catalog.create_namespace("ns")

    @property
    def name(self) -> str:
        """What messages call it, as a regular expression."""
        return r"the Iceberg table ns\.t" if self.kind == "iceberg" else "the table in"

    def write(self, rows: pa.Table, **options: Any) -> WriteResult:
        data = self.local.from_arrow(rows, fragment_bytes=2000)
        return data.write(self.target, **{"format": self.kind, **self.options, **options})

    def read(self, **version: Any) -> ps.Dataset:
        return self.local.read(self.kind, self.target, **self.options, **version)

    def theirs(self) -> pa.Table:
        """Return the rows as deltalake or pyiceberg reads them."""
        return self._delta().to_pyarrow_table() if self.kind == "delta" else self.loaded().scan().to_arrow()

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows that the library reads, in the order of their ids."""
        return sorted(self.theirs().to_pylist(), key=lambda row: str(row["id"]))

    def loaded(self) -> Any:
        """Return the table of Iceberg as its library has it."""
        return self.catalog.load_table("ns.t")

    def is_there(self) -> bool:
        return bool(self.catalog.list_tables("ns")) if self.kind == "iceberg" else os.path.exists(self.target)

    def keys(self) -> list[str]:
        """Return the columns that it is partitioned by."""
        if self.kind == "delta":
            return list(self._delta().metadata().partition_columns)
        return [field.name for field in self.loaded().spec().fields]

    def before(self) -> dict[str, Any]:
        """Return what asks for the newest version, now and later."""
        if self.kind == "delta":
            return {"version": self._delta().version()}
        return {"snapshot_id": self.loaded().current_snapshot().snapshot_id}

    def listed(self) -> set[str]:
        """Return the files of the newest version."""
        if self.kind == "delta":
            return {os.path.realpath(path) for path in self._delta().file_uris()}
        return {task.file.file_path.removeprefix("file://") for task in self.loaded().scan().plan_files()}

    def parts(self) -> set[str]:
        """Return the files of rows that lie there; of a merge, deltalake numbers its own otherwise."""
        found = {str(path) for path in self.folder.rglob("*.parquet") if "quarantine" not in str(path)}
        return {os.path.realpath(path) for path in found}

    def meanwhile(self, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
        """Have something happen once, after a run has put its parts and before it commits them."""

        def hook(step: str) -> None:
            monkeypatch.setattr(committer, "failpoint", lambda step: None)
            act()

        monkeypatch.setattr(committer, "failpoint", hook)

    def close(self) -> None:
        if self.kind == "iceberg":
            self.catalog.close()

    def _delta(self) -> Any:
        return delta_table(self.target)
