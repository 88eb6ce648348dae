"""Put all outputs of a run in place together: every one of them, or none.

Files and directories change places with their targets one at a time, so that what makes several of them one commit is
the order of steps, and a journal.

1. Entering, before any work: parents are made, what dead runs left is settled (below), and under the commit locks of
   all targets each output notes what lies at its target and claims it by an owner record, which names all the targets.
2. Each output is staged beside its target, and sealed: renamed to a name that no worker knows, and flushed.
3. The commit takes the locks of all targets again, in the order of their paths, so that two runs never wait for each
   other. If one target is not what it was on entering, another run has won: nothing is changed.
4. The journal, with the targets, what was there and what comes, is written beside the first target and flushed.
5. The outputs change places with what is at their targets; the old ones stay beside them. The folders are flushed.
6. The journal is removed. The locks are released, and the old outputs and the records are removed.

If anything fails before 6, what has changed places changes back. A process killed before 4 is done has changed nothing,
and after 6 all; between, the journal is there. The next run that enters any of the targets finds the dead owner's
record, which leads to the journal. It takes all the locks, looks at what lies where, and makes the changes that are
still to be made; only if an output has been lost meanwhile are they all undone. Nothing of this is done while the owner
lives: it holds its records locked as long as it does.

A reader between the first and the last change of places, some milliseconds (or until the next run, if the process was
killed there), may see the new model and the old scores. Both name their run in the manifest; a reader that needs the
pair compares the ``run_id`` of the two.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from penstock.core.errors import CommitConflictError, PenstockError
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.journal import Journal, logger
from penstock.io.sinks.locks import commit_locks
from penstock.io.sinks.os_errors import translating
from penstock.io.sinks.recovery import find_pending, recover
from penstock.io.sinks.staged import Staged
from penstock.io.sinks.target import check_apart

_LOCK_PATIENCE = 60.0
_SETTLING_SECONDS = 5.0
_PAUSE = 0.05


class JointCommit:
    """The outputs of one run, which appear at their targets together or not at all.

    Parameters
    ----------
    *outputs : StagedDirectory or StagedFile
        Of one run id, with targets apart from each other. There may be none, and then nothing happens.

    Raises
    ------
    ConfigError
        Two targets are the same, or one lies in the other.
    OutputExistsError
        On entering: a target exists and may not be replaced.
    CommitConflictError
        On entering: this run already writes to a target. On commit: another run changed one of them meanwhile. On
        either: outputs of another run are half in place, and cannot be completed from here.
    OutputError, DiskFullError
        The file system refused. Targets are as they were.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.io.sinks import StagedDirectory, StagedFile, new_run_id
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = new_run_id()
    ...     model, page = StagedDirectory(f"{folder}/model", run_id=run), StagedFile(f"{folder}/a.html", run_id=run)
    ...     with JointCommit(model, page) as joint:
    ...         _ = model.seal([])
    ...         page.seal(b"<html></html>")
    ...         joint.commit()
    ...     sorted(os.listdir(folder))
    ['a.html', 'model']
    """

    def __init__(self, *outputs: Staged) -> None:
        check_apart(output.target for output in outputs)
        self.outputs = sorted(outputs, key=lambda output: output.target)

    @property
    def targets(self) -> list[Path]:
        """Where the outputs go, in the order in which they get there."""
        return [output.target for output in self.outputs]

    def __enter__(self) -> Self:
        """Check that the targets may be written, settle what dead runs left, and make what is staged into."""
        if not self.outputs:
            return self
        failpoint("entered")
        atexit.register(self._abandon)
        try:
            for output in self.outputs:
                with translating(output.target):
                    output.target.parent.mkdir(parents=True, exist_ok=True)
            with self._hold_targets():
                for output in self.outputs:
                    output.claim(self.targets)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was staged and not committed."""
        self._close()

    def commit(self) -> None:
        """Put every output in its place.

        Each must have been sealed, or left out by `StagedDirectory.omit`.
        """
        changes = [change for output in self.outputs if (change := output.change()) is not None]
        if changes:
            with self._hold_targets():
                failpoint("locked")
                self._check_unchanged()
                failpoint("checked")
                self._replace(Journal(self.outputs[0].names.journal, changes))
            failpoint("unlocked")
        self._close()

    def _replace(self, journal: Journal) -> None:
        journal.write()
        try:
            journal.make()
        except BaseException as error:
            self._undo(journal)
            if isinstance(error, FileExistsError):
                self._check_unchanged()
            raise
        try:
            journal.remove()
        except OSError as error:
            logger.warning("cannot remove %s; the next run tries again: %s", journal.path, error)

    def _undo(self, journal: Journal) -> None:
        try:
            journal.undo()
            journal.remove()
        except OSError as error:
            logger.error("cannot undo what %s says; the next run settles it: %s", journal.path, error)

    def _check_unchanged(self) -> None:
        for output in self.outputs:
            output.check_unchanged()

    @contextmanager
    def _hold_targets(self) -> Iterator[None]:
        """Hold the locks of all targets, with no outputs of another run half in place at any of them."""
        deadline = time.monotonic() + _SETTLING_SECONDS
        while True:
            for output in self.outputs:
                with translating(output.target):
                    recover(output.names, _LOCK_PATIENCE)
            with translating(self.targets[0]), commit_locks((output.names for output in self.outputs), _LOCK_PATIENCE):
                pending = self._pending()
                if pending is None:
                    yield
                    return
            if time.monotonic() > deadline:
                raise pending
            time.sleep(_PAUSE)

    def _pending(self) -> CommitConflictError | None:
        for output in self.outputs:
            journal = find_pending(output.names)
            if journal is not None:
                message = f"{output.target} cannot be written: outputs of another run are half in place"
                hint = f"A run on the host of that one completes them; or remove {journal} to leave them as they are."
                return CommitConflictError(message, hint=hint, path=str(output.target), run_id=output.run_id)
        return None

    def _abandon(self) -> None:
        """Remove what is staged at the end of a process that does not leave this in its turn; not during a commit."""
        with suppress(PenstockError, OSError), commit_locks((output.names for output in self.outputs), 0.0):
            self._close()

    def _close(self) -> None:
        """Remove what is left beside the targets, unless a journal still speaks of it."""
        atexit.unregister(self._abandon)
        pending = any(os.path.lexists(output.names.journal) for output in self.outputs)
        for output in self.outputs:
            output.release(keep=pending)
