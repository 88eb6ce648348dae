"""Trainings that many lanes wait for: equal ones run once, small ones side by side, and the same rows are shared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import pyarrow as pa

from penstock.core.errors import PenstockError
from penstock.core.scheduler import Scheduler, map_all
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import prune
from penstock.io.fragments import row_bytes
from penstock.pipeline.plan import Plan
from penstock.pipeline.training import JointBody, TrainerBody, Training
from penstock.search.lanes import Lane
from penstock.spmd import Assignment, PreparedInputs, SpmdOptions, train_in_process

_SHARE = 4
"""Trainings run side by side where the rows of each take no more than this part of a task's memory, read and made."""


@dataclass
class _Work:
    """A training, and the lanes that wait for what it learns."""

    training: Training
    lanes: list[Lane] = field(default_factory=list)

    def end(self, learned: Any, seconds: float) -> None:
        """Give the lanes what was learned, or the error."""
        for place, lane in enumerate(self.lanes):
            lane.train_seconds += 0.0 if place else seconds
            if isinstance(learned, PenstockError):
                lane.fail(lane.fit.blamed(learned, self.training.position))
            else:
                lane.answer(learned)


Group = list[_Work]
"""Trainings on the same rows."""
Run = Callable[[TrainerBody | JointBody], Any]
"""Trains, and returns what was learned."""


def train_lanes(lanes: Sequence[Lane], parallelism: int | None = None) -> None:
    """Train what lanes wait for, and go on with them.

    Parameters
    ----------
    parallelism : int, optional
        How many trainings run at the same time, each as one rank on a worker; 1 for one after the other, over all
        ranks. Unless given, as many as an engine runs at once, where the rows of each fit there; on an engine without
        workers one after the other, on all cores.
    """
    groups = _groups(lanes)
    engine = lanes[0].fit.dataset.engine
    most = _parallelism(groups, engine) if parallelism is None else parallelism
    for works, learned, seconds in _one_by_one(groups, engine) if most == 1 else _side_by_side(groups, engine, most):
        works.end(learned, seconds)


def _groups(lanes: Sequence[Lane]) -> list[Group]:
    """Return the trainings, those on the same rows together, and of equal ones one."""
    groups: dict[Any, Group] = {}
    for lane in lanes:
        training = cast(Training, lane.work)
        group = groups.setdefault(_rows(training), [])
        work = next((work for work in group if _equal(work.training, training)), None)
        if work is None:
            work = _Work(training)
            group.append(work)
        work.lanes.append(lane)
    return list(groups.values())


def _rows(training: Training) -> Any:
    """Return what tells the rows of a training from others: the steps that make its columns."""
    columns = training.body.stage.training_columns()
    steps = {name: prune(dataset.steps, columns)[0] for name, dataset in training.datasets.items()}
    return tuple((name, tuple(map(id, of_one))) for name, of_one in steps.items())


def _equal(one: Training, other: Training) -> bool:
    """Return whether two trainings on the same rows learn the same."""
    return one.body.learned is other.body.learned and one.body.stage == other.body.stage


def _parallelism(groups: Sequence[Group], engine: Scheduler) -> int:
    """Return how many trainings to run at the same time."""
    if any(work.training.options.world_size not in (None, 1) for group in groups for work in group):
        return 1
    return engine.slots if all(_is_small(work.training, engine) for group in groups for work in group) else 1


def _is_small(training: Training, engine: Scheduler) -> bool:
    columns, datasets = training.body.stage.training_columns(), training.datasets.values()
    return is_small(sum(training_bytes(dataset.schema, dataset, columns) for dataset in datasets), engine)


def are_alone(plan: Plan, dataset: Dataset, options: SpmdOptions, parallelism: int | None) -> bool:
    """Return whether the trainings of a plan run side by side, each as the only rank, see `train_lanes`."""
    if parallelism is not None:
        return parallelism > 1
    engine, trainers = dataset.engine, plan.trainers.items()
    sizes = [training_bytes(plan.schemas[at], dataset, each.training_columns()) for at, each in trainers]
    return options.world_size in (None, 1) and engine.slots > 1 and all(is_small(size, engine) for size in sizes)


def is_small(size: int, engine: Scheduler) -> bool:
    """Return whether a training on so many bytes can run beside others, as a task of a worker."""
    return not engine.in_process and engine.kind == "cpu" and size * _SHARE <= engine.task_memory


def training_bytes(schema: pa.Schema, dataset: Dataset, columns: Sequence[str]) -> int:
    """Return what columns of `schema` take in memory for the rows of a dataset, about."""
    width = row_bytes(pa.schema([schema.field(name) for name in columns]))
    return width * sum(fragment.rows for fragment in dataset.fragments)


def _one_by_one(groups: Sequence[Group], engine: Scheduler) -> Iterator[tuple[_Work, Any, float]]:
    """Yield each training with what it learned and its seconds; each has all ranks."""
    for group in groups:
        inputs = PreparedInputs()
        for bundle in _bundles(group):
            training = bundle[0].training
            bodies = [replace(work.training.body, inputs=inputs) for work in bundle]
            results = _train_each(bodies, partial(training.run, engine=engine))
            for work, (learned, seconds) in zip(bundle, results, strict=True):
                yield work, learned, seconds


def _bundles(group: Group) -> list[Group]:
    """Return the trainings that gain by running as one together, the others by themselves; a checkpoint is of one."""
    bundles: dict[Any, Group] = {}
    for work in group:
        kind, kept = type(work.training.body.stage), work.training.options.checkpoint_dir is not None
        bundles.setdefault(kind if kind.gains_together() and not kept else id(work), []).append(work)
    return list(bundles.values())


def _train_each(bodies: Sequence[TrainerBody], run: Run) -> list[tuple[Any, float]]:
    """Return the result or the error of each training, and its seconds."""
    if len(bodies) == 1:
        return [_timed(run, bodies[0])]
    learned, seconds = _timed(run, JointBody(tuple(bodies), bodies[0].inputs))
    if isinstance(learned, PenstockError):  # of which of them, shows when each runs by itself
        return [_timed(run, body) for body in bodies]
    return [(each, seconds / len(bodies)) for each in learned]


def _timed(run: Run, body: TrainerBody | JointBody) -> tuple[Any, float]:
    began = time.perf_counter()
    try:
        learned = run(body)
    except PenstockError as error:
        learned = error
    return learned, time.perf_counter() - began


def _side_by_side(groups: Sequence[Group], engine: Scheduler, most: int) -> Iterator[tuple[_Work, Any, float]]:
    """Yield each training with what it learned and its seconds; each is one rank on a worker."""
    parts = [part for group in groups for part in _parts(group, -(-most // len(groups)))]
    bundles = [_bundles(part) for part in parts]
    task = partial(_train_places, tuple(tuple(_alone(bundle, engine) for bundle in of_part) for of_part in bundles))
    count = len(parts) if most >= engine.slots else min(most, len(parts))
    items = [tuple(range(first, len(parts), count)) for first in range(count)]
    for item, results in zip(items, map_all(engine, task, items, label="train"), strict=True):
        works = [work for place in item for bundle in bundles[place] for work in bundle]
        for work, (learned, seconds) in zip(works, results, strict=True):
            yield work, learned, seconds


def _parts(group: Group, number: int) -> list[Group]:
    """Cut the trainings on the same rows into at most `number` parts, each of which reads the rows once."""
    number = min(number, len(group))
    return [group[place::number] for place in range(number)]


def _alone(bundle: Group, engine: Scheduler) -> _Task:
    """Return trainings as they travel to the worker that runs them on one rank."""
    training, bodies = bundle[0].training, tuple(work.training.body for work in bundle)
    return Assignment.of(bodies[0], training.datasets, 1, engine.kind, threads=1), bodies, training.label


_Task = tuple[Assignment, tuple[TrainerBody, ...], str]
"""Rows, the trainings on them that run together, and what errors call them."""


def _train_places(trainings: tuple[tuple[_Task, ...], ...], places: tuple[int, ...]) -> list[tuple[Any, float]]:
    """Return for each training what it learned, or why it did not, and its seconds.

    They run one after the other, in the process of a worker. By place there are trainings on the same rows.
    """
    results = []
    for place in places:
        inputs = PreparedInputs()
        for assignment, bodies, label in trainings[place]:
            shared = [replace(body, inputs=inputs) for body in bodies]
            results += _train_each(shared, partial(_train_here, assignment, label))
    return results


def _train_here(assignment: Assignment, label: str, body: TrainerBody | JointBody) -> Any:
    return train_in_process(replace(assignment, body=body), label)
