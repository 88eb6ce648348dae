"""Outputs wherever they lie: on a disk of this machine or in a store, and their commit."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from penstock.core.locations import is_url, read_location
from penstock.core.recording import step
from penstock.io.sinks.joint_commit import JointCommit
from penstock.io.sinks.staged import Staged
from penstock.io.sinks.staged_directory import StagedDirectory
from penstock.io.sinks.staged_file import StagedFile
from penstock.io.sinks.staging import new_run_id
from penstock.io.sinks.stores import StoreCommit, StoreDirectory, StoreFile
from penstock.io.sinks.stores.output import StoreOutput
from penstock.io.sinks.target import check_apart

Location = str | Path
OutputDirectory = StagedDirectory | StoreDirectory
OutputFile = StagedFile | StoreFile


def output_directory(
    target: Location, *, overwrite: bool = False, run_id: str, storage_options: Mapping[str, Any] | None = None
) -> OutputDirectory:
    """Return a directory as an output of a run: a `StagedDirectory` for a path, a `StoreDirectory` for a URL.

    Examples
    --------
    >>> type(output_directory("scores", run_id="r1")).__name__
    'StagedDirectory'
    >>> type(output_directory("memory://bucket/scores", run_id="r1")).__name__
    'StoreDirectory'
    """
    text = read_location(target, "target")
    if is_url(text):
        return StoreDirectory(text, overwrite=overwrite, run_id=run_id, storage_options=storage_options)
    return StagedDirectory(target, overwrite=overwrite, run_id=run_id)


def output_file(target: Location, *, run_id: str, storage_options: Mapping[str, Any] | None = None) -> OutputFile:
    """Return a file as an output of a run: a `StagedFile` for a path, a `StoreFile` for a URL."""
    text = read_location(target, "target")
    if is_url(text):
        return StoreFile(text, run_id=run_id, storage_options=storage_options)
    return StagedFile(target, run_id=run_id)


class OutputCommit:
    """The outputs of one run, put in place together: those of a store, and those on disks.

    Where a run has both, that is two commits: those in stores come first, store by store, then those on disks. If the
    later one fails, or the process is killed between them, the earlier outputs are new and the later ones old; all name
    their run.

    Parameters
    ----------
    *outputs : StagedDirectory, StagedFile, StoreDirectory or StoreFile
        Of one run id. There may be none, and then nothing happens.

    Raises
    ------
    ConfigError
        Two targets are the same, or one lies in the other.
    OutputExistsError, CommitConflictError, OutputError
        As `JointCommit` and `StoreCommit` raise.
    """

    def __init__(self, *outputs: OutputDirectory | OutputFile) -> None:
        self.targets: list[Location] = [output.target for output in outputs]
        check_apart(self.targets)
        stores: dict[int, list[StoreOutput]] = {}
        for output in outputs:
            if isinstance(output, StoreOutput):
                stores.setdefault(id(output.store.filesystem), []).append(output)
        local = [output for output in outputs if isinstance(output, Staged)]
        self._commits: list[StoreCommit | JointCommit] = [StoreCommit(*group) for group in stores.values()]
        self._commits += [JointCommit(*local)] if local else []
        self._pending = list(self._commits)
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        """Check that the targets may be written, settle what dead runs left, and record who writes."""
        with ExitStack() as stack:
            for commit in self._commits:
                stack.enter_context(commit)
            self._entered = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was written and not committed."""
        self._entered.close()

    def check(self) -> None:
        """Raise what entering raises, and settle what dead runs left; for a caller that enters only later."""
        with self:
            pass

    def commit(self) -> None:
        """Put every output in its place; each must have been sealed, or left out.

        After a conflict it may be called again, when what has changed was rebased and sealed again.
        """
        with step("commit"):
            while self._pending:
                self._pending[0].commit()
                self._pending.pop(0)

    def changed(self) -> list[StoreOutput | Staged]:
        """Return the outputs, of those that are still to be committed, whose targets another run has changed."""
        return [output for commit in self._pending for output in commit.outputs if not output.is_unchanged()]


def write_file(target: Location, content: bytes) -> Path | str:
    """Write one file, whole or not at all; one that is there is replaced.

    Parameters
    ----------
    target : path or URL
        Folders that are missing are made.
    content : bytes

    Returns
    -------
    pathlib.Path or str
        The path; a URL as text.

    Raises
    ------
    OutputError, DiskFullError, CommitConflictError
        It cannot be written, or another run wrote one meanwhile; what was there before still is.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_file(f"{folder}/a/b.txt", b"x")
    ...     path.name, path.read_bytes()
    ('b.txt', b'x')
    """
    text = read_location(target, "target")
    with OutputCommit(staged := output_file(text, run_id=new_run_id())) as joint:
        staged.seal(content)
        joint.commit()
    return text if is_url(text) else Path(text)
