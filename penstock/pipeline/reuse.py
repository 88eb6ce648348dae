"""Columns that a fit reads in more than one pass, held from one to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from penstock.dataset.persisted.persisting import held_as_stored
from penstock.dataset.steps import prune
from penstock.dataset.tasks import SummariseTask
from penstock.frames import ROW
from penstock.io.persisted import Persistence
from penstock.io.sources.base import storage_of

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.pipeline.plan import Level, Plan


def columns_read_again(plan: Plan, dataset: Dataset) -> frozenset[str]:
    """Return the columns that more than one scan or training of a fit reads of files, where holding them is of use."""
    if not _pays(dataset):
        return frozenset()
    times = Counter(name for level in plan.levels for columns in _reads(level, plan, dataset) for name in columns)
    return frozenset(name for name, count in times.items() if count > 1 and name != ROW)


def _pays(dataset: Dataset) -> bool:
    """Return whether rows are read of files, are not held yet, and come back to the worker that holds them."""
    reader = dataset.reader
    return reader.persistence is None and dataset.engine.returns_to_worker and storage_of(reader.source) is not None


def _reads(level: Level, plan: Plan, dataset: Dataset) -> Iterator[frozenset[str]]:
    """Yield the columns that each pass of a level reads."""
    steps = (*dataset.steps, *(plan.step(position) for position in range(len(plan.stages))))
    if level.scan is not None:
        probes = tuple(level.scan.probes(len(dataset.steps)))
        yield frozenset(SummariseTask(dataset.reader, steps, probes).plan()[1])
    for position in level.trains:
        trainer = plan.trainer(position)
        assert trainer is not None
        yield prune(steps[: len(dataset.steps) + position], trainer.training_columns())[1]


def held_between_passes(plan: Plan, dataset: Dataset) -> AbstractContextManager[Dataset]:
    """Give the dataset of a fit, whose columns that are read again are held meanwhile, as there is room."""
    passes = sum((level.scan is not None) + len(level.trains) for level in plan.levels)
    columns = columns_read_again(plan, dataset) if passes > 1 else ()
    return held_meanwhile(dataset, columns) if columns else nullcontext(dataset)


@contextmanager
def held_meanwhile(dataset: Dataset, columns: frozenset[str] | None = None) -> Iterator[Dataset]:
    """Give a dataset of which `columns`, or all, are held once they are read, as there is room, where that pays."""
    if not _pays(dataset):
        yield dataset
        return
    engine = dataset.engine
    persistence = Persistence(engine.new_persistence(), most=engine.task_memory, columns=columns)
    try:
        yield held_as_stored(dataset, persistence)
    finally:
        persistence.released = True
        engine.unpersist(persistence.name)
