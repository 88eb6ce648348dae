"""Stages of a refit: dependence on the states of others, trainers with a warm start, and appending.

What a stage learns anew changes rows that are gone, and so what others have learned from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from penstock.core.errors import ConfigError
from penstock.core.schemas import shorten
from penstock.frames import ROW
from penstock.pipeline.plan import Plan
from penstock.stages.base import Fitted, Stage
from penstock.stages.capabilities import AppendOnly, TrainingTransformer, WarmStart
from penstock.stages.names import stage_names
from penstock.stages.step import capability
from penstock.stages.trainer import Trainer
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


def warm_trainers(plan: Plan, asked: bool | Sequence[int], frozen: Collection[int]) -> list[int]:
    """Return the positions of the trainers that start warm: those asked for, or all that can and are not frozen.

    Raises
    ------
    ConfigError
        A stage that is asked for is none that can, or is frozen.
    """
    able = [position for position in trainers_of(plan) if can_start_warm(plan, position)]
    if isinstance(asked, bool):
        return [position for position in able if asked and position not in frozen]
    names = stage_names(plan.stages, plan.names)
    for position in asked:
        if position in frozen:
            problem = f"{names[position]!r} is in freeze and in warm_start"
            raise ConfigError(problem, hint="What is frozen is not trained: name it in one.", stage=names[position])
        if position not in able:
            known = ", ".join(names[each] for each in able) or "none"
            raise ConfigError(
                f"{plan.step(position).label} cannot start warm, expected some of: {known}",
                hint="Freeze it, or train it anew with fresh=True.",
                stage=names[position],
            )
    return list(asked)


def check_warm_start(plan: Plan, warm: Collection[int], frozen: Collection[int], *, fresh: bool) -> None:
    """Raise ConfigError where a trainer would go on from features that mean something else now.

    What it has learned is said in values that the stages before made: of a column that is scaled otherwise, or of codes
    in another order, it says nothing. Codes that are only added to keep their meaning.
    """
    names, sources = stage_names(plan.stages, plan.names), learned_from(plan, frozen)
    changed = {
        position: [each for each in sorted(sources[position]) if fresh or not appends(plan.stages[each])]
        for position in warm
    }
    problems = [
        f"{plan.step(position).label}, whose features come from {', '.join(plan.step(each).label for each in changing)}"
        for position, changing in changed.items()
        if changing
    ]
    if problems:
        freeze = sorted({names[each] for changing in changed.values() for each in changing})
        raise ConfigError(
            f"a warm start goes on from features as they were; they are learned anew for {shorten(problems)}",
            hint=f"Keep them as they are, refit(..., freeze={freeze!r}), or fit on all rows.",
        )


def appends(stage: Stage) -> bool:
    """Return whether a refit of a stage adds to what it has learned, and changes nothing of it."""
    appender = capability(stage, AppendOnly)
    return appender is not None and appender.appends


def learn_on(stage: Stage, results: Mapping[str, Any], before: Fitted) -> Fitted:
    """Return what a stage learns that goes on from what it has learned before; of a trainer, what it is trained with.

    Parameters
    ----------
    results : mapping
        Its statistics: of all rows where it appends, and where it starts warm, of the new ones.
    """
    if appends(stage):
        return cast(AppendOnly, stage).extend(before, results)
    trainer = cast(Trainer, stage).without_start()
    return over.start_from(trainer, over.finish(trainer, trainer.target.known(results, before)), before)
