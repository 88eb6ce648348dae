"""What a job is told and what it tells: plain values, checked when they are made.

The options of a command are the fields of its request: with their types, their defaults, and for their help what the
docstring says of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ConfigError

if TYPE_CHECKING:
    from penstock.pipeline.cardinality import CountOptions
    from penstock.spmd import SpmdOptions


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """What every job is told.

    Parameters
    ----------
    data : sequence of str
        Files, globs, directories or URLs of one format.
    format : str, optional
        parquet, csv, jsonl or files; found by the suffixes unless given.
    allow_unmanifested : bool
        Read directories with no _SUCCESS.
    max_bad_records : int
        Records of CSV and JSON lines that may be set aside unparsed.
    engine : str, optional
        local, dask, spark, a file of conf/engines, or a path.
    device : str, optional
        auto, cpu or gpu.
    conf : sequence of path
        YAML with sections engine and pipeline; later ones win.
    pipelines : path
        The folder of pipelines; conf lies beside it.
    """

    data: Sequence[str]
    format: str | None = None
    allow_unmanifested: bool = False
    max_bad_records: int = 0
    engine: str | None = None
    device: str | None = None
    conf: Sequence[str | Path] = ()
    pipelines: str | Path = "pipelines"


@dataclass(frozen=True, kw_only=True)
class PipelineRequest(JobRequest):
    """What a job is told that builds a pipeline.

    Parameters
    ----------
    set : sequence of str
        A parameter of the pipeline, or of a stage, as scale.with_mean; wins over files.
    """

    set: Sequence[str] = field(default=(), metadata={"metavar": "NAME=VALUE"})


@dataclass(frozen=True, kw_only=True)
class CountingRequest(PipelineRequest):
    """What a job is told that counts values of columns, or plans how.

    Parameters
    ----------
    memory_budget : str, optional
        Memory of a process for counting values, 4GiB say; half of it unless given.
    """

    memory_budget: str | None = None

    @property
    def counting(self) -> "CountOptions":
        """The memory for it; ConfigError for what is no size."""
        from penstock.pipeline.cardinality import CountOptions

        return CountOptions(self.memory_budget)


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest(PipelineRequest):
    """How the model of a pipeline is evaluated.

    Parameters
    ----------
    slices : sequence of str
        Report every metric by the values of a column too, or of a combination: country,device.
    bootstrap : int, optional
        Replicates for confidence intervals; 200, say.
    report : path, optional
        Write an HTML page of metrics, curves and slices here.
    """

    slices: Sequence[str] = field(default=(), metadata={"option": "--slice", "metavar": "COLUMN[,COLUMN]"})
    bootstrap: int | None = None
    report: str | Path | None = None

    @property
    def by(self) -> list[list[str]]:
        """The columns of each slicing.

        Examples
        --------
        >>> EvaluationRequest(data=[], slices=["country", "country,device"]).by
        [['country'], ['country', 'device']]
        """
        return [[name.strip() for name in each.split(",")] for each in self.slices]


@dataclass(frozen=True, kw_only=True)
class FitRequest(EvaluationRequest, CountingRequest):
    """A fit: learn, evaluate on rows held out, save, and write those rows scored if `score` says where.

    Parameters
    ----------
    pipeline : str
        A module of the pipelines folder, or a .py file.
    out : path
        Directory of the model.
    score : path, optional
        Directory for the held-out rows, scored.
    test_fraction : float
        Share of rows held out to evaluate on.
    validation_fraction : float
        Share of rows watched for early stopping.
    seed : int
        Decides which rows are held out.
    overwrite : bool
        Replace outputs that are there.
    world_size : int, optional
        Ranks of a training; as many as run at once.
    timeout : float, optional
        Seconds until a silent rank is taken for lost.
    max_restarts : int, optional
        How often a training that lost a rank starts again.
    checkpoint_dir : path, optional
        Where checkpoints outlive the run.
    allow_insecure : bool
        Let ranks of XGBoost listen on all addresses.

    Raises
    ------
    ConfigError
        The shares leave no rows to learn from, or none to score.

    Examples
    --------
    >>> FitRequest(pipeline="clicks", data=["data/*.parquet"], out="models/clicks").test_fraction
    0.2
    """

    pipeline: str
    out: str | Path
    score: str | Path | None = None
    test_fraction: float = 0.2
    validation_fraction: float = 0.0
    seed: int = 7
    overwrite: bool = False
    world_size: int | None = None
    timeout: float | None = field(default=None, metadata={"show_default": "120.0"})
    max_restarts: int | None = field(default=None, metadata={"show_default": "2"})
    checkpoint_dir: str | Path | None = None
    allow_insecure: bool = field(default=False, metadata={"option": "--allow-insecure/--no-allow-insecure"})

    @property
    def spmd(self) -> "SpmdOptions":
        """How trainers run; ConfigError for a value that `SpmdOptions` refuses."""
        from penstock.spmd import SpmdOptions

        names = ("world_size", "timeout", "max_restarts", "checkpoint_dir", "allow_insecure")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        return SpmdOptions(**given)

    def __post_init__(self) -> None:
        for name in ("test_fraction", "validation_fraction"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, expected at least 0 and less than 1")
        if self.test_fraction + self.validation_fraction >= 1:
            raise ConfigError(
                f"test_fraction and validation_fraction are {self.test_fraction} and {self.validation_fraction}:"
                " no rows are left to learn from"
            )
        for name in ("score", "report"):
            if getattr(self, name) is not None and not self.test_fraction:
                raise ConfigError(f"test_fraction is 0, so there are no rows to {name}", hint=f"Leave {name} out.")


@dataclass(frozen=True, kw_only=True)
class EvaluateRequest(EvaluationRequest):
    """An evaluation of a saved model on all rows of `data`, by its own evaluators, or those of its pipeline.

    Parameters
    ----------
    model : path
        Directory of the saved model.
    pipeline : str, optional
        Needed for a model that has no evaluators, that has stages of the module's own, or whose rows it prepares.
    expect : str, optional
        The digest that the saved model must have: sha256:...

    Raises
    ------
    ConfigError
        There are parameters of a pipeline, and none is named.
    """

    model: str | Path
    pipeline: str | None = None
    expect: str | None = None

    def __post_init__(self) -> None:
        if self.set and self.pipeline is None:
            raise ConfigError(
                f"set is {list(self.set)}, parameters of a pipeline, and none is named",
                hint="Name it: penstock evaluate PIPELINE --model MODEL --data DATA.",
            )


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(JobRequest):
    """Rows of `data` transformed by a saved model and written.

    Parameters
    ----------
    model : path
        Directory of the saved model.
    out : path
        Directory for the scored rows.
    columns : sequence of str
        A column to write; all unless given.
    pipeline : str, optional
        The pipeline, if it has stages of its own.
    expect : str, optional
        The digest that the saved model must have: sha256:...
    overwrite : bool
        Replace outputs that are there.
    out_format : str
        parquet, csv or jsonl: what is written.
    """

    model: str | Path
    out: str | Path
    columns: Sequence[str] = field(default=(), metadata={"option": "--column"})
    pipeline: str | None = None
    expect: str | None = None
    overwrite: bool = False
    out_format: str = "parquet"


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(CountingRequest):
    """The plan of a fit of `pipeline` to `data`, in words.

    Parameters
    ----------
    pipeline : str
        A module of the pipelines folder, or a .py file.
    """

    pipeline: str


@dataclass(frozen=True, kw_only=True)
class Scored:
    """Scored rows on disk, and what became of the others; ``quarantine`` is where those set aside are."""

    path: str
    rows: int
    rows_read: int
    dropped: Mapping[str, int]
    quarantined: Mapping[str, int]
    quarantine: str | None
    run_id: str


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """Which model a job was about, how long it took, and where it ran."""

    model: str
    digest: str
    seconds: float
    engine: str
    device: str


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Metrics by MLlib's names; for each that is None, ``undefined`` says why.

    Attributes
    ----------
    bounds : mapping of str to float
        How far the exact value can be from one that was approximated.
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
    intervals: Mapping[str, tuple[float, float]]
    slices: Mapping[str, Sequence[Mapping[str, Any]]]
    report: str | None


@dataclass(frozen=True, kw_only=True)
class FitResult(Metrics, JobResult):
    """What a fit did.

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
    scored: Scored | None


@dataclass(frozen=True, kw_only=True)
class EvaluateResult(Metrics, JobResult):
    """Metrics of a saved model on some data."""

    pipeline: str | None


@dataclass(frozen=True, kw_only=True)
class ScoreResult(JobResult):
    """What scoring did."""

    scored: Scored


@dataclass(frozen=True, kw_only=True)
class ExplainResult:
    """What a fit would do, in words."""

    pipeline: str
    plan: str
