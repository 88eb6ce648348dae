"""How the parts of an output become visible."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from penstock.io.sinks.files import FileEntry
from penstock.io.sinks.manifest import DATASET, Manifest
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.strict_json import Json


class ManifestCommitter(ABC):
    """Takes the parts that workers wrote, and makes them one output with a manifest: all of them, or none.

    Until the commit nobody may see a part, and what no commit names may be removed. Two runs that add to one output may
    both be right: the one that comes second learns of the first by a `CommitConflictError`, and may `rebase`, `seal`
    again with the files that it keeps now, and commit.
    """

    run_id: str
    _omitted = False

    @property
    @abstractmethod
    def parts(self) -> PartFolder:
        """The folder that workers put parts into."""

    @abstractmethod
    def previous(self) -> Manifest | None:
        """Return the manifest of the output at the target when this was claimed, or when it was last rebased.

        None where there is nothing. If another run replaces the output after this run entered, the commit conflicts,
        whether or not this was asked before.

        Raises
        ------
        CorruptFileError
            It is damaged.
        """

    @abstractmethod
    def rebase(self) -> None:
        """Go on from what is at the target now; what was put stays, and `seal` is to be called again."""

    def seal(
        self,
        files: Iterable[FileEntry],
        *,
        format: str = DATASET,
        metadata: Mapping[str, Json] | None = None,
        keep: Iterable[FileEntry] = (),
    ) -> Manifest:
        """Complete the output, durably, for the commit, and return its manifest.

        Parameters
        ----------
        files : iterable of FileEntry
            Every file of the output, in the order of its rows, as `parts` or ``file_entry`` described it. What else
            this run has put there was left by abandoned attempts, and is removed.
        format : str
            ``"penstock/dataset"`` or ``"penstock/model"``.
        metadata : mapping of str to JSON values, optional
            Stored in the manifest beside its own fields.
        keep : iterable of FileEntry
            Those of `files` that were not put now: the output at the target has them, under the same names.

        Raises
        ------
        ConfigError
            A file listed twice, or metadata that is not strict JSON.
        CommitConflictError
            A file to keep is gone, since another run replaced the output.
        OutputError, DiskFullError
            The file system or the store refused, or a file is not as it was listed.
        """
        manifest = Manifest.create(format, run_id=self.run_id, files=files, metadata=metadata)
        self._complete(manifest, manifest.encode(), keep)
        return manifest

    def omit(self) -> None:
        """Leave this output out: the run has nothing for it. What an earlier run put at the target is removed."""
        self._omitted = True

    @abstractmethod
    def _complete(self, manifest: Manifest, content: bytes, keep: Iterable[FileEntry]) -> None:
        """See to it that all files of a manifest are there, and no others, and have it ready for the commit."""
