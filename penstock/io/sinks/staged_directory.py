"""A directory, with a manifest, as an output of a run.

The order of sealing is what makes it safe at every step. The staging directory is renamed to a name that no worker
knows, unlisted files of abandoned attempts are removed, files are flushed, and the manifest is written last and
flushed. How it then comes to its target is told in `penstock.io.sinks.joint_commit`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from penstock.core.errors import OutputError
from penstock.io.sinks.committer import ManifestCommitter
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.files import MANIFEST_NAME, FileEntry, compare_files
from penstock.io.sinks.journal import Change
from penstock.io.sinks.manifest import Manifest, read_manifest
from penstock.io.sinks.os_errors import translate_os_error, translating
from penstock.io.sinks.part_folder import LocalPartFolder
from penstock.io.sinks.staged import Staged
from penstock.io.sinks.swap import link_or_copy, sync_directories, sync_files
from penstock.io.sinks.target import describe, is_replaceable, refuse_existing


class StagedDirectory(Staged, ManifestCommitter):
    r"""A directory that appears at its target whole, or not at all.

    Parameters
    ----------
    target : str or PathLike
        A local path. A symbolic link is followed: what it points to is replaced, the link stays.
    overwrite : bool
        Whether an existing output may be replaced. Only an empty directory or one with a manifest ever is, so that a
        wrong path cannot cost somebody else's files.
    run_id : str
        The run, as ``new_run_id`` makes one: letters, digits, ``_`` and ``-``, at most 64.

    Raises
    ------
    ConfigError
        The run id, or a target that is no local path.
    OutputExistsError
        On entering its `JointCommit`: the target exists and may not be replaced.
    CommitConflictError
        On entering: this run already writes there. On commit: another run changed the target meanwhile.
    OutputError, DiskFullError
        The file system refused; the message names path and errno.

    Notes
    -----
    Leaving the block without a commit, or by an error, removes what was staged and leaves the target as it was. The
    new directory has the permissions of the one it replaces, or those that the umask gives. Locks are ``flock``, which
    the file system must support. Where directories cannot be exchanged in one call (anything but Linux, and some
    network file systems) a reader may find no target for a moment when one is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.io.sinks import JointCommit, file_entry
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "scores"
    ...     with JointCommit(staged := StagedDirectory(target, run_id="r1")) as joint:
    ...         _ = (staged.path / "scores.csv").write_text("a\n1\n")
    ...         entry = file_entry(staged.path / "scores.csv", staged.path, rows=1, kind="csv")
    ...         manifest = staged.seal([entry], metadata={"engine": "local"})
    ...         joint.commit()
    ...     sorted(path.name for path in target.iterdir()), manifest.rows
    (['_manifest.json', 'scores.csv'], 1)
    """

    def __init__(self, target: str | os.PathLike[str], *, overwrite: bool = False, run_id: str) -> None:
        super().__init__(target, run_id=run_id)
        self.overwrite = overwrite

    @property
    def parts(self) -> LocalPartFolder:
        """The folder that workers put parts into."""
        return LocalPartFolder(str(self.path))

    def previous(self) -> Manifest | None:
        return None if self._before is None else read_manifest(self.target)

    def rebase(self) -> None:
        self._note_target()

    def _complete(self, manifest: Manifest, content: bytes, keep: Iterable[FileEntry]) -> None:
        with translating(self.target):
            sealed = self._seal()
            linked = self._keep(sealed, keep)
            self._sweep(sealed, manifest)
            failpoint("swept")
            sync_files(sealed / entry.path for entry in manifest.files if entry.path not in linked)
            failpoint("files-synced")
            self._write_manifest(sealed, content)

    def change(self) -> Change | None:
        """Return what the commit is to do."""
        if not self._omitted:
            return super().change()
        earlier = os.path.lexists(self.target / MANIFEST_NAME)
        return Change(self.names, self._before, None) if earlier else None

    def _check_target(self) -> None:
        is_output = is_replaceable(self.target)
        if os.path.lexists(self.target) and not (self.overwrite and is_output):
            raise refuse_existing(str(self.target), describe(self.target), is_output=is_output)

    def _make(self) -> None:
        os.mkdir(self.path, 0o700)

    def _keep(self, sealed: Path, entries: Iterable[FileEntry]) -> set[str]:
        """Put files of the output at the target beside those that were staged, as links or copies; return the links."""
        linked = set()
        for entry in entries:
            try:
                if link_or_copy(self.target / entry.path, sealed / entry.path):
                    linked.add(entry.path)
            except FileNotFoundError:
                self.check_unchanged()
                raise
            failpoint("kept")
        return linked

    def _sweep(self, sealed: Path, manifest: Manifest) -> None:
        difference = compare_files(sealed, manifest.files)
        for wrong in (*difference.missing, *difference.resized):
            message = f"{wrong.path} is not in the staging directory as it was listed, with {wrong.bytes} bytes"
            hint = "A file must be closed before file_entry describes it, and left alone after."
            raise OutputError(message, hint=hint, path=wrong.path, run_id=self.run_id)
        for name in (*difference.extra, MANIFEST_NAME):
            (sealed / name).unlink(missing_ok=True)
        for folder, _, _ in os.walk(sealed, topdown=False):
            if folder != str(sealed) and not os.listdir(folder):
                os.rmdir(folder)

    def _write_manifest(self, sealed: Path, content: bytes) -> None:
        try:
            with open(sealed / MANIFEST_NAME, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise translate_os_error(error, self.target / MANIFEST_NAME, needed=len(content)) from error
        failpoint("manifest-written")
        inherited = os.stat(sealed).st_mode & (stat.S_ISGID | stat.S_ISVTX)
        os.chmod(sealed, inherited | self._mode)
        sync_directories(sealed)
        failpoint("directories-synced")

    def _final_mode(self) -> int:
        if self._before is not None:
            return os.stat(self.target).st_mode & 0o777
        # The record was created under the umask; a directory may be searched by whoever may read it.
        readable = os.stat(self.names.record).st_mode & 0o666
        return readable | (readable & 0o444) >> 2
