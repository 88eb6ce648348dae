"""Which stages of a plan learn from what others have learned: what these learn anew changes rows that are gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain

from penstock.core.errors import ConfigError
from penstock.core.schemas import shorten
from penstock.frames import ROW
from penstock.pipeline.plan import Plan
from penstock.stages.capabilities import TrainingTransformer
from penstock.stages.names import stage_names
from penstock.stages.step import capability
from penstock.stages.vectors import over


def check_refittable(plan: Plan, frozen: Collection[int]) -> None:
    """Raise ConfigError unless every stage that is not frozen can learn from the new rows and what it has kept.

    A statistic of what another stage makes is of the values that this one made then: it is exact as long as the other
    stays as it is. Row numbers begin anew in every dataset, and a trainer needs all rows.
    """
    problems = list(_problems(plan, frozen))
    if problems:
        sources = {name for _, names in problems for name in names}
        raise ConfigError(
            f"a refit needs the old rows again for {shorten([problem for problem, _ in problems])}",
            hint=f"Keep what they learn from as it is, refit(..., freeze={sorted(sources)!r}), or fit on all rows.",
        )


def _problems(plan: Plan, frozen: Collection[int]) -> Iterable[tuple[str, tuple[str, ...]]]:
    names = [plan.step(position).label for position in range(len(plan.stages))]
    for position, sources in learned_from(plan, frozen).items():
        if plan.trainer(position) is not None:
            yield f"{names[position]}, which is trained on rows", (_name(plan, position),)
        elif sources:
            told = ", ".join(names[source] for source in sorted(sources))
            yield (
                f"{names[position]}, which learns from what {told} makes",
                tuple(_name(plan, each) for each in sources),
            )
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
    rows: frozenset[int] = frozenset()
    learners: dict[int, frozenset[int]] = {}
    for position, stage in enumerate(plan.stages):
        step = plan.step(position)
        statistics, trainer = over.statistics(stage, plan.schemas[position]), plan.trainer(position)
        reads = set(chain.from_iterable(each.reads for each in statistics.values()))
        reads |= set(trainer.training_columns()) if trainer is not None else set()
        learns = position not in frozen and (bool(statistics) or trainer is not None)
        if learns:
            learners[position] = rows.union(*(columns.get(name, frozenset()) for name in reads))
        made = rows.union(*(columns.get(name, frozenset()) for name in step.inputs), [position] if learns else [])
        for name in (*stage.outputs(), *step.doubtful):
            columns[name] = made
        rows = rows if step.keeps_rows else rows | made
    return learners
