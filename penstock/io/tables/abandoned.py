"""Runs at work in the folder of a table: each has a record there, so that parts of killed ones are known and removed.

Which runs are dead is asked before the commit of the next one, and which files the log names after it. What a run that
was dead by then had still sent to the log comes too late: the version that it is for is there. So a part of it that no
version names is of no use to anyone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.core.locations import is_url
from penstock.core.notices import get_logger
from penstock.io.sinks.locks import Owner, claim, is_dead, release, unlocked
from penstock.io.sinks.os_errors import translating
from penstock.io.sinks.staging import RUN_ID
from penstock.io.sinks.stores import recovery
from penstock.io.sinks.stores.names import CONTROL
from penstock.io.tables.committer import TableFolder

logger = get_logger(__name__)

_ENDING = ".owner"


@contextmanager
def at_work(folder: TableFolder) -> Iterator[None]:
    """Have a record of this process in the folder of a table, while its run puts parts there."""
    if is_url(folder.path):
        record = f"{_control(folder)}/{folder.run}{_ENDING}"
        folder.store.put(record, Owner.here().encode())
        try:
            yield
        finally:
            folder.store.discard([record])
        return
    descriptor = _claim(_local_record(folder, folder.run))
    try:
        yield
    finally:
        _forget(folder, folder.run)
        release(descriptor)


def dead_runs(folder: TableFolder) -> list[str]:
    """Return the runs that have a record in the folder of a table, and whose processes have died."""
    if not is_url(folder.path):
        return [run for run in _local_runs(folder) if _is_dead(_local_record(folder, run))]
    store, control = folder.store, _control(folder)
    records = recovery.owner_records(store, control).items()
    known = {run: (store.read(f"{control}/{run}{_ENDING}"), info) for run, info in records if run != folder.run}
    return [
        run for run, (record, info) in known.items() if record and recovery.is_dead(Owner.decode(record.content), info)
    ]


def discard_unnamed(folder: TableFolder, runs: Collection[str], named: Callable[[], Collection[str]]) -> None:
    """Remove the parts of runs that are over, but for those that a version of the table names, and their records.

    What becomes of the table is settled by now, so that a failure is only reported: the next run tries again.

    Parameters
    ----------
    folder : TableFolder
    runs : collection of str
        Those that were dead before the commit; or this one, where that has failed.
    named : callable
        Gives the names, without their folders, of the files of all versions that the table still has.
    """
    try:
        kept = named() if runs else ()
        for run in runs:
            count = folder.discard_run(run, lambda name: os.path.basename(name) in kept)
            if count and run != folder.run:
                logger.warning("removed %d file(s) from %s that run %s, which died, had left", count, folder.path, run)
            _forget(folder, run)
    except Exception as error:  # catalogs raise what they like, and the rows are in the table
        logger.warning("cannot remove what runs left in %s: %s", folder.path, error)


def _control(folder: TableFolder) -> str:
    return f"{folder.store.path}/{CONTROL}"


def _local_record(folder: TableFolder, run: str) -> Path:
    return Path(folder.path) / CONTROL / f"{run}{_ENDING}"


def _local_runs(folder: TableFolder) -> list[str]:
    with suppress(FileNotFoundError):
        names = sorted(os.listdir(Path(folder.path) / CONTROL))
        return [match[1] for name in names if (match := re.fullmatch(rf"({RUN_ID}){_ENDING}", name))]
    return []


def _claim(record: Path) -> int:
    with translating(record):
        while True:
            record.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # a run that has just ended took the empty folder with it
                return claim(record)


def _is_dead(record: Path) -> bool:
    with suppress(OSError), unlocked(record) as owner:
        return is_dead(record, owner)
    return False


def _forget(folder: TableFolder, run: str) -> None:
    """Remove the record of a run, and the folder of records that has none left."""
    if is_url(folder.path):
        folder.store.discard([f"{_control(folder)}/{run}{_ENDING}"])
        return
    record = _local_record(folder, run)
    with suppress(OSError):
        record.unlink()
        record.parent.rmdir()
