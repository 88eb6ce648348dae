"""Writing a dataset to a table: loaded by the workers, every row accounted for, moved in one transaction."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import narwhals as nw

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.locations import read_location
from penstock.core.names import column_names
from penstock.core.notices import get_logger
from penstock.core.redaction import redact
from penstock.core.scheduler import map_all
from penstock.dataset.dataset import Dataset
from penstock.dataset.gather_step import conclude
from penstock.dataset.outputs.parts import check_rows
from penstock.dataset.outputs.placement import Placement
from penstock.dataset.outputs.set_aside import SetAside
from penstock.dataset.relations.join import Names
from penstock.dataset.tasks import ReadTask, Written, put_aside
from penstock.dataset.writing import WriteResult, refuse_inputs
from penstock.io.databases import find_database
from penstock.io.databases.base import TableName
from penstock.io.fragments import Fragment
from penstock.io.sinks import new_run_id
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.sql import SqlLoader, SqlTable

logger = get_logger(__name__)


@dataclass
class Loaded(Written):
    """The attempt that loaded a fragment, the files of the rows set aside, and what became of all of them."""

    attempts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class LoadTask:
    """Loads the rows of one fragment, and writes those set aside as a file where they are asked for."""

    scan: ReadTask
    loader: SqlLoader
    quarantine: PartFolder | None
    prefix: str

    def __call__(self, fragment: Fragment) -> Loaded:
        """Load one fragment; the rows of an attempt that nobody is told of are not moved."""
        loaded = Loaded()

        def load(frame: nw.DataFrame) -> int:
            return self.loader(frames.conform(frame, self.loader.schema))

        loaded.attempts.append(self.scan.convert(fragment, loaded.log, load))
        put_aside(loaded, fragment, self.quarantine, self.prefix)
        return loaded


def write_sql(
    dataset: Dataset, table: str, uri: str, mode: str, keys: Names, quarantine: str | Path | None, run_id: str | None
) -> WriteResult:
    """Write a dataset to a table; see `Dataset.write_sql`."""
    run, names = new_run_id(), column_names(keys, "keys")
    target = SqlTable(find_database(uri), TableName.parse(table), dataset.schema, mode, names, run, run_id)
    placement = Placement(mode=mode, keys=names, run_id=run_id)
    aside = None if quarantine is None else SetAside(read_location(quarantine, "quarantine"), run, placement)
    _check_writer(dataset, target)
    refuse_inputs(dataset, [] if aside is None else [aside.target])
    total, reports = Loaded(), {}
    with target.staged() as is_new, aside or nullcontext():
        if is_new:
            total = _load_all(dataset, target, aside)
            reports = conclude(dataset, total.log)
            if aside is not None:
                aside.publish(total.quarantine, total.log)
            target.commit(total.attempts, total.log.kept)
            if aside is not None:
                aside.settle()
    log, where = total.log, None if aside is None or aside.location is None else redact(aside.location)
    place = f"{target.database.shown} {table}"
    account = (log.kept, log.read, log.dropped, log.quarantined, where, run_id or run, log.nulled)
    return WriteResult(place, *account, reports=reports)


def _check_writer(dataset: Dataset, target: SqlTable) -> None:
    if target.database.one_writer and not dataset.engine.in_process:
        raise ConfigError(
            f"one process at a time writes a file of {target.database.title}, and {dataset.engine.name} has several",
            hint="Write Parquet, and load that; or write with the local engine.",
            path=target.database.shown,
        )


def _load_all(dataset: Dataset, target: SqlTable, aside: SetAside | None) -> Loaded:
    total = Loaded()
    task = LoadTask(dataset.scan(), target.loader, None if aside is None else aside.parts, f"part-{target.run_id}")
    for part in map_all(dataset.engine, task, dataset.fragments, label="load"):
        total.attempts += part.attempts
        total.add(part)
    check_rows(total.log)
    if aside is None and total.log.quarantined:
        logger.warning("rows are set aside and not kept, since no quarantine is named: %s", total.log.quarantined)
    return total
