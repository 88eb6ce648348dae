"""How the parts of an output become visible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from penstock.io.sinks.files import FileEntry
from penstock.io.sinks.strict_json import Json


class Committer(Protocol):
    """Takes the parts that workers wrote, and makes them one output: all of them, or none.

    `StagedDirectory` is one: a directory beside the target, sealed with a manifest, that a `JointCommit` puts in place.
    A log of transactions is another: its `seal` prepares the entry that names the files. Until the commit nobody may
    see a part, and what no commit names may be removed.
    """

    run_id: str

    @property
    def path(self) -> Path:
        """The directory that workers write parts to; a part that is written twice is written to the same name."""

    def seal(self, files: Iterable[FileEntry], *, metadata: Mapping[str, Json] | None = None) -> object:
        """Make the output ready to be seen, of exactly these files; others were left by abandoned attempts."""

    def omit(self) -> None:
        """Leave the output out: there is nothing for it."""
