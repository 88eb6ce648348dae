"""Models that are fitted to more rows, or merged, from the statistics that they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, cast

from penstock.artefact.digest import digest_of
from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.names import column_names
from penstock.dataset.cast_as_fitted import cast_as_fitted
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.steps import prune
from penstock.engines.local.engine import LocalEngine
from penstock.pipeline.cardinality import CountOptions
from penstock.pipeline.explain import trained_on, unfitted_steps
from penstock.pipeline.fills import Fill, copies
from penstock.pipeline.fit import Fit
from penstock.pipeline.fusion import StatisticRequest
from penstock.pipeline.plan import Plan, plan
from penstock.pipeline.refitting.kept_statistics import (
    KeptState,
    KeptStatistics,
    StatisticsKeeper,
    identity,
    merge_kept,
    notes_of,
)
from penstock.pipeline.refitting.learners import (
    appends,
    check_refittable,
    check_warm_start,
    learned_from,
    warm_trainers,
)
from penstock.spmd import SpmdOptions
from penstock.stages.vectors import over
from penstock.statistics.counts import Count
from penstock.statistics.unfilled import Unfilled

if TYPE_CHECKING:
    from penstock.pipeline.model import PipelineModel


def refit(
    model: PipelineModel,
    dataset: Dataset,
    freeze: str | Sequence[str] = (),
    *,
    fresh: bool,
    warm_start: bool | str | Sequence[str] = False,
    validation: Dataset | None = None,
    options: SpmdOptions | None = None,
    counting: CountOptions | None = None,
) -> PipelineModel:
    """Return the model of the rows before and of these; see `PipelineModel.refit`."""
    check_dataset(dataset, "refit")
    frozen = _positions(model, freeze, "freeze of refit")
    asked = warm_start if isinstance(warm_start, bool) else _positions(model, warm_start, "warm_start of refit")
    fitted = {position: (model.stages[position], model.fitted[position]) for position in frozen}
    known = plan(model.stages, model.schema, fitted, names=model.given_names)
    warm = warm_trainers(known, asked, frozen)
    check_warm_start(known, warm, frozen, fresh=fresh)
    before = {} if fresh else _before(model, known, frozen, warm)
    dataset = cast_as_fitted(dataset, _read_by(known, frozen), model.schema)
    if validation is not None:
        check_dataset(validation, "validation")
        validation = cast_as_fitted(validation, trained_on(known), model.schema)
    planned = plan(model.stages, dataset.schema, fitted, names=model.given_names)
    keeper = StatisticsKeeper(before)
    learned = {position: model.fitted[position] for position in frozen}
    fit = Fit(
        planned,
        dataset,
        validation,
        options or SpmdOptions(),
        counting or CountOptions(),
        keeper=keeper,
        learned=learned,
        before={position: model.fitted[position] for position in {*warm, *_appending(known, frozen, fresh=fresh)}},
    )
    new = fit.run()
    # Of a trainer that started warm these are of the new rows alone.
    kept = {key: state for key, state in keeper.kept.items() if key[0] not in warm}
    fit.report.notes += notes_of(kept)
    return replace(model, stages=fit.plan.stages, fitted=new, report=fit.report, statistics=kept)


def _appending(known: Plan, frozen: Sequence[int], *, fresh: bool) -> list[int]:
    """Return the positions of the stages that add to what they have learned; nothing is there to add to if `fresh`."""
    stages = () if fresh else known.stages
    return [position for position, stage in enumerate(stages) if position not in frozen and appends(stage)]


def _before(model: PipelineModel, known: Plan, frozen: Sequence[int], warm: Sequence[int]) -> KeptStatistics:
    """Return the statistics of the rows before; ConfigError unless all that is learned anew can be read off them."""
    check_refittable(known, frozen, warm)
    if learned_from(known, frozen).keys() <= set(warm):
        return {}
    before = _kept(model)
    _check_kept(known, [*frozen, *warm], before)
    before = with_frozen_fills(model, known, before)
    return {key: state for key, state in before.items() if key[0] not in warm}


def _kept(model: PipelineModel) -> KeptStatistics:
    if model.statistics is None:
        raise ConfigError(
            "the model keeps no statistics, so that it cannot learn on",
            hint="Fit it with pipeline.fit(dataset, keep_statistics=True); what is saved keeps them too.",
        )
    return model.statistics


def _positions(model: PipelineModel, given: str | Sequence[str], what: str) -> list[int]:
    """Return the positions of the stages of these names; ConfigError for one that is not there."""
    names = column_names(given, what)
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
    if len(others) > 1 and any(map(appends, first.stages)):
        # What the second adds comes before what the third does.
        return reduce(lambda one, other: merge([one, other], counting), models)
    for other in others:
        _check_alike(first, other)
    learned = {position for position, _ in _kept(first)}
    frozen = [position for position in range(len(first.stages)) if position not in learned]
    _check_frozen(models, frozen)
    fitted = {position: (first.stages[position], first.fitted[position]) for position in frozen}
    known = plan(first.stages, first.schema, fitted, names=first.given_names)
    statistics = {(request.stage, request.name): request.statistic for request in known.requests}
    whole = replace(first, statistics=merge_kept(statistics, [_kept(model) for model in models]))
    nothing = LocalEngine(device="cpu").from_arrow(first.schema.empty_table())
    return refit(whole, nothing, [first.names[position] for position in frozen], fresh=False, counting=counting)


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


def with_frozen_fills(model: PipelineModel, known: Plan, before: KeptStatistics) -> KeptStatistics:
    """Return what a model keeps as a plan asks for it in which stages are frozen that fill nulls."""
    unfrozen = plan(model.stages, model.schema, names=model.given_names)
    asked = {(request.stage, request.name): request for request in known.requests}
    kept = dict(before)
    for request in unfrozen.requests:
        key = request.stage, request.name
        now, state = asked.get(key), before.get(key)
        if now is None or state is None or state.statistic != identity(request.statistic):
            continue
        frozen = [(name, fill) for name, fill in request.fills if (name, fill) not in now.fills]
        if frozen:
            kept[key] = KeptState(identity(now.statistic), _filled(model, unfrozen, request, frozen, before))
    return kept


def _filled(
    model: PipelineModel,
    unfrozen: Plan,
    request: StatisticRequest,
    frozen: list[tuple[str, Fill]],
    before: KeptStatistics,
) -> object:
    """Return the state of a statistic with what frozen stages fill in."""
    counts = {
        fill.nulls: {name: Count(**count) for name, count in before[request.stage, fill.nulls].state.items()}
        for _, fill in frozen
    }
    values = {name: fill.value(unfrozen.stages, unfrozen.schemas, model.fitted) for name, fill in frozen}
    state = before[request.stage, request.name].state
    return cast(Unfilled, request.statistic).fill(state, copies(frozen, counts, values))
