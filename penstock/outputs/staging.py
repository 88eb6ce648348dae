"""The names a run uses beside its target, and what becomes of those that a dead process left there."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.errors import CommitConflictError
from penstock.notices import get_logger
from penstock.outputs.failpoints import failpoint
from penstock.outputs.locks import Owner, commit_lock, is_dead, unlocked

logger = get_logger(__name__)

RUN_ID = r"[A-Za-z0-9_-]{1,64}"


def new_run_id() -> str:
    """Return a new name for a run: sorts by time, and is random enough to be the only one.

    Examples
    --------
    >>> len(new_run_id()), new_run_id() == new_run_id()
    (30, False)
    """
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"


@dataclass(frozen=True)
class Siblings:
    """The paths beside a target that one run may create; the owner record is there before and after all others.

    Parameters
    ----------
    target : Path
        Where the output goes.
    run_id : str
        The run.
    """

    target: Path
    run_id: str

    @property
    def staging(self) -> Path:
        """The directory that workers write into."""
        return self._beside(f"staging-{self.run_id}")

    @property
    def sealed(self) -> Path:
        """The same directory under a name that no worker knows, so that a zombie attempt cannot add to it."""
        return self._beside(f"staging-{self.run_id}.sealed")

    @property
    def aside(self) -> Path:
        """The old target, where two directories cannot be exchanged in one step."""
        return self._beside(f"staging-{self.run_id}.aside")

    @property
    def record(self) -> Path:
        """Who owns all these."""
        return self._beside(f"staging-{self.run_id}.owner")

    @property
    def lock(self) -> Path:
        """Held while a target changes; the same for every run."""
        return self._beside("commit-lock")

    def _beside(self, suffix: str) -> Path:
        return self.target.with_name(f".{self.target.name}.{suffix}")


def discard(names: Siblings) -> None:
    """Remove what a run has beside its target, the record last; a target that was only set aside is put back."""
    if os.path.lexists(names.aside) and not os.path.lexists(names.target):
        os.rename(names.aside, names.target)
    if os.path.lexists(names.staging):
        os.rename(names.staging, names.sealed)
    for path in (names.sealed, names.aside):
        if os.path.lexists(path):
            shutil.rmtree(path)
            failpoint("removed")
    names.record.unlink(missing_ok=True)
    failpoint("finished")


def remove_dead(own: Siblings) -> None:
    """Report and remove what processes that died on this host left beside a target; the living are not touched.

    What belongs to another host is only reported, since nobody can tell from here whether its owner lives.
    """
    if os.path.lexists(own.lock):
        with suppress(CommitConflictError), commit_lock(own.lock, own.run_id, patience=0.0):
            logger.debug("%s was held by nobody", own.lock)
    for names in _found(own.target):
        try:
            with unlocked(names.record) as owner:
                _judge(names, owner)
        except (BlockingIOError, FileNotFoundError):
            logger.debug("%s belongs to a run at work", names.staging)
        except OSError as error:
            logger.warning("cannot remove %s, left by run %s: %s", names.staging, names.run_id, error)


def _judge(names: Siblings, owner: Owner | None) -> None:
    age = time.time() - names.record.stat().st_mtime
    if owner is not None and not owner.is_here():
        logger.warning("%s belongs to host %s (%.0f s old); remove it if it is dead", names.staging, owner.host, age)
    elif is_dead(names.record, owner):
        discard(names)
        logger.warning("removed %s: run %s died without finishing, %.0f s old", names.staging, names.run_id, age)


def _found(target: Path) -> Iterator[Siblings]:
    pattern = re.compile(rf"\.{re.escape(target.name)}\.staging-({RUN_ID})\.owner")
    for name in sorted(os.listdir(target.parent)):
        match = pattern.fullmatch(name)
        if match:
            yield Siblings(target, match[1])
