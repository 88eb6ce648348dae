"""Stages of a refit that go on from what they have learned: trainers that start warm, and those that append."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from penstock.core.errors import ConfigError
from penstock.core.schemas import shorten
from penstock.pipeline.plan import Plan
from penstock.pipeline.refitting.dependencies import can_start_warm, learned_from, trainers_of
from penstock.stages.base import Fitted, Stage
from penstock.stages.capabilities import AppendOnly
from penstock.stages.names import stage_names
from penstock.stages.step import capability
from penstock.stages.trainer import Trainer
from penstock.stages.vectors import over


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
