"""The jobs behind the command line: a request in, a result of plain values out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from penstock import artefact
from penstock.artefact.evaluators import is_stored
from penstock.cli.evaluation import check_evaluators, check_report, evaluated, seal_page, told
from penstock.cli.inputs import read
from penstock.cli.project import PipelineModule, PipelineSettings, load_pipeline, pipeline_settings
from penstock.cli.requests import (
    EvaluateRequest,
    EvaluateResult,
    EvaluationRequest,
    ExplainRequest,
    ExplainResult,
    FitRequest,
    FitResult,
    JobRequest,
    PipelineRequest,
    Scored,
    ScoreRequest,
    ScoreResult,
)
from penstock.config.secrets import hide
from penstock.config.settings import Settings, read_yaml
from penstock.core.errors import MissingInputError
from penstock.core.locations import local_path
from penstock.core.progress import Progress
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import RowLog
from penstock.dataset.writing import StagedDataset, WriteResult, refuse_inputs
from penstock.engines.base import Engine
from penstock.engines.settings import EngineSettings, engine_settings
from penstock.io.sinks import JointCommit, StagedDirectory, StagedFile, check_apart, new_run_id
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.plan import Plan
from penstock.stages.base import Stage
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.evaluation.result import Evaluation


def fit(request: FitRequest, progress: Progress | None = None) -> FitResult:
    """Fit a pipeline, evaluate it on rows held out, save the model, and write those rows scored.

    Raises
    ------
    OutputExistsError, OutputError
        An output is there or cannot be written; found out before any work.
    CommitConflictError
        Another run changed an output meanwhile.
    ConfigError, InputError, ExecutionError, ArtifactError
        As reading, fitting and saving say. Whatever is raised, what was on disk is as it was: all outputs are put in
        place together, at the end.
    """
    clock, options, counting = _Clock(), request.spmd, request.counting
    outputs = _Outputs.of(request)
    joint = outputs.joint_commit()
    joint.check()
    setup = _Setup.of(request, request.pipeline)
    pipeline, evaluators = setup.settings.build(setup.module), setup.module.evaluators(setup.parameters)
    check_evaluators(evaluators, request)
    with setup.engine.start(progress) as engine:
        with clock("plan"):
            dataset = setup.labelled(request, engine)
            refuse_inputs(dataset, joint.targets)
            train, validation, test = _split(dataset, request)
            _check_plan(pipeline.plan(train), evaluators)
        with joint:
            model = pipeline.fit(train, validation=validation, options=options, counting=counting)
            model = replace(model, evaluators=_stored_evaluators(setup.module, evaluators))
            with clock("evaluate"):
                metrics = evaluated(model, test, evaluators, request) if test and evaluators else Evaluation()
            with clock("save"):
                manifest = artefact.seal(model, outputs.model, metrics=metrics)
            scored = None
            if outputs.scores is not None and test is not None:
                with clock("score"):
                    scored = _scored(outputs.scores.seal(model.transform(test)))
            rows = _rows(model, train)
            if outputs.page is not None:
                seal_page(outputs.page, metrics, request.pipeline, request, model, engine)
            joint.commit()
    return _fit_result(request, setup, model, rows, metrics, manifest, scored, clock)


def evaluate(request: EvaluateRequest, progress: Progress | None = None) -> EvaluateResult:
    """Evaluate a saved model by its own evaluators, or by those of its pipeline, on all rows of the data."""
    clock = _Clock()
    page = _page(request, new_run_id())
    joint = JointCommit(*([] if page is None else [page]))
    check_apart([request.model, *joint.targets])
    joint.check()
    setup = None if request.pipeline is None else _Setup.of(request, request.pipeline)
    if setup and setup.settings.stages.values:
        setup.settings.build(setup.module)  # the model has its own, but a wrong name is refused here too
    model = _evaluated_model(request, setup.module.stages if setup else {})
    settings = setup.engine if setup else _engine_settings(request, _conf(request)["engine"])
    with settings.start(progress) as engine:
        dataset = setup.labelled(request, engine) if setup else _read(request, engine, model.schema)
        evaluators = setup.module.evaluators(setup.parameters) if setup else model.evaluators
        refuse_inputs(dataset, joint.targets)
        with joint:
            metrics = evaluated(model, dataset, evaluators, request)
            if page is not None:
                seal_page(page, metrics, request.pipeline or Path(request.model).name, request, model, engine)
            joint.commit()
    return EvaluateResult(
        pipeline=setup.module.name if setup else None,
        model=str(request.model),
        digest=model.digest,
        **told(metrics, request),
        seconds=clock.total(),
        engine=engine.name,
        device=str(engine.device),
    )


def score(request: ScoreRequest, progress: Progress | None = None) -> ScoreResult:
    """Transform rows by a saved model and write them.

    Text files are read in the types that the model was fitted on; columns that it does not know stay.
    """
    clock = _Clock()
    staged = StagedDataset(request.out, format=request.out_format, overwrite=request.overwrite, run_id=new_run_id())
    joint = JointCommit(*staged.outputs)
    check_apart([request.model, *joint.targets])
    joint.check()
    stages = load_pipeline(request.pipeline, request.pipelines).stages if request.pipeline else {}
    model = PipelineModel.load(request.model, expect=request.expect, stages=stages)
    with _engine_settings(request, _conf(request)["engine"]).start(progress) as engine:
        dataset = _read(request, engine, model.schema)
        refuse_inputs(dataset, joint.targets)
        scores = model.transform(dataset)
        scores = scores.select(*request.columns) if request.columns else scores
        staged.writer(scores)
        with joint:
            scored = _scored(staged.seal(scores))
            joint.commit()
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
    counting, setup = request.counting, _Setup.of(request, request.pipeline)
    with setup.engine.start(progress) as engine:
        pipeline = setup.settings.build(setup.module)
        plan = pipeline.explain(setup.labelled(request, engine), counting=counting)
    return ExplainResult(pipeline=setup.module.name, plan=plan)


@dataclass(frozen=True)
class _Outputs:
    """What a fit writes, under one run id: put in place together, or not at all."""

    model: StagedDirectory
    scores: StagedDataset | None
    page: StagedFile | None

    @classmethod
    def of(cls, request: FitRequest) -> _Outputs:
        run_id, overwrite = new_run_id(), request.overwrite
        model = StagedDirectory(request.out, overwrite=overwrite, run_id=run_id)
        scores = StagedDataset(request.score, overwrite=overwrite, run_id=run_id) if request.score is not None else None
        return cls(model, scores, _page(request, run_id))

    def joint_commit(self) -> JointCommit:
        """Return the commit of all that was asked for."""
        scores = () if self.scores is None else self.scores.outputs
        return JointCommit(self.model, *scores, *([] if self.page is None else [self.page]))


def _page(request: EvaluationRequest, run_id: str) -> StagedFile | None:
    check_report(request.report)
    return None if request.report is None else StagedFile(request.report, run_id=run_id)


@dataclass(frozen=True)
class _Setup:
    """The pipeline, its parameters and the engine of a job; nothing is started."""

    module: PipelineModule
    settings: PipelineSettings
    engine: EngineSettings

    @classmethod
    def of(cls, job: PipelineRequest, pipeline: str) -> _Setup:
        conf = _conf(job)
        module = load_pipeline(pipeline, job.pipelines)
        settings = pipeline_settings(module, _conf_folder(job) / "pipelines", conf["pipeline"], job.set)
        return cls(module, settings, _engine_settings(job, conf["engine"]))

    @property
    def parameters(self) -> BaseModel:
        """The parameters of the module."""
        return self.settings.parameters

    def labelled(self, job: JobRequest, engine: Engine) -> Dataset:
        """Return the rows to learn from or to evaluate on."""
        dataset = _read(job, engine, self.module.schema)
        return dataset if self.module.prepare is None else self.module.prepare(dataset, self.parameters)


def _conf(job: JobRequest) -> dict[str, Settings]:
    """Return the sections of all configuration files; of two files that set one thing, the later wins."""
    merged = {"engine": Settings(), "pipeline": Settings()}
    for path in job.conf:
        found = read_yaml(path).only(*merged)
        merged = {name: found.section(name).over(lower) for name, lower in merged.items()}
    return merged


def _engine_settings(job: JobRequest, conf: Settings) -> EngineSettings:
    return engine_settings(job.engine, job.device, conf, _conf_folder(job) / "engines")


def _conf_folder(job: JobRequest) -> Path:
    return Path(local_path(job.pipelines, "pipelines")).parent / "conf"


def _read(job: JobRequest, engine: Engine, types: Any) -> Dataset:
    return read(
        engine,
        job.data,
        format=job.format,
        types=types,
        allow_unmanifested=job.allow_unmanifested,
        max_bad_records=job.max_bad_records,
    )


def _split(dataset: Dataset, request: FitRequest) -> tuple[Dataset, Dataset | None, Dataset | None]:
    """Return the rows to learn from, to watch, and to evaluate on; None for those of no share."""
    shares = {"validation": request.validation_fraction, "test": request.test_fraction}
    wanted = {"train": 1 - sum(shares.values())} | {name: share for name, share in shares.items() if share}
    parts = dict(zip(wanted, dataset.split(list(wanted.values()), seed=request.seed), strict=True))
    return parts["train"], parts.get("validation"), parts.get("test")


def _scored(written: WriteResult) -> Scored:
    values = asdict(written)
    return Scored(rows_read=values.pop("read"), **values)


def _evaluated_model(request: EvaluateRequest, stages: Mapping[str, type[Stage]]) -> PipelineModel:
    try:
        return PipelineModel.load(request.model, expect=request.expect, stages=stages)
    except MissingInputError as error:
        if request.pipeline is not None:
            raise
        raise MissingInputError(
            error.message, hint="For a pipeline name its model too: --model MODEL.", **error.place
        ) from error


def _stored_evaluators(module: PipelineModule, evaluators: Evaluators) -> Evaluators:
    """Return the evaluators that a model can have without its pipeline: none if that prepares rows, or has its own."""
    if module.prepare is not None:
        return ()
    every = tuple(evaluators.values() if isinstance(evaluators, Mapping) else evaluators)
    own = not all(map(is_stored, every))
    return () if own else evaluators if isinstance(evaluators, Mapping) else every


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
    log = RowLog(read=rows, kept=rows)
    for fragment in train.fragments:
        log.quarantine_unparsed(train.reader.unparsed(fragment))
    return log


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
        parameters=hide(setup.settings.values()),
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
