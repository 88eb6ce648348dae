"""Write an output beside its target and put it there whole: a reader sees the old output or the new one.

The order of a commit is what makes it safe at every step. The staging directory is renamed to a name that no worker
knows, unlisted files of abandoned attempts are removed, files are flushed, the manifest is written last and flushed,
and only then, under a lock and after a look at whether the target is still what it was, the directory changes places
with its target in one system call. A process killed anywhere leaves the target whole; the next run removes the rest.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.errors import CommitConflictError, ConfigError, OutputError, OutputExistsError
from penstock.notices import get_logger
from penstock.outputs.failpoints import failpoint
from penstock.outputs.files import MANIFEST_NAME, FileEntry, compare_files
from penstock.outputs.locks import claim, commit_lock
from penstock.outputs.manifest import DATASET, Manifest
from penstock.outputs.os_errors import translate_os_error, translating
from penstock.outputs.staging import RUN_ID, Siblings, discard, remove_dead
from penstock.outputs.strict_json import Json
from penstock.outputs.swap import put_new, put_over, sync_directories, sync_directory, sync_files, take_back
from penstock.outputs.target import describe, is_replaceable, resolve

logger = get_logger(__name__)

_LOCK_PATIENCE = 60.0


class StagedDirectory:
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
        On entering: the target exists and may not be replaced.
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
    >>> from penstock.outputs.files import file_entry
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "scores"
    ...     with StagedDirectory(target, run_id="r1") as staged:
    ...         _ = (staged.path / "scores.csv").write_text("a\n1\n")
    ...         entry = file_entry(staged.path / "scores.csv", staged.path, rows=1, kind="csv")
    ...         manifest = staged.commit([entry], metadata={"engine": "local"})
    ...     sorted(path.name for path in target.iterdir()), manifest.rows
    (['_manifest.json', 'scores.csv'], 1)
    """

    def __init__(self, target: str | os.PathLike[str], *, overwrite: bool = False, run_id: str) -> None:
        if not re.fullmatch(RUN_ID, run_id):
            raise ConfigError(f"run_id is {run_id!r}, expected 1 to 64 of A-Z, a-z, 0-9, '_' and '-'")
        self.target = resolve(target)
        self.overwrite = overwrite
        self.run_id = run_id
        self._names = Siblings(self.target, run_id)
        self._found: str | None = None
        self._record: int | None = None
        self._mode = 0o700

    @property
    def path(self) -> Path:
        """Where files are written until the commit, each created exclusively; only this user can look inside."""
        return self._names.staging

    def __enter__(self) -> Self:
        """Check that the target may be written, clean up after dead runs, and make the staging directory."""
        with translating(self.target):
            failpoint("entered")
            self.target.parent.mkdir(parents=True, exist_ok=True)
            remove_dead(self._names)
            self._found = describe(self.target)
            self._refuse_existing()
            self._stage()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove what was staged and not committed."""
        self._close()

    def commit(
        self, files: Iterable[FileEntry], *, format: str = DATASET, metadata: Mapping[str, Json] | None = None
    ) -> Manifest:
        """Put the staged files in the place of the target and return their manifest.

        Parameters
        ----------
        files : iterable of FileEntry
            Every file of the output, as ``file_entry`` describes it. What else lies in the staging directory was left
            by abandoned attempts and is removed.
        format : str
            ``"penstock/dataset"`` or ``"penstock/model"``.
        metadata : mapping of str to JSON values, optional
            Stored in the manifest beside its own fields.

        Raises
        ------
        ConfigError
            A file listed twice, or metadata that is not strict JSON.
        OutputError, DiskFullError, CommitConflictError
            As described for the class; the target is then as it was.
        """
        manifest = Manifest.create(format, run_id=self.run_id, files=files, metadata=metadata)
        content = manifest.encode()
        with translating(self.target):
            self._seal(manifest)
            self._write_manifest(content)
            with commit_lock(self._names.lock, self.run_id, _LOCK_PATIENCE):
                failpoint("locked")
                self._replace()
            failpoint("unlocked")
        self._close()
        return manifest

    def _refuse_existing(self) -> None:
        if self._found is None or (self.overwrite and is_replaceable(self.target)):
            return
        hint = "Pass overwrite=True to replace it, or choose another target."
        if not is_replaceable(self.target):
            hint = "overwrite=True replaces only what has a manifest; remove it yourself, or choose another target."
        raise OutputExistsError(f"{self.target} exists and holds {self._found}", hint=hint, path=str(self.target))

    def _stage(self) -> None:
        try:
            self._record = claim(self._names.record)
        except FileExistsError as error:
            message = f"run {self.run_id!r} already writes to {self.target}"
            hint = f"Give each run an id of its own; if that run is dead, remove {self._names.record}."
            raise CommitConflictError(message, hint=hint, path=str(self.target), run_id=self.run_id) from error
        try:
            failpoint("recorded")
            self._mode = self._final_mode()
            os.mkdir(self.path, 0o700)
            failpoint("staged")
        except BaseException:
            self._close()
            raise

    def _seal(self, manifest: Manifest) -> None:
        sealed = self._names.sealed
        failpoint("committing")
        os.rename(self.path, sealed)
        failpoint("sealed")
        self._sweep(manifest)
        failpoint("swept")
        sync_files(sealed / entry.path for entry in manifest.files)
        failpoint("files-synced")

    def _sweep(self, manifest: Manifest) -> None:
        sealed = self._names.sealed
        difference = compare_files(sealed, manifest.files)
        for wrong in (*difference.missing, *difference.resized):
            message = f"{wrong.path} is not in the staging directory as it was listed, with {wrong.bytes} bytes"
            hint = "A file must be closed before file_entry describes it, and left alone after."
            raise OutputError(message, hint=hint, path=wrong.path, run_id=self.run_id)
        for name in (*difference.extra, MANIFEST_NAME):
            (sealed / name).unlink(missing_ok=True)

    def _write_manifest(self, content: bytes) -> None:
        sealed = self._names.sealed
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

    def _replace(self) -> None:
        self._refuse_changed()
        failpoint("checked")
        paths = self._names.sealed, self.target
        try:
            if self._found is None:
                put_new(*paths)
            else:
                put_over(*paths, self._names.aside)
        except FileExistsError:
            self._refuse_changed()
            raise
        failpoint("swapped")
        try:
            sync_directory(self.target.parent)
        except OSError:
            take_back(*paths, self._names.aside, replaced=self._found is not None)
            raise
        failpoint("parent-synced")

    def _refuse_changed(self) -> None:
        now = describe(self.target)
        if now == self._found:
            return
        message = (
            f"run {self.run_id!r} cannot commit: {self.target} now holds {now or 'nothing'}, "
            f"and held {self._found or 'nothing'} when the run began"
        )
        hint = "Only one run at a time can win a target; run again if this one should."
        raise CommitConflictError(message, hint=hint, path=str(self.target), run_id=self.run_id)

    def _final_mode(self) -> int:
        if self._found is not None:
            return os.stat(self.target).st_mode & 0o777
        # The record was created under the umask; a directory may be searched by whoever may read it.
        readable = os.stat(self._names.record).st_mode & 0o666
        return readable | (readable & 0o444) >> 2

    def _close(self) -> None:
        """Remove what is left beside the target. The outcome is settled by now, so a failure is only reported."""
        if self._record is None:
            return
        try:
            discard(self._names)
        except OSError as error:
            logger.warning("cannot remove %s; the next run tries again: %s", self._names.sealed, error)
        finally:
            os.close(self._record)
            self._record = None
