"""Where engines stage rows: the temporary directory, a directory that all machines mount, or a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.core.locations import is_in_memory, is_url, read_location
from penstock.io.sinks.stores.temporary import TemporaryStoreFolder
from penstock.io.sinks.temporary import TemporaryFolder

StagingFolder = TemporaryFolder | TemporaryStoreFolder


@dataclass(frozen=True)
class StagingPlace:
    """Where folders for staged rows are made.

    Parameters
    ----------
    location : str
        A path from the root, or a URL; empty for the temporary directory.
    options : mapping
        Passed to fsspec; never shown in a message.

    Examples
    --------
    >>> with StagingPlace.at("memory://doc/tmp").new_folder() as folder:
    ...     folder.parts("rows").location.startswith("memory://doc/tmp/penstock-")
    True
    """

    location: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def at(cls, location: str | Path, options: Mapping[str, Any] | None = None) -> StagingPlace:
        """Return a place as a user names it; ConfigError for what is neither a path nor a URL."""
        text = read_location(location, "staging_dir")
        return cls(text if is_url(text) else str(Path(text).absolute()), options or {})

    @property
    def is_in_memory(self) -> bool:
        """Whether no other process sees what is staged there."""
        return is_in_memory(self.location)

    def new_folder(self) -> StagingFolder:
        """Make a folder there, which is removed with the last reference to it; OutputError where it cannot be made."""
        if is_url(self.location):
            return TemporaryStoreFolder(self.location, self.options)
        return TemporaryFolder(self.location or None)
