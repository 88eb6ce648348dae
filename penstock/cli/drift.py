"""The job that compares rows with the profile of a saved model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.option_groups import split_names
from penstock.cli.recording import recorded
from penstock.cli.requests import JobRequest, PipelineRequest, ScoreRequest, refuse_parameters_of_none
from penstock.cli.results import JobResult

if TYPE_CHECKING:
    from penstock.core.progress import Progress
    from penstock.pipeline.drift.drift_limits import DriftLimits
    from penstock.pipeline.drift.monitor import Monitor
    from penstock.pipeline.model import PipelineModel


@dataclass(frozen=True, kw_only=True)
class DriftRequest(PipelineRequest):
    """A comparison of the rows of `data` with the profile of a saved model, or the making of one.

    Parameters
    ----------
    model : path
        Directory of the saved model.
    limits : path, optional
        A YAML file of limits, or the name of one in conf/drift.
    level : float, optional
        How often there may be an alarm where nothing has changed; wins over the file, 0.01 unless given.
    report : path, optional
        Write an HTML page of what has changed here.
    alarm : str, optional
        Who is told of an alarm: the URL of a webhook, or a command that gets JSON on its stdin.
    evaluate : bool
        Compare the metrics of the model's evaluators too; the rows have labels then.
    bootstrap : int, optional
        Replicates by which changes of metrics are tested; 200, say.
    save_profile : path, optional
        Compare nothing: save the model here with the profile of these rows.
    slices : sequence of str
        With save-profile, compare by the values of a column too, or of a combination: country,device.
    overwrite : bool
        Replace the model that is at save-profile.
    pipeline : str, optional
        The pipeline, if it has stages of its own, or prepares rows.
    expect : str, optional
        The digest that the saved model must have: sha256:...
    """

    model: str | Path
    limits: str | Path | None = None
    level: float | None = None
    report: str | Path | None = None
    alarm: str | None = None
    evaluate: bool = False
    bootstrap: int | None = None
    save_profile: str | Path | None = None
    slices: Sequence[str] = field(default=(), metadata={"option": "--slice", "metavar": "COLUMN[,COLUMN]"})
    overwrite: bool = False
    pipeline: str | None = None
    expect: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_parameters_of_none(self, self.pipeline, "penstock drift MODEL --pipeline PIPELINE --data DATA")


@dataclass(frozen=True, kw_only=True)
class DriftResult(JobResult):
    """What has changed, as `DriftReport.to_dict` has it; or the profile that was saved.

    Attributes
    ----------
    model, digest : str
    passed : bool
        Whether there is no alarm.
    alarms : sequence of str
        In words.
    alarm_error : str or None
        Why nobody could be told of the alarm.
    profile : str or None
        Path of the model that was saved with a profile.
    """

    data: Sequence[str]
    passed: bool
    rows: int
    reference_rows: int
    level: float | None = None
    alarms: Sequence[str] = ()
    columns: Sequence[Mapping[str, Any]] = ()
    slices: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] = field(default_factory=dict)
    metrics: Sequence[Mapping[str, Any]] = ()
    alarm_error: str | None = None
    profile: str | None = None
    report: str | None = None


@recorded
def drift(request: DriftRequest, progress: "Progress | None" = None) -> DriftResult:
    """Compare rows with the profile of a saved model, in one scan; or save the model with their profile.

    Raises
    ------
    ConfigError, InputError, ExecutionError, ArtifactError, OutputError
        As `PipelineModel.drift`, reading and saving say. Drift is no error: the result has not passed.
    """
    from penstock.cli.evaluation import check_report
    from penstock.cli.job_setup import Clock, JobSetup, read_data, settings_of_engine
    from penstock.pipeline.model import PipelineModel

    clock, limits = Clock(), read_limits(request, request.limits, request.level)
    check_report(request.report)
    setup = JobSetup.of(request, request.pipeline) if request.pipeline else None
    model = PipelineModel.load(request.model, expect=request.expect, stages=setup.module.stages if setup else {})
    settings = setup.engine if setup else settings_of_engine(request)
    with settings.start(progress) as engine:
        dataset = setup.labelled(request, engine) if setup else read_data(request, engine, model.schema)
        told = (
            _profiled(request, model, dataset) if request.save_profile else _compared(request, model, dataset, limits)
        )
    named: dict[str, Any] = {"model": str(request.model), "digest": model.digest, "data": list(request.data)}
    return DriftResult(**named, **told, **clock.fields(engine))


def _profiled(request: DriftRequest, model: "PipelineModel", dataset: Any) -> dict[str, Any]:
    slices = [split_names([each]) for each in request.slices]
    evaluators = _evaluators(request, model)
    profiled = model.with_profile(dataset, slices=slices, evaluators=evaluators, bootstrap=request.bootstrap)
    assert request.save_profile is not None
    assert profiled.profile is not None
    profiled.save(request.save_profile, overwrite=request.overwrite)
    rows = profiled.profile.rows
    return {"passed": True, "rows": rows, "reference_rows": rows, "profile": str(request.save_profile)}


def _compared(request: DriftRequest, model: "PipelineModel", dataset: Any, limits: "DriftLimits") -> dict[str, Any]:
    from penstock.pipeline.drift.alarm import raise_alarm

    evaluators = _evaluators(request, model)
    report = model.drift(dataset, limits=limits, evaluators=evaluators, bootstrap=request.bootstrap)
    if request.report is not None:
        details = {"Data": ", ".join(request.data), "Model digest": model.digest}
        report.write_report(request.report, title=Path(request.model).name, details=details)
    page = None if request.report is None else str(request.report)
    return {**report.to_dict(), "report": page, "alarm_error": raise_alarm(request.alarm, report)}


def monitor_of(request: ScoreRequest) -> "Monitor":
    """Return how rows are monitored while they are scored."""
    from penstock.pipeline.drift.monitor import Monitor

    return Monitor(limits=read_limits(request, request.limits), alarm=request.alarm)


def _evaluators(request: DriftRequest, model: "PipelineModel") -> Sequence[Any]:
    if not request.evaluate:
        return ()
    known = model.evaluators
    return [known] if isinstance(known, Mapping) else known


def read_limits(request: JobRequest, named: str | Path | None, level: float | None = None) -> "DriftLimits":
    """Return the limits of a file: a path, or the name of one in conf/drift; the default ones where none is named.

    Raises
    ------
    ConfigError
        There is none of the name, or it is no such file.
    """
    from dataclasses import replace

    from penstock.cli.job_setup import conf_file
    from penstock.pipeline.drift.drift_limits import DriftLimits

    limits = DriftLimits()
    if named is not None:
        limits = DriftLimits.read(conf_file(request, named, "limits", folder="drift"))
    return limits if level is None else replace(limits, level=level)
