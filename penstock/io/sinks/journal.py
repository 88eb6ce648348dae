"""What a run is about to put where, written down before the first of its outputs changes places.

A journal that is there and whole means: every output of the run is staged and on the device, and some of them, none or
all have changed places with what was at their targets. Whoever holds the commit locks of all the targets can then bring
this to an end without the run, from what lies on disk alone.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from penstock.core.errors import CorruptFileError, PenstockError
from penstock.core.notices import get_logger
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.files import compare_files
from penstock.io.sinks.manifest import read_manifest
from penstock.io.sinks.staging import Siblings
from penstock.io.sinks.strict_json import Json, encode_json, read_json
from penstock.io.sinks.swap import put_new, put_over, sync_directory, take_back
from penstock.io.sinks.target import fingerprint

logger = get_logger(__name__)

_LIMIT = 2**20


class SwapState(enum.Enum):
    """How far a change has come."""

    PENDING = "the new output is whole and waits beside its target"
    SET_ASIDE = "the old output was moved away, the new one waits"
    MADE = "the new output is at its target"
    FOREIGN = "the target holds what neither was there before nor was to come"
    LOST = "the new output is nowhere"


@dataclass(frozen=True)
class Change:
    """What becomes of one target.

    Parameters
    ----------
    names : Siblings
        The target, and where the new output waits beside it.
    before, after : str or None
        The `fingerprint` of what was there when the run began, and of what comes; None for nothing.
    """

    names: Siblings
    before: str | None
    after: str | None

    def make(self) -> None:
        """Put the new output in the place of the old one, which is then where the new one was."""
        names = self.names
        if self.after is None:
            put_new(names.target, names.sealed)
        elif self.before is None:
            put_new(names.sealed, names.target)
        else:
            put_over(names.sealed, names.target, names.aside)
        failpoint("swapped")

    def finish(self) -> None:
        """Make the change from where a run left it; one that others were in the way of is left alone."""
        progress = self.progress()
        if progress is SwapState.PENDING:
            self.make()
        elif progress is SwapState.SET_ASIDE:
            os.rename(self.names.sealed, self.names.target)
        elif progress is SwapState.FOREIGN:
            logger.warning("%s was changed by another program and is left as it is", self.names.target)

    def undo(self) -> None:
        """Put the old output back, if the new one is in its place or it was moved away."""
        names = self.names
        if os.path.lexists(names.aside) and not os.path.lexists(names.target):
            os.rename(names.aside, names.target)
        elif self.progress() is not SwapState.MADE:
            return
        elif self.after is not None:
            take_back(names.sealed, names.target, names.aside, replaced=self.before is not None)
        elif os.path.lexists(names.sealed):
            put_new(names.sealed, names.target)

    def progress(self) -> SwapState:
        """Return how far this has come, by what lies on disk."""
        now = fingerprint(self.names.target)
        if now == self.after:
            return SwapState.MADE
        set_aside = now is None and self.before is not None and fingerprint(self.names.aside) == self.before
        if now != self.before and not set_aside:
            return SwapState.FOREIGN
        if self.after is not None and not self._waits():
            return SwapState.LOST
        return SwapState.SET_ASIDE if set_aside else SwapState.PENDING

    def _waits(self) -> bool:
        """Return whether the new output is beside its target, with all its files."""
        sealed = self.names.sealed
        if fingerprint(sealed) != self.after:
            return False
        return not sealed.is_dir() or _has_its_files(sealed)


@dataclass(frozen=True)
class Journal:
    """The changes of one run, as they are stored.

    Parameters
    ----------
    path : Path
        Where: beside the first target of the run.
    changes : sequence of Change
    """

    path: Path
    changes: Sequence[Change]

    def write(self) -> None:
        """Store the changes durably, after the names of what is staged; from here on they will be made."""
        self._sync_targets()
        folder = self.path.parent
        document: Json = [
            {"target": encode_path(change.names.target, folder), "before": change.before, "after": change.after}
            for change in self.changes
        ]
        try:
            with open(self.path, "xb") as file:
                file.write(encode_json(document, _LIMIT, path=str(self.path)))
                file.flush()
                failpoint("journal-written")
                os.fsync(file.fileno())
            sync_directory(folder)
        except BaseException:
            self.path.unlink(missing_ok=True)
            raise
        failpoint("journal-synced")

    def make(self) -> None:
        """Make the changes, one after the other."""
        for change in self.changes:
            change.make()
        self._sync_targets()
        failpoint("parents-synced")

    def settle(self) -> None:
        """Bring to an end what a run began: make the changes that it had not, or undo all if an output is lost."""
        if any(change.progress() is SwapState.LOST for change in self.changes):
            self.undo()
            return
        for change in self.changes:
            change.finish()
        self._sync_targets()

    def undo(self) -> None:
        """Put all the old outputs back."""
        for change in reversed(self.changes):
            change.undo()
        self._sync_targets()

    def remove(self) -> None:
        """Forget the changes: they are all made, or all undone."""
        self.path.unlink()
        sync_directory(self.path.parent)
        failpoint("journal-removed")

    def _sync_targets(self) -> None:
        for folder in sorted({change.names.target.parent for change in self.changes}):
            sync_directory(folder)


def read_journal(path: Path, group: Iterable[Siblings]) -> Journal | None:
    """Return the journal at a path, with those changes that concern a group; None where there is none.

    One that was not written to its end is not whole JSON; nothing had changed places then, and nothing will.
    """
    try:
        document = read_json(path, _LIMIT)
    except FileNotFoundError:
        return None
    except CorruptFileError:
        return Journal(path, ())
    members = {names.target: names for names in group}
    entries = document if isinstance(document, list) else []
    return Journal(path, [change for entry in entries if (change := _change(entry, path.parent, members))])


def encode_path(path: Path, folder: Path) -> str:
    """Return a path as text relative to a folder, so that it holds wherever both are mounted or moved together.

    Examples
    --------
    >>> encode_path(Path("/data/scores of May"), Path("/data/models"))
    '../scores%20of%20May'
    """
    return quote(os.path.relpath(path, folder), errors="surrogateescape")


def decode_path(text: str, folder: Path) -> Path:
    """Return the path that `encode_path` made a text of."""
    return Path(os.path.normpath(folder / unquote(text, errors="surrogateescape")))


def _change(entry: object, folder: Path, members: dict[Path, Siblings]) -> Change | None:
    match entry:
        case {"target": str(target), "before": str() | None as before, "after": str() | None as after}:
            names = members.get(decode_path(target, folder))
            return Change(names, before, after) if names is not None else None
    return None


def _has_its_files(directory: Path) -> bool:
    try:
        manifest = read_manifest(directory)
        difference = compare_files(directory, manifest.files) if manifest else None
    except (PenstockError, OSError):
        return False
    return difference is not None and not (difference.missing or difference.extra or difference.resized)
