"""Trials: a stage fitted and used on an engine, once for all the checks that look at the result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa

from penstock.core.scheduler import Scheduler
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.local.engine import LocalEngine
from penstock.frames import Kind
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.stages.base import Stage
from penstock.testing import tables
from penstock.testing.cases import CASES, table
from penstock.testing.compare import demand
from penstock.testing.datasets import count_reads, cut, shuffled, uneven

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class FitOutcome:
    """What came of a fit: a model, or the error in its place; the scans it asked for, and how often it read rows."""

    scans: int
    reads: int
    model: PipelineModel | None = None
    error: Exception | None = None

    def fitted(self) -> PipelineModel:
        """Return the model; raise the error in its place."""
        if self.model is None:
            assert self.error is not None
            raise self.error
        return self.model


@dataclass(frozen=True, eq=False)
class StageRun(FitOutcome):
    """What came of a fit and a transform: a model and its output, or the error in their place.

    ``given`` are the rows that were transformed, in the order of the dataset, and ``scans`` the passes that the fit
    made over the data, as the engine counted them. ``reads`` is how often the fit read the rows, in this process.
    """

    given: pa.Table = field(kw_only=True)
    output: pa.Table | None = None

    def fitted(self) -> PipelineModel:
        """Return the model; AssertionError when there is none."""
        if self.model is None:
            raise AssertionError(f"failed with {type(self.error).__name__}: {self.error}") from self.error
        return self.model

    def done(self) -> tuple[PipelineModel, pa.Table]:
        """Return model and output; AssertionError when there was an error."""
        if self.output is None:
            raise AssertionError(f"failed with {type(self.error).__name__}: {self.error}") from self.error
        return self.fitted(), self.output


def by_id(table: pa.Table) -> pa.Table:
    """Return the rows in the order of their ids."""
    return table.sort_by("id")


@contextmanager
def counted(engine: Scheduler) -> Iterator[list[str]]:
    """Give a list to which `engine` adds its label whenever it is asked to go over items, in whatever way."""
    labels, under_way = list[str](), list[str]()

    def spied(way: Callable[..., Any]) -> Callable[..., Any]:
        def spy(*arguments: Any, label: str = "", **options: Any) -> Any:
            if not under_way:  # a reduction may map by itself
                labels.append(label)
            under_way.append(label)
            try:
                return way(*arguments, label=label, **options)
            finally:
                under_way.pop()

        return spy

    ways = ("map", "reduce", "reduce_partitioned")
    vars(engine).update({name: spied(getattr(engine, name)) for name in ways})
    try:
        yield labels
    finally:
        for name in ways:
            del vars(engine)[name]


def fit(stage: Stage, learned: Dataset) -> FitOutcome:
    """Fit `stage` alone; whatever it raises is kept for a check to judge."""
    model, failure = None, None
    learned, source = count_reads(learned)
    with counted(learned.engine) as scans:
        try:
            model = Pipeline(stage).fit(learned)
        except Exception as error:
            failure = error
    return FitOutcome(len(scans), source.times, model, failure)


def use(fit: FitOutcome, given: Dataset) -> StageRun:
    """Transform with the model of a fit, if there is one."""
    rows = pa.concat_tables(piece.table for fragment in given.fragments for piece in fragment.pieces)
    run = StageRun(fit.scans, fit.reads, fit.model, fit.error, given=rows)
    if fit.model is None:
        return run
    try:
        return replace(run, output=fit.model.transform(given).to_arrow())
    except Exception as error:
        return replace(run, error=error)


def attempt(stage: Stage, dataset: Dataset) -> StageRun:
    """Fit `stage` alone to a dataset and transform it."""
    return use(fit(stage, dataset), dataset)


def scattered(stage: Stage, engine: Engine, name: str) -> StageRun:
    """Return the trial of a case with its rows shuffled into uneven fragments; made once for an engine."""
    return _trial(stage, engine, name, _scatter)


def whole(stage: Stage, engine: Engine, name: str) -> StageRun:
    """Return the trial of a case with its rows in order, in one fragment; made once for an engine."""
    return _trial(stage, engine, name, _gather)


def retyped(stage: Stage, engine: Engine, kind: pa.DataType) -> FitOutcome:
    """Return the fit to the ordinary table with its numbers in another type; made once for an engine."""
    return _once(
        engine, ("retyped", type(stage), repr(stage), kind), lambda: fit(stage, cut(engine, tables.retyped(kind)))
    )


def _scatter(engine: Engine, name: str, few: bool) -> Dataset:
    rows = table(name)
    sizes = uneven(rows.num_rows, few=few)
    return _once(engine, ("scattered", name, few), lambda: cut(engine, shuffled(rows), sizes))


def _gather(engine: Engine, name: str, few: bool) -> Dataset:
    return _once(engine, ("whole", name), lambda: cut(engine, table(name)))


_Layout = Callable[[Engine, str, bool], Dataset]
_DEEP = ("ordinary", "offset")
"""Tables whose partial results are merged in two levels: one for all stages, and the one that is hard on sums."""
_LARGE = 2**20
"""Bytes of a table whose trials are not kept: those of all stages would fill the memory."""
_made: WeakKeyDictionary[Engine, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()


def _trial(stage: Stage, engine: Engine, name: str, layout: _Layout) -> StageRun:
    case = CASES[name]

    def learn() -> FitOutcome:
        return fit(stage, layout(engine, case.learned, case.learned not in _DEEP))

    def apply(learned: FitOutcome) -> StageRun:
        return use(learned, layout(engine, case.given, True))  # rows are not merged

    if max(table(case.learned).nbytes, table(case.given).nbytes) > _LARGE:
        return apply(learn())
    key = (type(stage), repr(stage), layout, case.learned)
    model = _once(engine, ("fit", *key), learn)
    return _once(engine, (*key, case.given), lambda: apply(model))


def _once(engine: Engine, key: tuple[Any, ...], make: Callable[[], Made]) -> Made:
    held = _made.setdefault(engine, {})
    if key not in held:
        held[key] = make()
    return held[key]


@functools.cache
def home(kind: Kind) -> LocalEngine:
    """Return the engine of this process, the yardstick for all others on the same device."""
    return LocalEngine(device=kind)


def demand_same_failure(found: StageRun, expected: StageRun) -> None:
    """Raise AssertionError unless both trials worked, or both failed in the same way."""
    names = [type(trial.error).__name__ if trial.error else "no error" for trial in (found, expected)]
    demand(names[0] == names[1], f"{names[0]} ({found.error}), expected {names[1]} ({expected.error})")
