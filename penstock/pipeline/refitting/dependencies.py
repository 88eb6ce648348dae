"""Which stages of a plan learn from what others have learned: what these learn anew changes rows that are gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain

from penstock.core.errors import ConfigError
from penstock.core.schemas import shorten
from penstock.frames import ROW
from penstock.pipeline.plan import Plan
from penstock.stages.capabilities import TrainingTransformer, WarmStart
from penstock.stages.names import stage_names
from penstock.stages.step import capability
from penstock.stages.vectors import over


def check_refittable(plan: Plan, frozen: Collection[int], warm: Collection[int] = ()) -> None:
    """Raise ConfigError unless every stage that is not frozen can learn from the new rows and what it has kept.

    A statistic of what another stage makes is of the values that this one made then: it is exact as long as the other
    stays as it is. Row numbers begin anew in every dataset, and a trainer needs all rows, unless it starts `warm`.
    """
    problems = list(_problems(plan, frozen, warm))
    if problems:
        sources = {name for _, names in problems for name in names}
        able = [_name(plan, each) for each in trainers_of(plan) if each not in frozen and can_start_warm(plan, each)]
        goes_on = f" Trainers can go on from where they were: warm_start={able!r}." if able and not warm else ""
        raise ConfigError(
            f"a refit needs the old rows again for {shorten([problem for problem, _ in problems])}",
            hint=f"Keep what they learn from as it is, refit(..., freeze={sorted(sources)!r}), or fit on all rows."
            + goes_on,
        )


def trainers_of(plan: Plan) -> list[int]:
    """Return the positions of the stages that are trained on rows."""
    return [position for position in range(len(plan.stages)) if plan.trainer(position) is not None]


def can_start_warm(plan: Plan, position: int) -> bool:
    """Return whether the trainer at a position can begin where it was."""
    return capability(plan.stages[position], WarmStart) is not None


def _problems(plan: Plan, frozen: Collection[int], warm: Collection[int]) -> Iterable[tuple[str, tuple[str, ...]]]:
    names = [plan.step(position).label for position in range(len(plan.stages))]
    for position, sources in learned_from(plan, frozen).items():
        if position in warm:
            continue
        if plan.trainer(position) is not None:
            yield f"{names[position]}, which is trained on rows", (_name(plan, position),)
        elif sources:
            told = ", ".join(names[source] for source in sorted(sources))
            kept = {position} if sources & set(warm) else sources  # what starts warm cannot be frozen too
            yield f"{names[position]}, which learns from what {told} makes", tuple(_name(plan, each) for each in kept)
        elif _numbered(plan, position):
            yield f"{names[position]}, which goes by the numbers of rows", (_name(plan, position),)


def _name(plan: Plan, position: int) -> str:
    return stage_names(plan.stages, plan.names)[position]


def _numbered(plan: Plan, position: int) -> bool:
    """Return whether what a stage learns goes by row numbers, and not only what it shows to the rows of its fit."""
    stage, schema = plan.stages[position], plan.schemas[position]
    numbered = any(ROW in statistic.reads for statistic in over.statistics(stage, schema).values())
    return numbered and capability(stage, TrainingTransformer) is None


def learned_from(plan: Plan, frozen: Collection[int]) -> dict[int, frozenset[int]]:
    """Return for each stage that learns anew, by position, the stages whose learned values it learns from."""
    columns: dict[str, frozenset[int]] = {}
    unfilled: dict[tuple[int, str], frozenset[int]] = {}
    rows: frozenset[int] = frozenset()
    learners: dict[int, frozenset[int]] = {}
    fills = {(request.stage, name): fill for request in plan.requests for name, fill in request.fills}
    for position, stage in enumerate(plan.stages):
        step = plan.step(position)
        statistics, trainer = over.statistics(stage, plan.schemas[position]), plan.trainer(position)
        reads = set(chain.from_iterable(each.reads for each in statistics.values()))
        reads |= set(trainer.training_columns()) if trainer is not None else set()
        learns = position not in frozen and (bool(statistics) or trainer is not None)
        if learns:
            learned = {name: columns.get(name, frozenset()) for name in reads}
            waits = trainer is None  # its rows have what is filled in, whatever its statistics can wait for
            filled = {name: fill for name in reads if waits and (fill := fills.get((position, name))) is not None}
            learned |= {name: unfilled[fill.position, fill.source] for name, fill in filled.items()}
            learners[position] = rows.union(*learned.values())
        unfilled |= {(position, name): columns.get(name, frozenset()) for name in step.inputs}
        made = rows.union(*(columns.get(name, frozenset()) for name in step.inputs), [position] if learns else [])
        for name in (*stage.outputs(), *step.doubtful):
            columns[name] = made
        rows = rows if step.keeps_rows else rows | made
    return learners
