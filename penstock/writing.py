"""Writing a dataset: parts staged by the workers, every row accounted for, swapped in whole."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import ConfigError, RowCountError
from penstock.outputs import StagedDirectory, new_run_id
from penstock.steps import RowLog
from penstock.tasks import Write, Written

if TYPE_CHECKING:
    from penstock.dataset import Dataset


@dataclass(frozen=True)
class WriteResult:
    """What a write did.

    ``rows`` were written to ``path``; ``read`` is how many came in, ``dropped`` and ``quarantined`` count the others by
    reason, and ``quarantine`` is where the latter went (None if there were none).
    """

    path: str
    rows: int
    read: int
    dropped: dict[str, int]
    quarantined: dict[str, int]
    quarantine: str | None
    run_id: str


def write_parquet(
    dataset: Dataset, target: Path, *, overwrite: bool = False, quarantine: str | Path | None = None
) -> WriteResult:
    """Write a dataset as a directory of Parquet; see `Dataset.write_parquet`."""
    aside = Path(quarantine) if quarantine is not None else target.with_name(target.name + ".quarantine")
    for path in (target, aside):
        _check_apart(dataset, path)
    run_id = new_run_id()
    with (
        StagedDirectory(target, overwrite=overwrite, run_id=run_id) as staged,
        StagedDirectory(aside, overwrite=True, run_id=run_id) as set_aside,
    ):
        written = _write_parts(dataset, str(staged.path), str(set_aside.path))
        check_rows(written.log)
        if written.quarantine:
            set_aside.commit(written.quarantine, metadata={"quarantined": written.log.quarantined})
        staged.commit(written.files, metadata=_counts(written.log))
    log = written.log
    where = str(aside) if written.quarantine else None
    return WriteResult(str(target), log.kept, log.read, log.dropped, log.quarantined, where, run_id)


def _write_parts(dataset: Dataset, directory: str, quarantine: str) -> Written:
    work = Write(dataset.scan(), dataset.schema, directory, quarantine)
    total = Written()
    for part in dataset.engine.map(work, dataset.fragments, label="write"):
        total.files += part.files
        total.quarantine += part.quarantine
        total.log.add(part.log)
    return total


def _counts(log: RowLog) -> dict[str, object]:
    return {"rows_read": log.read, "rows": log.kept, "dropped": log.dropped, "quarantined": log.quarantined}


def check_rows(log: RowLog) -> None:
    """Raise RowCountError unless rows in are rows out and those dropped or quarantined for a reason."""
    aside, dropped = sum(log.quarantined.values()), sum(log.dropped.values())
    if log.read != log.kept + dropped + aside:
        raise RowCountError(
            f"{log.read} rows in are not {log.kept} out, {dropped} dropped and {aside} quarantined:"
            f" {log.read - log.kept - dropped - aside} are unaccounted for",
            rows=log.read,
        )


def _check_apart(dataset: Dataset, target: Path) -> None:
    """Refuse to write over, into or around what is read."""
    goal = os.path.realpath(target)
    for path in {path for fragment in dataset.fragments for path in fragment.paths if "://" not in path}:
        source = os.path.realpath(path)
        if source == goal or source.startswith(goal + os.sep) or goal.startswith(source + os.sep):
            raise ConfigError(
                f"the output {target} would replace or hold its own input {path}",
                hint="Write to another directory.",
                path=str(target),
            )
