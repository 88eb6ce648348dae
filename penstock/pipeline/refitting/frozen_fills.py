"""Statistics that were kept without what a stage fills in, once that stage is frozen and fills in the same for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from penstock.pipeline.fills import Fill, copies
from penstock.pipeline.fusion import StatisticRequest
from penstock.pipeline.plan import Plan, plan
from penstock.pipeline.refitting.kept_statistics import KeptState, KeptStatistics, identity
from penstock.statistics.counts import Count
from penstock.statistics.unfilled import Unfilled

if TYPE_CHECKING:
    from penstock.pipeline.model import PipelineModel


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
