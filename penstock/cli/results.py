"""What jobs tell: plain values, printed as tables, and as one line of JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Scored:
    """Scored rows on disk, and what became of the others; ``quarantine`` is where those set aside are.

    ``nulled`` counts values that a cast made null.
    """

    path: str
    rows: int
    rows_read: int
    dropped: Mapping[str, int]
    quarantined: Mapping[str, int]
    nulled: Mapping[str, int]
    quarantine: str | None
    run_id: str


@dataclass(frozen=True, kw_only=True)
class TimedResult:
    """Seconds, engine and device of a job."""

    seconds: float
    engine: str
    device: str


@dataclass(frozen=True, kw_only=True)
class JobResult(TimedResult):
    """Which model a job was about, how long it took, and where it ran."""

    model: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Metrics by MLlib's names; for each that is None, ``undefined`` says why.

    Attributes
    ----------
    bounds : mapping of str to float
        How far the exact value can be from one that was approximated.
    labels : mapping of str to label
        The label that a metric of one label is of.
    intervals : mapping of str to (float, float)
        Of a bootstrap.
    slices : mapping of str to sequence of mapping
        By what was sliced, one row a slice: its values, ``rows``, and every metric.
    report : str or None
        Path of the page.
    """

    metrics: Mapping[str, float | None]
    undefined: Mapping[str, str]
    bounds: Mapping[str, float]
    labels: Mapping[str, Any]
    intervals: Mapping[str, tuple[float, float]]
    slices: Mapping[str, Sequence[Mapping[str, Any]]]
    report: str | None


@dataclass(frozen=True, kw_only=True)
class TrainResult(Metrics, JobResult):
    """What a job did that learned a model and saved it.

    Attributes
    ----------
    model : str
        Path of the saved model.
    manifest : str
        ``sha256:...`` of the saved copy, which ``expect`` takes.
    digest, preprocessing_digest : str
        ``sha256:...`` of all that was learned, and of what stages before trainers did: that is equal on every engine.
    rows, rows_read : int
        Learned from, and read for it; the rest is in ``dropped`` and ``quarantined``.
    scans : int
        Passes over the data that gathered statistics.
    seconds : float
        In all; ``seconds_of`` has the parts.
    counts : sequence of str
        Of each column that may have very many values, or is sketched: how many were expected, how they were counted,
        and how many there were.
    notes : sequence of str
        What trainers have to say: that one has not converged, say.
    mlflow_run : str or None
        Id of the run of MLflow that it was logged to.
    """

    pipeline: str
    parameters: Mapping[str, Any]
    manifest: str
    preprocessing_digest: str
    rows: int
    rows_read: int
    dropped: Mapping[str, int]
    quarantined: Mapping[str, int]
    scans: int
    seconds_of: Mapping[str, float]
    counts: Sequence[str]
    notes: Sequence[str]
    device_reason: str
    mlflow_run: str | None = None


@dataclass(frozen=True, kw_only=True)
class FitResult(TrainResult):
    """What a fit did."""

    scored: Scored | None


@dataclass(frozen=True, kw_only=True)
class TuneResult(TrainResult):
    """What a search did; rows, scans and what else is about one fit are those of the best parameters.

    Attributes
    ----------
    metric : str
        The metric that trials were compared by.
    best_trial : int
    best_score : float
        Its mean over the folds. ``metrics`` are of rows that no trial saw.
    best_params : mapping
        As ``--set`` takes them.
    trials, pruned : int
        How many there were, and how many of them were stopped before their end.
    failed : sequence of mapping
        The ``trial``, ``params`` and ``reason`` of each that failed.
    study, table : str or None
    """

    metric: str
    best_trial: int
    best_score: float
    best_params: Mapping[str, Any]
    trials: int
    pruned: int
    failed: Sequence[Mapping[str, Any]]
    study: str | None
    table: str | None


@dataclass(frozen=True, kw_only=True)
class EvaluateResult(Metrics, JobResult):
    """Metrics of a saved model on some data."""

    pipeline: str | None


@dataclass(frozen=True, kw_only=True)
class DatasetOutput(Scored):
    """Rows that a job has written, and what became of the others.

    ``files`` were written, into ``partitions`` folders; ``rows_replaced`` of the output that was there gave way, and
    ``rows_unchanged`` are in it still. ``check`` has the ``outcomes`` of the rules that they were written by.
    """

    format: str
    files: int
    partitions: int
    rows_replaced: int
    rows_unchanged: int
    check: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class ScoreResult(JobResult):
    """What scoring did; ``drift`` is what `DriftReport.to_dict` has, of monitored rows."""

    scored: DatasetOutput
    drift: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class ExplainResult:
    """A plan in words; ``predicted`` has its times by number of workers, see `predict`, if asked for."""

    pipeline: str
    plan: str
    predicted: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class CheckResult(TimedResult):
    """What a check of rows found.

    Attributes
    ----------
    data : sequence of str
    rules : str
    passed : bool
        Whether no rule of severity error is broken.
    rows : int
    outcomes : sequence of mapping
        Of each rule what `RuleOutcome` has, and its ``status``: passed, warned or failed.
    """

    data: Sequence[str]
    rules: str
    passed: bool
    rows: int
    outcomes: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class InputRows:
    """An input of a run: its rows, and its records that could not be parsed."""

    path: Sequence[str]
    rows: int
    unparsed: int


@dataclass(frozen=True, kw_only=True)
class ModelOutput:
    """A model that a run has saved, and the rows that statistics of it were learned from."""

    path: str
    digest: str
    manifest: str
    rows: int
    run_id: str


@dataclass(frozen=True, kw_only=True)
class PlannedOutput:
    """What a run would write.

    Attributes
    ----------
    path : str
    kind : str
        ``dataset``, ``model``, or ``function``: what that gives is known when it runs.
    options : mapping
        Those of `Dataset.write` that the catalog has.
    replaces : str
        What is at the path now, in words.
    columns : mapping of str to str
        Types by name.
    """

    path: str
    kind: str
    options: Mapping[str, Any]
    replaces: str
    columns: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class EtlRun:
    """One run of a job.

    Attributes
    ----------
    date : str or None
        The logical date.
    run_id : str
        As it was given, or the new one.
    inputs : mapping of str to InputRows
    unused_inputs : sequence of str
        Those that the module did not take.
    outputs : mapping of str to DatasetOutput, ModelOutput or, of a dry run, PlannedOutput
    seconds : float
    """

    date: str | None
    run_id: str
    inputs: Mapping[str, InputRows]
    unused_inputs: Sequence[str]
    outputs: Mapping[str, DatasetOutput | ModelOutput | PlannedOutput]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class RunResult(TimedResult):
    """What a job did, run by run; each has its date and its name, the parameters are the others."""

    pipeline: str
    parameters: Mapping[str, Any]
    dry_run: bool
    runs: Sequence[EtlRun]
