"""A plan in words: scans, columns read, statistics gathered, and where each runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from penstock.core.explanation import Explanation
from penstock.core.redaction import presentable
from penstock.core.schemas import shorten
from penstock.core.sizes import show_bytes
from penstock.dataset.steps import prune
from penstock.dataset.tasks import SummariseTask
from penstock.pipeline.cardinality import CountOptions, plan_counts
from penstock.pipeline.fusion import Pass
from penstock.pipeline.reuse import columns_read_again
from penstock.stages.step import StageStep
from penstock.stages.trainer import Trainer, as_trainer
from penstock.stages.vectors import over
from penstock.statistics.base import Statistic
from penstock.statistics.distinct.partitionable import partitionable_among

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.pipeline.plan import Level, Plan


def explain(plan: Plan, dataset: Dataset, counting: CountOptions) -> Explanation:
    """Return what fitting will do; nothing is read for it but a sample, where `plan_counts` needs one."""
    rows = sum(fragment.rows for fragment in dataset.fragments)
    lines = [
        f"Fit on {dataset.engine.name}, {dataset.engine.kind}: {len(dataset.fragments)} fragment(s) of"
        f" {rows:,} rows, {plan.scans} scan(s)"
    ]
    lines += _held_lines(plan, dataset)
    scan = 0
    for level in plan.levels:
        if level.scan is not None:
            scan += 1
            lines += _scan_lines(scan, level.scan, plan, dataset)
            lines += _count_lines(scan, level.scan, plan, dataset, counting)
            lines += _choice_lines(level, plan)
        lines += [line for position in level.trains for line in _train_lines(position, plan, dataset)]
    lines += _hash_lines(plan)
    return Explanation("\n".join(map(presentable, lines)))


def _held_lines(plan: Plan, dataset: Dataset) -> list[str]:
    """Return which rows are held once they are read, and how much of them is held now."""
    persistence = dataset.reader.persistence
    if persistence is None:
        again = sorted(columns_read_again(plan, dataset))
        return (
            [f"holds {len(again)} column(s) from pass to pass, as there is room: {shorten(again, 12)}"] if again else []
        )
    usage = None if persistence.released else dataset.engine.usage(persistence.name)
    now = "" if usage is None else (
        f"; now {usage.columns} column(s) of fragments, {show_bytes(usage.memory)} of memory,"
        f" {show_bytes(usage.disk)} of disk"
    )  # fmt: skip
    return [f"rows are persisted, by each process {persistence}{now}"]


def unfitted_steps(plan: Plan) -> tuple[StageStep, ...]:
    """Return the stages as steps that can be planned with, though not yet applied."""
    return tuple(plan.step(position) for position in range(len(plan.stages)))


def trained_on(plan: Plan) -> list[str]:
    """Return the columns of the data that the trainers of a plan read."""
    needs: set[str] = set()
    for position in range(len(plan.stages)):
        trainer = plan.trainer(position)
        if trainer is not None:
            needs |= prune(unfitted_steps(plan)[:position], trainer.training_columns())[1]
    return [name for name in plan.schemas[0].names if name in needs]


def _scan_lines(number: int, scan: Pass, plan: Plan, dataset: Dataset) -> list[str]:
    probes = scan.probes(len(dataset.steps))
    work = SummariseTask(dataset.reader, (*dataset.steps, *unfitted_steps(plan)), tuple(probes))
    ahead, columns = work.plan()
    lines = [f"scan {number}: reads {len(columns)} column(s): {shorten(columns, 12)}"]
    applied = [step.label for before in ahead for step in before]
    if applied:
        lines.append(f"  applies {', '.join(applied)}")
    for gather in scan.gathers:
        users = dict.fromkeys(plan.step(stage).label for stage in gather.stages)
        lines.append(
            f"  gathers {_kind(gather.statistic)} of {shorten(gather.statistic.columns, 6)} for"
            f" {', '.join(users)}; {len(dataset.fragments)} partial(s), merged by {dataset.engine.name}"
        )
    return lines


def _kind(statistic: Statistic) -> str:
    """Return what a statistic is called: its class, unless it says itself."""
    own = type(statistic).__str__ is not object.__str__
    return str(statistic) if own else type(statistic).__name__


def _count_lines(number: int, scan: Pass, plan: Plan, dataset: Dataset, counting: CountOptions) -> list[str]:
    """Return how values are counted; in later scans that is decided once the stages before are fitted."""
    probes = scan.probes(len(dataset.steps))
    if number == 1:
        ahead = replace(dataset, steps=(*dataset.steps, *_steps_that_learn_nothing(plan)))
        return [f"  {line}" for line in plan_counts(ahead, probes, counting).lines()]
    statistics = partitionable_among(statistic for probe in probes for statistic in probe.statistics)
    counted = [name for statistic in statistics for name in statistic.footprints()]
    return [f"  counts {shorten(counted, 12)}: in a way that is chosen when the scan begins"] if counted else []


def _steps_that_learn_nothing(plan: Plan) -> tuple[StageStep, ...]:
    """Return the stages as steps, those applied that can be: what a first scan reads depends on no others."""
    return tuple(
        replace(step, fitted=over.finish(step.stage, {}))
        if as_trainer(step.stage, schema) is None and not over.statistics(step.stage, schema)
        else step
        for step, schema in zip(unfitted_steps(plan), plan.schemas, strict=False)
    )


def _hash_lines(plan: Plan) -> list[str]:
    hashed = [(step.label, step.stage.inputs()) for step in unfitted_steps(plan) if step.stage.tags.hashes]
    return [f"hashes {shorten(names, 12)} by {title}: nothing is counted" for title, names in hashed]


def _choice_lines(level: Level, plan: Plan) -> list[str]:
    steps = [plan.step(position) for position in level.finishes]
    choices = [(step.label, step.doubtful) for step in steps if step.doubtful]
    return [
        f"  decides, by {title}, which of {len(columns)} column(s) stay: {shorten(columns, 12)};"
        " stages after it take those"
        for title, columns in choices
    ]


def _train_lines(position: int, plan: Plan, dataset: Dataset) -> list[str]:
    stage = cast(Trainer, plan.stages[position])
    steps = (*dataset.steps, *unfitted_steps(plan)[:position])
    _, columns = prune(steps, stage.training_columns())
    ranks = "on one rank, which reads" if stage.tags.single_rank else "on all ranks at once, each reads its share of"
    return [f"train {plan.step(position).label}: {ranks} {len(columns)} column(s): {shorten(sorted(columns), 12)}"]
