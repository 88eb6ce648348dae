"""Rows that a write into a table sets aside: in their place before the table has the others, so that none is lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Self

from penstock.core.errors import CommitConflictError, PenstockError
from penstock.core.notices import get_logger
from penstock.dataset.outputs.placement import Placement
from penstock.dataset.steps import RowLog
from penstock.io.sinks import FileEntry, Json, OutputCommit, OutputDirectory, new_run_id, output_directory
from penstock.io.sinks.part_folder import PartFolder

logger = get_logger(__name__)

_ATTEMPTS = 100
"""How often a run goes on from what others have set aside before it: each time one of them has come through."""


@dataclass
class SetAside:
    """A directory beside a table; a block that is entered before the rows are read, and left when the table has them.

    A table and a directory cannot change at once. So the rows of this run are put beside those of earlier ones before
    the table's commit (`publish`), and what gives way goes after it (`settle`): a process that dies between the two
    leaves more rows than it should, never fewer.

    Parameters
    ----------
    target : str
        A path or a URL.
    run : str
        What the names of its parts have in them.
    placement : Placement
        Where it adds to the table, rows that earlier runs set aside stay, but for those of its own `run_id`.
    storage_options : mapping
    """

    target: str
    run: str
    placement: Placement
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _own: tuple[FileEntry, ...] = ()

    def __post_init__(self) -> None:
        self._output, self._entered = self._directory(self.run), ExitStack()
        self._gives_way, self._said = False, dict[str, Json]()

    def __enter__(self) -> Self:
        """Enter the output, with the errors of `OutputCommit`."""
        with ExitStack() as stack:
            self._commit = stack.enter_context(OutputCommit(self._output))
            before = self._output.previous()
            self._gives_way = before is not None and not all(map(self._stays, before.files))
            self._entered = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was written and not published."""
        self._entered.close()

    @property
    def parts(self) -> PartFolder:
        """The folder that workers put parts into, under names that begin with ``part-<run>-``."""
        return self._output.parts

    @property
    def location(self) -> str | None:
        """Where rows of this run lie; None where there are none."""
        return self.target if self._own else None

    def publish(self, files: Sequence[FileEntry], log: RowLog) -> None:
        """Put the rows of this run in their place, before the commit of the table.

        Raises
        ------
        CommitConflictError, OutputError
            They cannot be put there; the table is not to be changed.
        """
        run_id = self.placement.run_id
        self._own = tuple(replace(entry, run=run_id) if run_id else entry for entry in files)
        if self._own:
            self._said = {"quarantined": log.quarantined}
            stays = self._stays if self.placement.adds else lambda entry: True
            _commit(self._output, self._commit, stays, self._own, self._said)

    def settle(self) -> None:
        """Remove rows of earlier runs that give way, after the commit of the table; a failure is only reported."""
        if not self._gives_way:
            return
        try:
            output = self._directory(new_run_id())
            with OutputCommit(output) as commit:
                _commit(output, commit, self._stays, (), self._said)
        except PenstockError as error:
            logger.warning("rows that earlier runs set aside stay in %s: %s", self.target, error)

    def _stays(self, entry: FileEntry) -> bool:
        if any(entry.path == own.path for own in self._own):
            return True
        run_id = self.placement.run_id
        return self.placement.adds and (run_id is None or entry.run != run_id)

    def _directory(self, run: str) -> OutputDirectory:
        return output_directory(self.target, overwrite=True, run_id=run, storage_options=self.storage_options)


def _commit(
    output: OutputDirectory,
    commit: OutputCommit,
    stays: Callable[[FileEntry], bool],
    files: Sequence[FileEntry],
    metadata: Mapping[str, Json],
) -> None:
    """Put files in place beside those that stay; again where another run has come before."""
    for attempt in itertools.count(1):
        before = output.previous()
        kept = tuple(filter(stays, before.files)) if before else ()
        try:
            if kept or files:
                output.seal([*kept, *files], metadata=metadata, keep=kept)
            else:
                output.omit()
            commit.commit()
            break
        except CommitConflictError:
            if attempt == _ATTEMPTS:
                raise
            output.rebase()
