"""Writing a dataset: parts staged by the workers, every row accounted for, swapped in whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ConfigError, RowCountError
from penstock.core.locations import is_url, local_path
from penstock.core.scheduler import map_all
from penstock.dataset.steps import RowLog
from penstock.dataset.tasks import WriteTask, Written
from penstock.io.formats import find_format
from penstock.io.sinks import MANIFEST_NAME, JointCommit, Json, StagedDirectory, new_run_id, resolve
from penstock.io.sinks.committer import Committer
from penstock.io.sinks.part_writer import PartWriter

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


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


def write(
    dataset: Dataset,
    target: str | Path,
    format: str,
    options: Mapping[str, Any],
    *,
    overwrite: bool = False,
    quarantine: str | Path | None = None,
) -> WriteResult:
    """Write a dataset as a directory; see `Dataset.write`."""
    staged = StagedDataset(
        target, format=format, options=options, overwrite=overwrite, quarantine=quarantine, run_id=new_run_id()
    )
    staged.writer(dataset)
    refuse_inputs(dataset, [output.target for output in staged.outputs])
    with JointCommit(*staged.outputs) as joint:
        result = staged.seal(dataset)
        joint.commit()
    return result


class StagedDataset:
    """Rows as a directory, and those set aside as another beside it, in Parquet, to be put in place together.

    Parameters are those of `Dataset.write`; `outputs` are what a `JointCommit` takes.
    """

    def __init__(
        self,
        target: str | Path,
        *,
        format: str = "parquet",
        options: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        quarantine: str | Path | None = None,
        run_id: str,
    ) -> None:
        self._format, self._options = find_format(format), options or {}
        self._path = local_path(target, "target")
        beside = f"{self._path.rstrip(os.sep)}.quarantine"
        self._aside = beside if quarantine is None else local_path(quarantine, "quarantine")
        self._kept = StagedDirectory(self._path, overwrite=overwrite, run_id=run_id)
        self._quarantine = StagedDirectory(self._aside, overwrite=True, run_id=run_id)
        self.outputs = (self._kept, self._quarantine)

    def writer(self, dataset: Dataset) -> PartWriter:
        """Return what writes the parts; ConfigError where the format cannot hold a column."""
        return self._format.part_writer(dataset.schema, self._options)

    def seal(self, dataset: Dataset) -> WriteResult:
        """Stage a dataset, every row of it accounted for."""
        written = stage_parts(dataset, self.writer(dataset), self._kept, self._quarantine)
        log, where = written.log, self._aside if written.quarantine else None
        return WriteResult(self._path, log.kept, log.read, log.dropped, log.quarantined, where, self._kept.run_id)


def stage_parts(dataset: Dataset, writer: PartWriter, rows: Committer, quarantine: Committer) -> Written:
    """Write the parts of a dataset to where two committers want them, and seal both; return what became of the rows.

    Raises
    ------
    RowCountError
        Rows in are not rows out and those dropped or quarantined; nothing is sealed.
    """
    total = Written()
    work = WriteTask(dataset.scan(), writer, str(rows.path), str(quarantine.path))
    for part in map_all(dataset.engine, work, dataset.fragments, label="write"):
        total.files += part.files
        total.quarantine += part.quarantine
        total.log.add(part.log)
    log = total.log
    check_rows(log)
    if total.quarantine:
        quarantine.seal(total.quarantine, metadata={"quarantined": log.quarantined})
    else:
        quarantine.omit()
    rows.seal(total.files, metadata=_counts(log))
    return total


def _counts(log: RowLog) -> dict[str, Json]:
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


def refuse_inputs(dataset: Dataset, outputs: Iterable[str | Path]) -> None:
    """Raise ConfigError for an output that would replace, hold or lie in what the dataset reads."""
    read = {piece.path for fragment in dataset.fragments for piece in fragment.pieces if piece.table is None}
    sources = {os.path.realpath(path) for path in read if not is_url(path)}
    for output in outputs:
        goal = resolve(output)
        overlap = next((source for source in sources if goal in (Path(source), *Path(source).parents)), None)
        overlap = overlap or next((str(folder) for folder in goal.parents if _is_read(folder, sources)), None)
        if overlap is not None:
            raise ConfigError(
                f"the output {output} would replace, hold or lie in its own input {overlap}",
                hint="Write to another directory.",
                path=os.fspath(output),
            )


def _is_read(folder: Path, sources: set[str]) -> bool:
    """Return whether a folder is a dataset, with a marker of its own, from which a file is read."""
    marked = any((folder / marker).exists() for marker in (MANIFEST_NAME, "_SUCCESS"))
    return marked and any(source.startswith(f"{folder}{os.sep}") for source in sources)
