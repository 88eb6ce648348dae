"""What fits and searches share: the rows, the model that is saved, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock import artefact
from penstock.artefact.evaluators import is_stored
from penstock.cli.evaluation import evaluated, told
from penstock.cli.job_setup import Clock, JobSetup
from penstock.cli.requests import TrainRequest
from penstock.config.secrets import hide
from penstock.core.notices import get_logger
from penstock.core.progress import Progress
from penstock.core.recording import step
from penstock.core.redaction import redact
from penstock.dataset.cast_as_fitted import is_taken
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import RowLog
from penstock.dataset.writing import refuse_inputs
from penstock.engines.base import Engine
from penstock.io.sinks import OutputDirectory
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.plan import Plan
from penstock.stages.evaluation.base import Evaluator, Evaluators
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.views import check_slice

logger = get_logger(__name__)


@dataclass(frozen=True)
class TrainingJob:
    """A fit or a search from its setup to the model that is saved, and the time that each part of it takes."""

    request: TrainRequest
    clock: Clock
    setup: JobSetup
    pipeline: Pipeline
    evaluators: Evaluators

    @classmethod
    def of(cls, request: TrainRequest, clock: Clock) -> TrainingJob:
        """Return what a request names; nothing is started."""
        setup = JobSetup.of(request, request.pipeline)
        return cls(request, clock, setup, setup.pipeline(), setup.evaluators())

    def start(self, progress: Progress | None) -> Engine:
        """Return the engine."""
        with self.clock("start"):
            return self.setup.engine.start(progress)

    def plan(self, engine: Engine, targets: Iterable[str | Path]) -> tuple[Dataset, dict[str, Dataset]]:
        """Return the rows as they are read, and those to learn from, ``train``, and of each share they are split into.

        A share of 0 is left out; all is refused that cannot work.

        Parameters
        ----------
        engine : Engine
        targets : iterable of path
            Of the outputs, none of which may be among the rows.
        """
        with self.clock("plan"), step("plan"):
            source = self.setup.read(self.request, engine)
            dataset = self.setup.prepared(source)
            refuse_inputs(dataset, targets)
            shares = {name: share for name, share in self.request.shares.items() if share}
            split = dataset.split([1 - sum(shares.values()), *shares.values()], seed=self.request.seed)
            parts = dict(zip(["train", *shares], split, strict=True))
            self._check(self.pipeline.plan(parts["train"]))
        return source, parts

    def _check(self, plan: Plan) -> None:
        """Refuse what could not be evaluated or saved, before hours of training."""
        schema = plan.schemas[-1]
        for evaluator in _each(self.evaluators):
            evaluator.bind(schema)
        for by in self.request.by:
            check_slice(schema, by)
        for stage in plan.stages:
            stage.parameters()

    def with_evaluators(self, model: PipelineModel) -> PipelineModel:
        """Return a model with the evaluators that it can have without its pipeline.

        None if that prepares rows, or has evaluators of its own.
        """
        own = not all(map(is_stored, _each(self.evaluators)))
        stored = self.evaluators if isinstance(self.evaluators, Mapping) else _each(self.evaluators)
        return replace(model, evaluators=() if own or self.setup.module.prepare is not None else stored)

    def evaluate(self, model: PipelineModel, test: Dataset | None) -> Evaluation:
        """Return the metrics of rows held out; none where there are no such rows, or nothing measures them."""
        with self.clock("evaluate"):
            return evaluated(model, test, self.evaluators, self.request) if test and self.evaluators else Evaluation()

    def seal(self, model: PipelineModel, output: OutputDirectory, metrics: Evaluation, source: Dataset) -> str:
        """Write the model, and return its manifest; says what it is made from."""
        self._warn_of_preparation(model, source)
        with self.clock("save"):
            return artefact.seal(model, output, metrics=metrics, lineage=self._lineage(source))

    def _warn_of_preparation(self, model: PipelineModel, source: Dataset) -> None:
        """Warn of columns that scoring without the pipeline lacks, or finds in a type that it does not take."""
        module, found = self.setup.module, dict(zip(source.schema.names, source.schema.types, strict=True))
        other = [
            name
            for name in model.input_columns
            if name not in found or not is_taken(model.schema.field(name).type, found[name])
        ]
        if other and not module.prepares_scoring:
            logger.warning(
                "prepare of %s makes %s, and is not asked for rows to score: have it take *, labelled, and score with"
                " --pipeline %s",
                module.name,
                ", ".join(other),
                module.name,
            )

    def _lineage(self, source: Dataset) -> dict[str, Any]:
        """Return what a model is made from: the pipeline, its parameters, and the files with their sizes."""
        sizes = {piece.path: piece.size for fragment in source.fragments for piece in fragment.pieces}
        return {
            "pipeline": self.setup.module.name,
            "parameters": hide(self.setup.settings.values()),
            "data": [redact(each) for each in self.request.data],
            "files": len(sizes),
            "bytes": sum(sizes.values()),
            "rows": sum(fragment.rows for fragment in source.fragments),
        }

    def result_fields(self, model: PipelineModel, rows: RowLog, metrics: Evaluation, manifest: str) -> dict[str, Any]:
        """Return the fields of `TrainResult`."""
        report = model.report
        assert report is not None
        return {
            "pipeline": self.setup.module.name,
            "parameters": hide(self.setup.settings.values()),
            "model": str(self.request.out),
            "manifest": manifest,
            "digest": model.digest,
            "preprocessing_digest": model.preprocessing_digest,
            "rows": rows.kept,
            "rows_read": rows.read,
            "dropped": rows.dropped,
            "quarantined": rows.quarantined,
            **{name: getattr(report, name) for name in ("scans", "notes", "engine", "device", "device_reason")},
            **told(metrics, self.request),
            "seconds": self.clock.total(),
            "seconds_of": {**self.clock.parts, **report.seconds},
            "counts": [str(column) for column in report.counts if column.estimate or column.held.most],
        }


def _each(evaluators: Evaluators) -> tuple[Evaluator, ...]:
    return tuple(evaluators.values() if isinstance(evaluators, Mapping) else evaluators)


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
