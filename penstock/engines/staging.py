"""Where a query keeps what it writes: a temporary folder, which is made once something is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Self

from penstock.core.locations import is_url
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.staging_place import StagingFolder, StagingPlace


class Staging:
    """The folder of a query: of the inputs that are staged for it, which go when it has run, and of its rows.

    Parameters
    ----------
    place : StagingPlace
        Where it is made, at once, so that one that cannot be used is told; in the temporary directory once it is used.
    """

    def __init__(self, place: StagingPlace) -> None:
        self._place = place
        self._folder = place.new_folder() if place.location else None
        self._inputs = 0

    @property
    def folder(self) -> StagingFolder:
        """The folder, which is there from now on."""
        if self._folder is None:
            self._folder = self._place.new_folder()
        return self._folder

    @property
    def rows(self) -> PartFolder:
        """Where the rows of the query go: a folder that is not there yet."""
        return self.folder.parts("rows")

    def new_input(self) -> PartFolder:
        """Return a new empty folder, which is there until the query has run."""
        self._inputs += 1
        return self.folder.parts(f"inputs/{self._inputs}")

    def remove(self) -> None:
        """Remove everything."""
        if self._folder is not None:
            self._folder.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._inputs:
            self.folder.discard("inputs")


def put_part(folder: PartFolder, name: str, write: Callable[[str], None]) -> None:
    """Write a part that this process alone writes: in place on a disk, by an upload to a store."""
    if is_url(folder.location):
        folder.put(name, write, rows=None, kind="parquet")
        return
    os.makedirs(folder.location, exist_ok=True)
    write(folder.locate(name))
