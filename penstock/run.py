"""The jobs behind the command line: a request in, a result of plain values out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from penstock import artefact
from penstock.configuration import Settings, read_yaml
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.settings import EngineSettings, engine_settings
from penstock.errors import ConfigError
from penstock.evaluating import Evaluators, check_report, evaluated, told, write_page
from penstock.inputs import read
from penstock.locations import local_path
from penstock.outputs import StagedDirectory, new_run_id, resolve
from penstock.pipeline import PipelineModel
from penstock.planner import Plan
from penstock.progress import Progress
from penstock.project import PipelineModule, load_pipeline, pipeline_parameters
from penstock.requests import (
    EvaluateRequest,
    EvaluateResult,
    ExplainRequest,
    ExplainResult,
    FitRequest,
    FitResult,
    Job,
    Scored,
    ScoreRequest,
    ScoreResult,
)
from penstock.secrets import hide
from penstock.stages.evaluation.result import Evaluation
from penstock.steps import RowLog
from penstock.writing import refuse_inputs


def fit(request: FitRequest, progress: Progress | None = None) -> FitResult:
    """Fit a pipeline, evaluate it on rows held out, save the model, and write those rows scored.

    Raises
    ------
    OutputExistsError, OutputError
        An output is there or cannot be written; found out before any work.
    ConfigError, InputError, ExecutionError, ArtifactError
        As reading, fitting and saving say. What was on disk is as it was; only a model that was saved stays when its
        rows cannot be scored.
    """
    clock = _Clock()
    _check_outputs([request.out, request.score], overwrite=request.overwrite)
    check_report(request.report)
    setup = _Setup.of(request, request.pipeline)
    pipeline, evaluators = setup.module.build(setup.parameters), setup.module.evaluators(setup.parameters)
    with setup.engine.start(progress) as engine:
        with clock("plan"):
            dataset = setup.labelled(request, engine)
            refuse_inputs(dataset, [target for target in (request.out, request.score) if target is not None])
            train, validation, test = _split(dataset, request)
            _check_plan(pipeline.plan(train), evaluators)
        model = pipeline.fit(train, validation=validation, options=request.spmd, counting=request.counting)
        with clock("evaluate"):
            metrics = evaluated(model, test, evaluators, request) if test is not None else Evaluation()
        with clock("save"):
            manifest = artefact.save(model, request.out, overwrite=request.overwrite, metrics=metrics)
        scored = None
        if request.score is not None and test is not None:
            with clock("score"):
                scored = _write(model, test, request.score, overwrite=request.overwrite)
        rows = _rows(model, train)
        write_page(metrics, request, model, engine)
    return _fit_result(request, setup, model, rows, metrics, manifest, scored, clock)


def evaluate(request: EvaluateRequest, progress: Progress | None = None) -> EvaluateResult:
    """Evaluate a saved model by the evaluators of its pipeline, on all rows of the data."""
    clock = _Clock()
    check_report(request.report)
    setup = _Setup.of(request, request.pipeline)
    model = PipelineModel.load(request.model, expect=request.expect, stages=setup.module.stages)
    with setup.engine.start(progress) as engine:
        evaluators = setup.module.evaluators(setup.parameters)
        metrics = evaluated(model, setup.labelled(request, engine), evaluators, request)
        write_page(metrics, request, model, engine)
    return EvaluateResult(
        pipeline=setup.module.name,
        model=str(request.model),
        digest=model.digest,
        **told(metrics, request),
        seconds=clock.total(),
        engine=engine.name,
        device=str(engine.device),
    )


def score(request: ScoreRequest, progress: Progress | None = None) -> ScoreResult:
    """Transform rows by a saved model and write them as Parquet.

    Text files are read in the types that the model was fitted on; columns that it does not know stay.
    """
    clock = _Clock()
    _check_apart([request.out, request.model])
    _check_outputs([request.out], overwrite=request.overwrite)
    stages = load_pipeline(request.pipeline, request.pipelines).stages if request.pipeline else {}
    model = PipelineModel.load(request.model, expect=request.expect, stages=stages)
    settings = _engine_settings(request, _conf(request)["engine"])
    with settings.start(progress) as engine:
        dataset = _read(request, engine, model.schema)
        scored = _write(model, dataset, request.out, columns=request.columns, overwrite=request.overwrite)
    return ScoreResult(
        model=str(request.model),
        digest=model.digest,
        scored=scored,
        seconds=clock.total(),
        engine=engine.name,
        device=str(engine.device),
    )


def explain(request: ExplainRequest, progress: Progress | None = None) -> ExplainResult:
    """Say what fitting the pipeline to the data would do; of the data only footers or headers are read."""
    setup = _Setup.of(request, request.pipeline)
    with setup.engine.start(progress) as engine:
        pipeline = setup.module.build(setup.parameters)
        plan = pipeline.explain(setup.labelled(request, engine), counting=request.counting)
    return ExplainResult(pipeline=setup.module.name, plan=plan)


@dataclass(frozen=True)
class _Setup:
    """The pipeline, its parameters and the engine of a job; nothing is started."""

    module: PipelineModule
    parameters: BaseModel
    engine: EngineSettings

    @classmethod
    def of(cls, job: Job, pipeline: str) -> _Setup:
        conf = _conf(job)
        module = load_pipeline(pipeline, job.pipelines)
        parameters = pipeline_parameters(module, _conf_folder(job) / "pipelines", conf["pipeline"], job.set)
        return cls(module, parameters, _engine_settings(job, conf["engine"]))

    def labelled(self, job: Job, engine: Engine) -> Dataset:
        """Return the rows to learn from or to evaluate on."""
        dataset = _read(job, engine, self.module.schema)
        return dataset if self.module.prepare is None else self.module.prepare(dataset, self.parameters)


def _conf(job: Job) -> dict[str, Settings]:
    """Return the sections of all configuration files; of two files that set one thing, the later wins."""
    merged = {"engine": Settings(), "pipeline": Settings()}
    for path in job.conf:
        found = read_yaml(path).only(*merged)
        merged = {name: found.section(name).over(lower) for name, lower in merged.items()}
    return merged


def _engine_settings(job: Job, conf: Settings) -> EngineSettings:
    return engine_settings(job.engine, job.device, conf, _conf_folder(job) / "engines")


def _conf_folder(job: Job) -> Path:
    return Path(local_path(job.pipelines, "pipelines")).parent / "conf"


def _read(job: Job, engine: Engine, types: Any) -> Dataset:
    return read(engine, job.data, format=job.format, types=types, allow_unmanifested=job.allow_unmanifested)


def _split(dataset: Dataset, request: FitRequest) -> tuple[Dataset, Dataset | None, Dataset | None]:
    """Return the rows to learn from, to watch, and to evaluate on; None for those of no share."""
    shares = {"validation": request.validation_fraction, "test": request.test_fraction}
    wanted = {"train": 1 - sum(shares.values())} | {name: share for name, share in shares.items() if share}
    parts = dict(zip(wanted, dataset.split(list(wanted.values()), seed=request.seed), strict=True))
    return parts["train"], parts.get("validation"), parts.get("test")


def _write(
    model: PipelineModel, dataset: Dataset, target: str | Path, *, columns: Sequence[str] = (), overwrite: bool
) -> Scored:
    scored = model.transform(dataset)
    scored = scored.select(*columns) if columns else scored
    written = scored.write_parquet(target, overwrite=overwrite)
    return Scored(
        path=written.path,
        rows=written.rows,
        rows_read=written.read,
        dropped=written.dropped,
        quarantined=written.quarantined,
        quarantine=written.quarantine,
        run_id=written.run_id,
    )


def _check_outputs(targets: Sequence[str | Path | None], *, overwrite: bool) -> None:
    """Refuse targets that are there, cannot be written, or lie in each other, before any work is done."""
    paths = [target for target in targets if target is not None]
    _check_apart(paths)
    for path in paths:
        with StagedDirectory(path, overwrite=overwrite, run_id=new_run_id()):
            pass


def _check_apart(paths: Sequence[str | Path]) -> None:
    for one, other in combinations([resolve(path) for path in paths], 2):
        if one == other or one in other.parents or other in one.parents:
            raise ConfigError(f"{one} and {other} lie in each other", hint="Name two directories apart.")


def _check_plan(plan: Plan, evaluators: Evaluators) -> None:
    """Refuse what could not be evaluated or saved, before hours of training."""
    for evaluator in evaluators.values() if isinstance(evaluators, Mapping) else evaluators:
        evaluator.bind(plan.schemas[-1])
    for stage in plan.stages:
        stage.parameters()


def _rows(model: PipelineModel, train: Dataset) -> RowLog:
    """Return what became of the rows to learn from; they were only counted if a stage needed statistics."""
    assert model.report is not None
    if model.report.scans:
        return model.report.rows
    rows = train.count()
    return RowLog(read=rows, kept=rows)


def _fit_result(
    request: FitRequest,
    setup: _Setup,
    model: PipelineModel,
    rows: RowLog,
    metrics: Evaluation,
    manifest: str,
    scored: Scored | None,
    clock: _Clock,
) -> FitResult:
    report = model.report
    assert report is not None
    return FitResult(
        pipeline=setup.module.name,
        parameters=hide(setup.parameters.model_dump(mode="json")),
        model=str(request.out),
        manifest=manifest,
        digest=model.digest,
        preprocessing_digest=model.preprocessing_digest,
        rows=rows.kept,
        rows_read=rows.read,
        dropped=rows.dropped,
        quarantined=rows.quarantined,
        scans=report.scans,
        **told(metrics, request),
        seconds=clock.total(),
        seconds_of={**clock.parts, **report.seconds},
        counts=[str(column) for column in report.counts if column.estimate or column.held.most],
        notes=report.notes,
        engine=report.engine,
        device=report.device,
        device_reason=report.device_reason,
        scored=scored,
    )


@dataclass
class _Clock:
    """Seconds since it was made, and of parts by name."""

    began: float = field(default_factory=time.perf_counter)
    parts: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.parts[part] = time.perf_counter() - began

    def total(self) -> float:
        return time.perf_counter() - self.began
