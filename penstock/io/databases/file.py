"""Databases that are a file, which one run at a time writes a table of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from penstock.core.errors import MissingInputError
from penstock.io.databases.base import Database, TableName, another_writes
from penstock.io.sinks.locks import FileLock


@dataclass(frozen=True)
class FileDatabase(Database):
    """A file: ``scheme:///relative.db``, ``scheme:////absolute.db``."""

    scheme: ClassVar[str]

    @property
    def path(self) -> str:
        """Where the file is."""
        path = os.path.abspath(self.uri.removeprefix(f"{self.scheme}:///"))
        return path[1:] if path.startswith("//") else path

    def check_file(self) -> None:
        """Raise MissingInputError where there is none."""
        if not os.path.isfile(self.path):
            raise MissingInputError(
                f"there is no file {self.path}",
                hint=f"An absolute path has four slashes: {self.scheme}:////data/shop.db.",
                path=self.path,
            )

    @contextmanager
    def lock(self, table: TableName, run_id: str) -> Iterator[None]:
        """Hold the lock of a file beside the database, which is there as long as somebody has it."""
        held = FileLock.acquire(Path(f"{self.path}.{quote(table.name, safe='')}.penstock-lock"))
        if held is None:
            raise another_writes(table, self.path, run_id)
        try:
            yield
        finally:
            held.release()
