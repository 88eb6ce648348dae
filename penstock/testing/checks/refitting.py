"""Learning on: a refit, and a merge of models, learn what a fit on all rows learns, and read only the new ones."""

from __future__ import annotations

import tempfile
from itertools import chain

import pyarrow as pa

from penstock.core.errors import ConfigError, PenstockError
from penstock.engines.base import Engine
from penstock.frames import ROW
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.refitting.learners import appends
from penstock.stages.base import Stage
from penstock.stages.capabilities import TrainingTransformer, WarmStart
from penstock.stages.step import capability
from penstock.stages.vectors import over
from penstock.testing import tables
from penstock.testing.cases import trains
from penstock.testing.compare import demand, demand_equal, demand_grown
from penstock.testing.datasets import count_reads, cut

_ROUNDED = 1e-11
"""How far sums may be from those that were added in another order; what is solved of them, by as much."""


def check_refit_learns_what_a_fit_learns(stage: Stage, engine: Engine) -> None:
    """Check that old rows and new ones give what all rows give, after saving too, and that merging models does."""
    rows = tables.ordinary()
    whole = _fit(stage, engine, rows)
    if whole is None or not _refits(stage, rows.schema):
        return
    for old in (rows.num_rows, rows.num_rows // 3):
        before, after = _fit(stage, engine, rows.slice(0, old)), rows.slice(old)
        if before is None:
            continue
        learned = _saved(before).refit(cut(engine, after))
        exact = learned.digest == whole.digest
        if old == rows.num_rows:
            demand(exact, f"{stage.title} learns other values from the same rows where it keeps statistics")
        if appends(stage):
            demand_grown(before.fitted, learned.fitted, f"a refit of {stage.title}")
        elif not exact:
            demand_equal(learned.fitted, whole.fitted, f"a refit of {stage.title}", rtol=_ROUNDED, atol=_ROUNDED)
        other = _fit(stage, engine, after) if after.num_rows else None
        if other is not None and other.statistics:
            demand(before.merge(other).digest == learned.digest, f"a merge of {stage.title} is no refit")


def check_refit_is_refused_before_it_reads(stage: Stage, engine: Engine) -> None:
    """Check that a stage that would need the old rows again says so."""
    rows = tables.ordinary()
    model = _fit(stage, engine, rows)
    if model is None or _refits(stage, rows.schema):
        return
    try:
        model.refit(cut(engine, rows.slice(0, 0)))
    except ConfigError as error:
        demand(
            "needs the old rows again" in error.message, f"{stage.title} refuses a refit for another reason: {error}"
        )
    else:
        demand(False, f"{stage.title} learns on from rows, as if the old ones were among them")


def check_warm_start_goes_on(stage: Stage, engine: Engine) -> None:
    """Check that a trainer that can begin where it was learns what can be saved and scored, from the new rows alone."""
    rows = tables.ordinary()
    model = _fit(stage, engine, rows.slice(0, rows.num_rows // 2))
    if model is None or capability(stage, WarmStart) is None:
        return
    new, source = count_reads(cut(engine, rows.slice(rows.num_rows // 2)))
    learned = model.refit(new, warm_start=True)
    scored = _saved(learned).transform(cut(engine, rows)).to_arrow()
    demand_equal(scored, learned.transform(cut(engine, rows)).to_arrow(), f"a warm start of {stage.title}, saved")
    demand(source.times == 2, f"{stage.title} reads new rows {source.times} times, expected a scan and a training")
    demand(learned.fitted[0].keys() == model.fitted[0].keys(), f"{stage.title} learns other things where it goes on")


def _refits(stage: Stage, schema: pa.Schema) -> bool:
    """Return whether a stage can learn on: it needs no rows, and nothing that it keeps goes by their numbers."""
    bound = stage.bind(schema)
    read = chain.from_iterable(each.reads for each in over.statistics(bound, schema).values())
    return not trains(stage) and (ROW not in read or capability(bound, TrainingTransformer) is not None)


def _fit(stage: Stage, engine: Engine, rows: pa.Table) -> PipelineModel | None:
    """Return the model of some rows, None where they are none that it takes: what that means, other checks see."""
    try:
        return Pipeline(stage).fit(cut(engine, rows), keep_statistics=True)
    except PenstockError:
        return None


def _saved(model: PipelineModel) -> PipelineModel:
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        return PipelineModel.load(
            f"{folder}/model", stages={type(stage).__name__: type(stage) for stage in model.stages}
        )
