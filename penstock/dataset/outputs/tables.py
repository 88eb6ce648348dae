"""Writing the rows of a dataset into a table that keeps a log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.dataset.dataset import Dataset
from penstock.dataset.gather_step import conclude
from penstock.dataset.outputs.destination import Destination, beside
from penstock.dataset.outputs.parts import write_parts
from penstock.dataset.outputs.set_aside import SetAside
from penstock.dataset.tasks import Written
from penstock.io.formats.table_format import TableFormat
from penstock.io.sinks import new_run_id
from penstock.io.tables.abandoned import at_work, dead_runs, discard_unnamed
from penstock.io.tables.committer import TableCommitter, TableWrite


def write_table(
    dataset: Dataset, format: TableFormat[Any], destination: Destination
) -> tuple[TableCommitter, Written, str | None, dict[str, Any]]:
    """Write a dataset into a table; see `Dataset.write`.

    Return the table, what was written, the quarantine, and what was concluded from statistics gathered in the pass.

    Rows that are set aside are in their place before the table has the others: a process that dies loses none.
    """
    run, placement, dataset = new_run_id(), destination.placement, destination.checked(dataset)
    table = format.committer(_described(dataset, destination, run), destination.options)
    if not table.prepare():
        return table, Written(), None, {}
    where = destination.quarantine or beside(table.path)
    layout = replace(
        replace(placement, partition_by=table.partition_by).layout(table.schema, run), prefix=table.folder.prefix
    )
    stored = table.schema if layout.partitioning is None else layout.partitioning.stored(table.schema)
    with SetAside(where, run, placement, destination.storage_options) as aside, at_work(table.folder):
        try:
            written = write_parts(dataset, table.writer(stored), table.folder.parts, aside.parts, layout)
            reports = conclude(dataset, written.log)
            aside.publish(written.quarantine, written.log)
            dead = dead_runs(table.folder)
        except BaseException:
            table.folder.discard()
            raise
        try:
            table.commit(written.files)
        except BaseException:
            discard_unnamed(table.folder, [run], table.names)  # a commit whose answer was cut off may name some
            raise
        discard_unnamed(table.folder, dead, table.names)
        aside.settle()
    return table, written, aside.location, reports


def check_table(dataset: Dataset, format: TableFormat[Any], destination: Destination) -> None:
    """Raise what `write_table` raises before it reads rows; nothing is written."""
    format.committer(_described(dataset, destination, new_run_id()), destination.options).prepare()


def _described(dataset: Dataset, destination: Destination, run: str) -> TableWrite:
    placement = destination.placement
    return TableWrite(
        target=destination.path,
        schema=dataset.schema,
        mode=placement.mode,
        partition_by=tuple(placement.partition_by),
        keys=tuple(placement.keys),
        run=run,
        run_id=placement.run_id,
        storage_options=destination.storage_options,
    )
