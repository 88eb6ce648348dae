"""The steps of a dataset done to tables of rows that it does not read: batches of another library's frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from penstock import devices, frames
from penstock.core.errors import BadRowsError, ConfigError
from penstock.core.names import check_names
from penstock.core.scheduler import Scheduler
from penstock.dataset import steps
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import RowLog, Step
from penstock.dataset.task_errors import translate_errors
from penstock.frames import ROW, Kind
from penstock.io.fragments import FRAGMENT_BYTES
from penstock.io.sources.base import Reader
from penstock.io.sources.memory import MemorySource


@dataclass(frozen=True)
class BatchTask:
    """Does steps to a table of rows.

    Parameters
    ----------
    steps : tuple of Step
    columns : tuple of str
        The columns that the steps need.
    schema : pyarrow.Schema
        The columns and types that come out.
    kind : {"cpu", "gpu"}
    """

    steps: tuple[Step, ...]
    columns: tuple[str, ...]
    schema: pa.Schema
    kind: Kind = "cpu"

    @property
    def keeps_rows(self) -> bool:
        """Whether every row that comes in goes out, in order."""
        return all(step.keeps_rows for step in self.steps)

    @translate_errors
    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the rows that come out.

        Raises
        ------
        BadRowsError
            A step sets rows aside: there is no quarantine that they could go to.
        PenstockError
            What a step found wrong.
        """
        devices.use(self.kind)
        log = RowLog()
        with steps.host_types(self.steps, table.schema, self.kind):
            frame = steps.run(self.steps, frames.from_arrow(table.select(list(self.columns)), self.kind), log)
        if log.quarantined:
            reason, count = next(iter(log.quarantined.items()))
            raise BadRowsError(
                f"{count} row(s) of a batch are to be set aside ({reason}), and a frame has no quarantine",
                hint="Make a dataset of the frame, by engine.from_spark or engine.from_dask, and write it.",
            )
        return frames.to_arrow(frame.select(self.schema.names), self.schema)


def batch_task(schema: pa.Schema, transform: Callable[[Dataset], Dataset], engine: Scheduler) -> BatchTask:
    """Return what `transform` makes of a dataset of such columns, as work on batches of them.

    Raises
    ------
    ConfigError
        A step goes by the numbers of rows, which rows of a frame do not have.
    PenstockError
        What `transform` raises: a column is missing, say.
    """
    check_names(schema.names, "the frame")
    source, fragments = MemorySource.plan(schema.empty_table(), FRAGMENT_BYTES)
    dataset = transform(Dataset(engine, Reader(source), fragments))
    wanted = dataset.schema
    subset, needed = steps.prune(dataset.steps, wanted.names)
    numbered = next((step for step in subset if ROW in (step.needs(frozenset(wanted.names)) or ())), None)
    if numbered is not None:
        raise ConfigError(
            f"{numbered.label} goes by the numbers of rows, which the rows of a frame do not have",
            hint="Make a dataset of the frame: engine.from_spark or engine.from_dask.",
            stage=numbered.label,
        )
    columns = tuple(name for name in source.schema.names if name in needed)
    return BatchTask(subset, columns or tuple(source.schema.names[:1]), wanted, engine.kind)
