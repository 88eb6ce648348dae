"""How the parts of an output become visible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from penstock.io.sinks.files import FileEntry
from penstock.io.sinks.manifest import Manifest
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.strict_json import Json


class Committer(Protocol):
    """Takes the parts that workers wrote, and makes them one output: all of them, or none.

    `StagedDirectory` is one: a directory beside the target, sealed with a manifest, that a `JointCommit` puts in place.
    A log of transactions is another: its `seal` prepares the entry that names the files. Until the commit nobody may
    see a part, and what no commit names may be removed.
    """

    run_id: str

    @property
    def parts(self) -> PartFolder:
        """The folder that workers put parts into."""

    def seal(
        self, files: Iterable[FileEntry], *, metadata: Mapping[str, Json] | None = None, keep: Iterable[FileEntry] = ()
    ) -> object:
        """Make the output ready to be seen, of exactly these files; others were left by abandoned attempts.

        Parameters
        ----------
        files : iterable of FileEntry
            Every file of the output, in the order of its rows.
        metadata : mapping of str to JSON values, optional
            What the output says of itself beside its files.
        keep : iterable of FileEntry
            Those of `files` that were not put now: the output that is there has them, under the same names.
        """

    def omit(self) -> None:
        """Leave the output out: there is nothing for it."""


class ManifestCommitter(Committer, Protocol):
    """A committer of outputs with a manifest, which may go on from the one that is there.

    Two runs that add to one output may both be right: the one that comes second learns of the first by a
    `CommitConflictError`, and may `rebase`, `seal` again with the files that it keeps now, and commit.
    """

    def previous(self) -> Manifest | None:
        """Return the manifest of the output that is there, as the run found it or as of the last `rebase`.

        None where there is nothing. If another run replaces the output after this run entered, the commit conflicts,
        whether or not this was asked before.
        """

    def rebase(self) -> None:
        """Go on from the output that is there now; what was put stays, and `seal` is to be called again."""
