"""A plan in words: scans, columns read, statistics gathered, and where each runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.schemas import shorten
from penstock.stages.base import Trainer
from penstock.stages.step import StageStep
from penstock.steps import prune
from penstock.tasks import Summarise

if TYPE_CHECKING:
    from penstock.dataset import Dataset
    from penstock.planner import Level, Plan


def explain(plan: Plan, dataset: Dataset) -> str:
    """Return what fitting will do; nothing is read for it."""
    rows = sum(fragment.rows for fragment in dataset.fragments)
    lines = [
        f"Fit on {dataset.engine.name}, {dataset.engine.kind}: {len(dataset.fragments)} fragment(s) of"
        f" {rows:,} rows, {plan.scans} scan(s)"
    ]
    scan = 0
    for level in plan.levels:
        if level.scan is not None:
            scan += 1
            lines += _scan_lines(scan, level, plan, dataset)
            lines += _choice_lines(level, plan)
        lines += [line for position in level.trains for line in _train_lines(position, plan, dataset)]
    return "\n".join(lines)


def unfitted_steps(plan: Plan) -> tuple[StageStep, ...]:
    """Return the stages as steps that can be planned with, though not yet applied."""
    return tuple(StageStep(stage, None, position, training=True) for position, stage in enumerate(plan.stages))


def _scan_lines(number: int, level: Level, plan: Plan, dataset: Dataset) -> list[str]:
    assert level.scan is not None
    probes = level.scan.probes()
    placed = tuple(probe.after(len(dataset.steps)) for probe in probes)
    work = Summarise(dataset.reader, (*dataset.steps, *unfitted_steps(plan)), placed)
    positions, columns = work.plan()
    lines = [f"scan {number}: reads {len(columns)} column(s): {shorten(columns, 12)}"]
    applied = [work.steps[place].label for place in positions]
    if applied:
        lines.append(f"  applies {', '.join(applied)}")
    for probe in probes:
        for statistic in probe.statistics:
            users = dict.fromkeys(plan.stages[stage].title for stage in level.scan.users(probe, statistic))
            lines.append(
                f"  gathers {type(statistic).__name__} of {shorten(statistic.columns, 6)} for {', '.join(users)};"
                f" {len(dataset.fragments)} partial(s), merged by {dataset.engine.name}"
            )
    return lines


def _choice_lines(level: Level, plan: Plan) -> list[str]:
    stages = [plan.stages[position] for position in level.finishes]
    choices = [(stage.title, stage.doubtful()) for stage in stages if stage.doubtful()]
    return [
        f"  decides, by {title}, which of {len(columns)} column(s) stay: {shorten(columns, 12)};"
        " stages after it take those"
        for title, columns in choices
    ]


def _train_lines(position: int, plan: Plan, dataset: Dataset) -> list[str]:
    stage = plan.stages[position]
    assert isinstance(stage, Trainer)
    steps = (*dataset.steps, *unfitted_steps(plan)[:position])
    _, columns = prune(steps, stage.training_columns())
    ranks = 1 if stage.tags.single_rank else dataset.engine.slots
    return [
        f"train {stage.title}: {ranks} rank(s) at once, each reads its share of"
        f" {len(columns)} column(s): {shorten(sorted(columns), 12)}"
    ]
