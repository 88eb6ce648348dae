"""The jobs behind the command line: a request in, a result of plain values out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TypeVar

from penstock.cli.drift import monitor_of
from penstock.cli.etl.job import run as run
from penstock.cli.etl.outputs import dataset_output
from penstock.cli.evaluation import check_evaluators, evaluated, seal_page, staged_page, told
from penstock.cli.job_setup import (
    Clock,
    JobSetup,
    conf_file,
    hinting_at_preparation,
    read_data,
    read_unlabelled,
    settings_of_engine,
)
from penstock.cli.project import load_pipeline
from penstock.cli.recording import recorded
from penstock.cli.registry.models import diff_models as diff_models
from penstock.cli.registry.models import list_models as list_models
from penstock.cli.registry.models import show_model as show_model
from penstock.cli.registry.promote import promote as promote
from penstock.cli.requests import EvaluateRequest, ExplainRequest, FitRequest, ScoreRequest, TrainRequest, TuneRequest
from penstock.cli.results import EvaluateResult, ExplainResult, FitResult, Scored, ScoreResult, TrainResult, TuneResult
from penstock.cli.search_settings import search_of
from penstock.cli.training import TrainingJob, row_log
from penstock.cli.tuning import TuneOutputs, search_fields
from penstock.core.errors import MissingInputError, OutputError
from penstock.core.progress import Progress
from penstock.dataset.outputs.destination import Destination
from penstock.dataset.writing import StagedDataset, WriteResult, check_target, refuse_inputs, write
from penstock.io.sinks import OutputCommit, OutputDirectory, OutputFile, check_apart, new_run_id, output_directory
from penstock.pipeline.model import PipelineModel
from penstock.rules.rule_file import read_rules
from penstock.stages.base import Stage

Request = TypeVar("Request", bound=TrainRequest)
Result = TypeVar("Result", bound=TrainResult)


def tracked(job: Callable[[Request, Progress | None], Result]) -> Callable[..., Result]:
    """Return a job that logs what it did to the MLflow of its request, as one run; without one it is the job itself.

    A server that cannot be reached is found out before any work; one that is lost later leaves the model where it was
    saved, and the error says so.
    """

    @wraps(job)
    def run(request: Request, progress: Progress | None = None) -> Result:
        if request.mlflow is None:
            return job(request, progress)
        from penstock.integrations.mlflow.tracking import tracked_run
        from penstock.runs.run_recording import active_run

        module = load_pipeline(request.pipeline, request.pipelines)
        with tracked_run(request.mlflow, request.mlflow_experiment or module.name) as active:
            result = job(request, progress)
            try:
                active.log(result.parameters, result.metrics, _tags(result))
                if (recording := active_run()) is not None:
                    active.log_run(recording.run())
                active.log_model(result.model, request.mlflow_model, module.stages)
            except OutputError as error:
                message = f"the model is saved as {result.model}, and not logged: {error.message}"
                raise OutputError(message, hint=error.hint) from error
        return replace(result, mlflow_run=active.run_id)

    return run


def _tags(result: TrainResult) -> dict[str, str]:
    names = ("pipeline", "digest", "preprocessing_digest", "manifest", "rows", "engine", "device")
    return {name: str(getattr(result, name)) for name in names}


@recorded
@tracked
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
    clock, options, counting = Clock(), request.spmd, request.counting
    outputs = _Outputs.of(request)
    joint = outputs.joint_commit()
    joint.check()
    training = TrainingJob.of(request, clock)
    check_evaluators(training.evaluators, request)
    with training.start(progress) as engine:
        source, parts = training.plan(engine, joint.targets)
        train, test, validation = parts["train"], parts.get("test"), parts.get("validation")
        with joint:
            kept = request.keep_statistics
            model = training.pipeline.fit(
                train, validation=validation, options=options, counting=counting, keep_statistics=kept
            )
            model = training.with_evaluators(model)
            if request.keep_profile:
                model = model.with_profile(train if test is None else test)
            metrics = training.evaluate(model, test)
            manifest = training.seal(model, outputs.model, metrics, source)
            scored = None
            if outputs.scores is not None and test is not None:
                with clock("score"):
                    scored = _scored(outputs.scores.seal(model.transform(test)))
            rows = row_log(model, train)
            if outputs.page is not None:
                seal_page(outputs.page, metrics, request.pipeline, request, model, engine)
            joint.commit()
    return FitResult(**training.result_fields(model, rows, metrics, manifest), scored=scored)


@recorded
@tracked
def tune(request: TuneRequest, progress: Progress | None = None) -> TuneResult:
    """Search parameters of a pipeline, refit the best ones, evaluate them on rows held out, and save the model.

    Raises
    ------
    TuningError
        No trial came to a value of the metric.
    As `fit`
        Whatever is raised, outputs on disk are as they were; a study has the trials that are done.
    """
    clock = Clock()
    outputs = TuneOutputs.of(request)
    joint = outputs.joint_commit()
    joint.check()
    training = TrainingJob.of(request, clock)
    search = search_of(training.pipeline, training.evaluators, training.setup, request)
    with training.start(progress) as engine:
        source, parts = training.plan(engine, joint.targets)
        with joint:
            with clock("search"):
                result = search.fit(parts["train"])
            assert result.best_model is not None
            model = training.with_evaluators(result.best_model)
            metrics = training.evaluate(model, parts.get("test"))
            manifest = training.seal(model, outputs.model, metrics, source)
            outputs.seal_table(result)
            outputs.seal_page(result, metrics, request, model, engine)
            rows = row_log(model, parts["train"])
            joint.commit()
    return TuneResult(**training.result_fields(model, rows, metrics, manifest), **search_fields(result, request))


@recorded
def evaluate(request: EvaluateRequest, progress: Progress | None = None) -> EvaluateResult:
    """Evaluate a saved model by its own evaluators, or by those of its pipeline, on all rows of the data."""
    clock = Clock()
    page = staged_page(request, new_run_id())
    joint = OutputCommit(*([] if page is None else [page]))
    check_apart([request.model, *joint.targets])
    joint.check()
    setup = None if request.pipeline is None else JobSetup.of(request, request.pipeline)
    if setup and setup.settings.stages.values:
        setup.pipeline()  # the model has its own, but a wrong name is refused here too
    model = _evaluated_model(request, setup.module.stages if setup else {})
    settings = setup.engine if setup else settings_of_engine(request)
    with settings.start(progress) as engine:
        dataset = setup.labelled(request, engine) if setup else read_data(request, engine, model.schema)
        evaluators = setup.evaluators() if setup else model.evaluators
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
        **clock.fields(engine),
    )


@recorded
def score(request: ScoreRequest, progress: Progress | None = None) -> ScoreResult:
    """Transform rows by a saved model and write them.

    Text files are read in the types that the model was fitted on; columns that it does not know stay. A pipeline that
    is named prepares the rows, if its ``prepare`` takes ``labelled``.
    """
    clock, destination = Clock(), request.destination
    if request.rules is not None:
        destination = replace(destination, rules=read_rules(conf_file(request, request.rules, "rules", folder="rules")))
    check_target(destination, apart_from=request.model)
    module = load_pipeline(request.pipeline, request.pipelines) if request.pipeline else None
    monitor = monitor_of(request) if request.monitor else None
    # Parameters of a pipeline that is named for its stages alone need not be given.
    setup = JobSetup.of_module(request, module) if module and (module.prepares_scoring or request.set) else None
    model = PipelineModel.load(request.model, expect=request.expect, stages=module.stages if module else {})
    settings = setup.engine if setup else settings_of_engine(request)
    hinting = nullcontext() if module and module.prepares_scoring else hinting_at_preparation(request)
    with settings.start(progress) as engine, hinting:
        dataset = setup.unlabelled(request, engine, model) if setup else read_unlabelled(request, engine, model)
        scores = model.transform(dataset, monitor=False if monitor is None else monitor)
        scores = scores.select(*request.columns) if request.columns else scores
        written = write(scores, destination)
    return ScoreResult(
        model=str(request.model),
        digest=model.digest,
        scored=dataset_output(written, destination),
        drift=None if written.drift is None else written.drift.to_dict(),
        **clock.fields(engine),
    )


def explain(request: ExplainRequest, progress: Progress | None = None) -> ExplainResult:
    """Say what fitting the pipeline to the data would do, and take; of the data only footers or headers are read."""
    from penstock.cli.predicting import predict

    counting, setup = request.counting, JobSetup.of(request, request.pipeline)
    with setup.engine.start(progress) as engine:
        source = setup.read(request, engine)
        predicted = None if request.workers is None else predict(request, source)
        plan = setup.pipeline().explain(setup.prepared(source), counting=counting)
    return ExplainResult(pipeline=setup.module.name, plan=plan, predicted=predicted)


@dataclass(frozen=True)
class _Outputs:
    """What a fit writes, under one run id: put in place together, or not at all."""

    model: OutputDirectory
    scores: StagedDataset | None
    page: OutputFile | None

    @classmethod
    def of(cls, request: FitRequest) -> _Outputs:
        run_id, overwrite = new_run_id(), request.overwrite
        model = output_directory(request.out, overwrite=overwrite, run_id=run_id)
        scores = None
        if request.score is not None:
            scores = StagedDataset(Destination.of(request.score, overwrite=overwrite), run_id=run_id)
        return cls(model, scores, staged_page(request, run_id))

    def joint_commit(self) -> OutputCommit:
        """Return the commit of all that was asked for."""
        scores = () if self.scores is None else self.scores.outputs
        return OutputCommit(self.model, *scores, *([] if self.page is None else [self.page]))


def _scored(written: WriteResult) -> Scored:
    values = vars(written) | {"rows_read": written.read}
    return Scored(**{each.name: values[each.name] for each in fields(Scored)})


def _evaluated_model(request: EvaluateRequest, stages: Mapping[str, type[Stage]]) -> PipelineModel:
    try:
        return PipelineModel.load(request.model, expect=request.expect, stages=stages)
    except MissingInputError as error:
        if request.pipeline is not None:
            raise
        raise MissingInputError(
            error.message, hint="For a pipeline name its model too: --model MODEL.", **error.place
        ) from error
