"""Models that are fitted to more rows, or merged, from the statistics that they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from penstock.artefact.digest import digest_of
from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.names import column_names
from penstock.dataset.cast_as_fitted import cast_as_fitted
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.steps import prune
from penstock.engines.local.engine import LocalEngine
from penstock.pipeline.cardinality import CountOptions
from penstock.pipeline.explain import unfitted_steps
from penstock.pipeline.fit import Fit
from penstock.pipeline.plan import Plan, plan
from penstock.pipeline.refitting.dependencies import check_refittable, learned_from
from penstock.pipeline.refitting.kept_statistics import KeptStatistics, StatisticsKeeper, merge_kept
from penstock.spmd import SpmdOptions
from penstock.stages.vectors import over

if TYPE_CHECKING:
    from penstock.pipeline.model import PipelineModel


def refit(
    model: PipelineModel,
    dataset: Dataset,
    freeze: str | Sequence[str] = (),
    *,
    fresh: bool = False,
    options: SpmdOptions | None = None,
    counting: CountOptions | None = None,
) -> PipelineModel:
    """Return the model of the rows before and of these; see `PipelineModel.refit`."""
    check_dataset(dataset, "refit")
    frozen = _positions(model, freeze)
    fitted = {position: (model.stages[position], model.fitted[position]) for position in frozen}
    known = plan(model.stages, model.schema, fitted, names=model.given_names)
    before = {} if fresh else _before(model, known, frozen)
    dataset = cast_as_fitted(dataset, _read_by(known, frozen), model.schema)
    planned = plan(model.stages, dataset.schema, fitted, names=model.given_names)
    keeper = StatisticsKeeper(before)
    learned = {position: model.fitted[position] for position in frozen}
    fit = Fit(
        planned,
        dataset,
        None,
        options or SpmdOptions(),
        counting or CountOptions(),
        keeper=keeper,
        learned=learned,
    )
    new = fit.run()
    return replace(model, stages=fit.plan.stages, fitted=new, report=fit.report, statistics=keeper.kept)


def _before(model: PipelineModel, known: Plan, frozen: Sequence[int]) -> KeptStatistics:
    """Return the statistics of the rows before; ConfigError unless all that is learned anew can be read off them."""
    check_refittable(known, frozen)
    if not learned_from(known, frozen):
        return {}
    before = _kept(model)
    _check_kept(known, frozen, before)
    return before


def _kept(model: PipelineModel) -> KeptStatistics:
    if model.statistics is None:
        raise ConfigError(
            "the model keeps no statistics, so that it cannot learn on",
            hint="Fit it with pipeline.fit(dataset, keep_statistics=True); what is saved keeps them too.",
        )
    return model.statistics


def _positions(model: PipelineModel, freeze: str | Sequence[str]) -> list[int]:
    """Return the positions of the stages of these names; ConfigError for one that is not there."""
    names = column_names(freeze, "freeze of refit")
    for name in names:
        if name not in model.names:
            known = ", ".join(model.names)
            raise ConfigError(f"no stage is called {name!r}.{did_you_mean(name, model.names)} The model has: {known}")
    return [model.names.index(name) for name in names]


def _check_kept(plan: Plan, frozen: Sequence[int], before: KeptStatistics) -> None:
    """Raise ConfigError for a stage whose statistics are not those of all rows before: it was frozen meanwhile."""
    for position, stage in enumerate(plan.stages):
        names = over.statistics(stage, plan.schemas[position]) if position not in frozen else ()
        missing = [name for name in names if (position, name) not in before]
        if missing:
            raise ConfigError(
                f"the model keeps no statistics of {plan.step(position).label}, which was frozen in a refit before",
                hint="Freeze it again, or fit on all rows.",
            )


def _read_by(plan: Plan, frozen: Sequence[int]) -> list[str]:
    """Return the columns of the data that stages which learn anew read."""
    needs: set[str] = set()
    for position in learned_from(plan, frozen):
        statistics, trainer = over.statistics(plan.stages[position], plan.schemas[position]), plan.trainer(position)
        reads = set(chain.from_iterable(each.reads for each in statistics.values()))
        reads |= set(trainer.training_columns()) if trainer is not None else set()
        needs |= prune(unfitted_steps(plan)[:position], tuple(reads))[1]
    return [name for name in plan.schemas[0].names if name in needs]


def merge(models: Sequence[PipelineModel], counting: CountOptions | None = None) -> PipelineModel:
    """Return the model of the rows of all models; see `PipelineModel.merge`."""
    first, *others = models
    for other in others:
        _check_alike(first, other)
    learned = {position for position, _ in _kept(first)}
    frozen = [position for position in range(len(first.stages)) if position not in learned]
    _check_frozen(models, frozen)
    known = plan(first.stages, first.schema, names=first.given_names)
    statistics = {
        (position, name): statistic
        for position, stage in enumerate(known.stages)
        if position not in frozen
        for name, statistic in over.statistics(stage, known.schemas[position]).items()
    }
    whole = replace(first, statistics=merge_kept(statistics, [_kept(model) for model in models]))
    nothing = LocalEngine(device="cpu").from_arrow(first.schema.empty_table())
    return refit(whole, nothing, [first.names[position] for position in frozen], counting=counting)


def _check_alike(one: PipelineModel, other: PipelineModel) -> None:
    """Raise ConfigError for models of other stages or columns."""
    if one.stages != other.stages or one.schema != other.schema:
        raise ConfigError(
            "models are merged that have other stages, parameters or columns",
            hint="Merge models of one pipeline, fitted to data of one schema.",
        )


def _check_frozen(models: Sequence[PipelineModel], frozen: Sequence[int]) -> None:
    """Raise ConfigError where stages without statistics did not learn the same in all models."""
    for position in frozen:
        digests = {digest_of([(each.stages[position], each.fitted[position])]) for each in models}
        if len(digests) > 1:
            name = models[0].names[position]
            raise ConfigError(
                f"the models have learned other things in {name}, of which they keep no statistics",
                hint=f"Refit them from one model, with freeze={name!r}, and merge what comes of that.",
            )
