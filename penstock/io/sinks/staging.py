"""The names that a run uses beside its target."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.core.errors import ConfigError
from penstock.io.sinks.failpoints import failpoint

RUN_ID = r"[A-Za-z0-9_-]{1,64}"


def check_run_id(run_id: str) -> None:
    """Raise ConfigError for the id of a run that makes no names of files."""
    if not re.fullmatch(RUN_ID, run_id):
        raise ConfigError(f"run_id is {run_id!r}, expected 1 to 64 of A-Z, a-z, 0-9, '_' and '-'")


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
        """What workers write into."""
        return self._beside(f"staging-{self.run_id}")

    @property
    def sealed(self) -> Path:
        """The same under a name that no worker knows, so that a zombie attempt cannot add to it; then the old one."""
        return self._beside(f"staging-{self.run_id}.sealed")

    @property
    def aside(self) -> Path:
        """The old output, where two paths cannot be exchanged in one step."""
        return self._beside(f"staging-{self.run_id}.aside")

    @property
    def journal(self) -> Path:
        """What the run is putting in place, there while it does; only beside the first of its targets."""
        return self._beside(f"staging-{self.run_id}.journal")

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


def siblings_of(target: Path) -> Iterator[Siblings]:
    """Return those of every run that has an owner record beside a target."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.staging-({RUN_ID})\.owner")
    for name in sorted(os.listdir(target.parent)):
        match = pattern.fullmatch(name)
        if match:
            yield Siblings(target, match[1])


def discard(names: Siblings) -> None:
    """Remove what a run has beside its target, the record last; a target that was only set aside is put back."""
    if os.path.lexists(names.aside) and not os.path.lexists(names.target):
        os.rename(names.aside, names.target)
    if os.path.lexists(names.staging) and not os.path.lexists(names.sealed):
        os.rename(names.staging, names.sealed)
    for path in (names.staging, names.sealed, names.aside):
        if os.path.lexists(path):
            _remove(path)
            failpoint("removed")
    names.record.unlink(missing_ok=True)
    failpoint("finished")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
