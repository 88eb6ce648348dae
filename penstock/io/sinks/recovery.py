"""What becomes of that which dead runs left beside a target: outputs half in place are completed, the rest removed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from penstock.core.errors import CommitConflictError
from penstock.core.notices import get_logger
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.journal import decode_path, read_journal
from penstock.io.sinks.locks import Owner, commit_lock, commit_locks, is_dead, read_owner, unlocked
from penstock.io.sinks.staging import Siblings, discard, siblings_of

logger = get_logger(__name__)


def recover(own: Siblings, patience: float) -> None:
    """Bring to an end what runs that died on this host began at a target; the living are not touched.

    Outputs that such a run was putting in place, here and at its other targets, are all put there, or all taken back
    where one of them is lost. Its staging and the rest is removed. What belongs to another host is only reported,
    since nobody can tell from here whether its owner lives.

    Raises
    ------
    CommitConflictError
        Another run held one of the targets for `patience` seconds.
    OutputError, DiskFullError
        Outputs could be neither put in place nor taken back.
    """
    if os.path.lexists(own.lock):
        with suppress(CommitConflictError), commit_lock(own.lock, own.run_id, patience=0.0):
            logger.debug("%s was held by nobody", own.lock)
    for names in siblings_of(own.target):
        group = _group_if_dead(names)
        if group:
            _settle(group, patience)
            _discard(group)


def find_pending(own: Siblings) -> Path | None:
    """Return the journal of another run whose outputs are half in place at a target; the commit lock must be held.

    No run at work can be in the middle of its commit then: this one died just now, or on another host.
    """
    others = (names for names in siblings_of(own.target) if names != own)
    journals = (_group(names, read_owner(names.record))[0].journal for names in others)
    return next((journal for journal in journals if os.path.lexists(journal)), None)


def _group_if_dead(names: Siblings) -> list[Siblings]:
    try:
        return _group_of_dead(names)
    except (BlockingIOError, FileNotFoundError):
        logger.debug("%s belongs to a run at work", names.staging)
    except OSError as error:
        logger.warning("cannot remove %s, left by run %s: %s", names.staging, names.run_id, error)
    return []


def _group_of_dead(names: Siblings) -> list[Siblings]:
    """Return what a dead run has beside all its targets, the first of them first; nothing for a run that may live."""
    with unlocked(names.record) as owner:
        if owner is not None and not owner.is_here():
            message = "%s belongs to host %s (%.0f s old); remove it if it is dead"
            logger.warning(message, names.staging, owner.host, _age(names))
        if not is_dead(names.record, owner):
            return []
    return _group(names, owner)


def _group(names: Siblings, owner: Owner | None) -> list[Siblings]:
    """Return what the run of a record has beside its targets.

    Only where a record says the same, so that a record in a folder that everybody may write to is no way to have
    outputs elsewhere removed.
    """
    targets = [decode_path(text, names.target.parent) for text in owner.targets] if owner else []
    group = [Siblings(target, names.run_id) for target in targets]
    return [other for other in group if _says_the_same(other, targets, owner)] or [names]


def _says_the_same(names: Siblings, targets: Sequence[Path], owner: Owner | None) -> bool:
    other = read_owner(names.record)
    if other is None or owner is None:
        return False
    return [decode_path(text, names.target.parent) for text in other.targets] == list(targets)


def _settle(group: Sequence[Siblings], patience: float) -> None:
    run_id = group[0].run_id
    with commit_locks(group, patience):
        journal = read_journal(group[0].journal, group)
        if journal is not None:
            logger.warning("run %s died while it put its outputs in place; completing that", run_id)
            journal.settle()
            failpoint("settled")
            journal.remove()


def _discard(group: Sequence[Siblings]) -> None:
    for names in group:
        try:
            with unlocked(names.record):
                age = _age(names)
                discard(names)
            logger.warning("removed %s: run %s died without finishing, %.0f s old", names.staging, names.run_id, age)
        except (BlockingIOError, FileNotFoundError):
            logger.debug("%s is removed by another run", names.staging)
        except OSError as error:
            logger.warning("cannot remove %s, left by run %s: %s", names.staging, names.run_id, error)


def _age(names: Siblings) -> float:
    return time.time() - names.record.stat().st_mtime
