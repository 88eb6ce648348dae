"""What fits and searches share: the rows, the model that is saved, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.artefact.evaluators import is_stored
from penstock.cli.evaluation import told
from penstock.cli.job_setup import Clock, JobSetup
from penstock.cli.requests import TrainRequest
from penstock.config.secrets import hide
from penstock.core.redaction import redact
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import RowLog
from penstock.dataset.writing import refuse_inputs
from penstock.engines.base import Engine
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.plan import Plan
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.views import check_slice


def plan_parts(
    setup: JobSetup,
    pipeline: Pipeline,
    evaluators: Evaluators,
    request: TrainRequest,
    engine: Engine,
    targets: Iterable[str | Path],
) -> tuple[Dataset, dict[str, Dataset]]:
    """Return the rows as they are read, and those to learn from, ``train``, and of each share that they are split into.

    A share of 0 is left out; all is refused that cannot work.

    Parameters
    ----------
    targets : iterable of path
        Of the outputs, none of which may be among the rows.
    """
    source = setup.read(request, engine)
    dataset = setup.prepared(source)
    refuse_inputs(dataset, targets)
    shares = {name: share for name, share in request.shares.items() if share}
    split = dataset.split([1 - sum(shares.values()), *shares.values()], seed=request.seed)
    parts = dict(zip(["train", *shares], split, strict=True))
    _check_plan(pipeline.plan(parts["train"]), evaluators, request)
    return source, parts


def lineage_of(request: TrainRequest, setup: JobSetup, source: Dataset) -> dict[str, Any]:
    """Return what a model is made from: the pipeline, its parameters, and the files with their sizes."""
    sizes = {piece.path: piece.size for fragment in source.fragments for piece in fragment.pieces}
    return {
        "pipeline": setup.module.name,
        "parameters": hide(setup.settings.values()),
        "data": [redact(each) for each in request.data],
        "files": len(sizes),
        "bytes": sum(sizes.values()),
        "rows": sum(fragment.rows for fragment in source.fragments),
    }


def _check_plan(plan: Plan, evaluators: Evaluators, request: TrainRequest) -> None:
    """Refuse what could not be evaluated or saved, before hours of training."""
    schema = plan.schemas[-1]
    for evaluator in evaluators.values() if isinstance(evaluators, Mapping) else evaluators:
        evaluator.bind(schema)
    for by in request.by:
        check_slice(schema, by)
    for stage in plan.stages:
        stage.parameters()


def with_evaluators(model: PipelineModel, setup: JobSetup, evaluators: Evaluators) -> PipelineModel:
    """Return a model with the evaluators that it can have without its pipeline.

    None if that prepares rows, or has evaluators of its own.
    """
    every = tuple(evaluators.values() if isinstance(evaluators, Mapping) else evaluators)
    own = not all(map(is_stored, every))
    stored: Evaluators = evaluators if isinstance(evaluators, Mapping) else every
    return replace(model, evaluators=() if own or setup.module.prepare is not None else stored)


def row_log(model: PipelineModel, train: Dataset) -> RowLog:
    """Return what became of the rows to learn from; they were only counted if a stage needed statistics."""
    assert model.report is not None
    if model.report.scans:
        return model.report.rows
    rows = train.count()
    log = RowLog(read=rows, kept=rows)
    for fragment in train.fragments:
        log.quarantine_unparsed(train.reader.unparsed(fragment))
    return log


def result_fields(
    request: TrainRequest,
    setup: JobSetup,
    model: PipelineModel,
    rows: RowLog,
    metrics: Evaluation,
    manifest: str,
    clock: Clock,
) -> dict[str, Any]:
    """Return the fields of `TrainResult`."""
    report = model.report
    assert report is not None
    return {
        "pipeline": setup.module.name,
        "parameters": hide(setup.settings.values()),
        "model": str(request.out),
        "manifest": manifest,
        "digest": model.digest,
        "preprocessing_digest": model.preprocessing_digest,
        "rows": rows.kept,
        "rows_read": rows.read,
        "dropped": rows.dropped,
        "quarantined": rows.quarantined,
        "scans": report.scans,
        **told(metrics, request),
        "seconds": clock.total(),
        "seconds_of": {**clock.parts, **report.seconds},
        "counts": [str(column) for column in report.counts if column.estimate or column.held.most],
        "notes": report.notes,
        "engine": report.engine,
        "device": report.device,
        "device_reason": report.device_reason,
    }
