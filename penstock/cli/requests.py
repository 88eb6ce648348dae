"""What a job is told: plain values, checked when they are made.

The options of a command are the fields of its request: types, defaults, and for their help what its docstring says.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.option_groups import PredictionOptions, RankOptions, WriteOptions, split_names
from penstock.core.errors import ConfigError
from penstock.core.several import settle_several

if TYPE_CHECKING:
    from penstock.pipeline.cardinality import CountOptions


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """What every job is told.

    Parameters
    ----------
    engine : str, optional
        local, dask, spark, a file of conf/engines, or a path.
    device : str, optional
        auto, cpu or gpu.
    staging_dir : path or URL, optional
        Where rows lie that are joined, grouped or sorted; on a cluster a directory that all machines share.
    conf : sequence of path
        YAML with sections engine and pipeline; later ones win.
    pipelines : path
        The folder of pipelines; conf lies beside it.
    runs : path or URL, optional
        The folder of records of runs; runs beside pipelines unless given, none for no record.
    alarms : path, optional
        A YAML file of alarms that the record is checked by; conf/alarms.yaml, where it is there, unless given.
    """

    engine: str | None = None
    device: str | None = None
    staging_dir: str | Path | None = None
    conf: Sequence[str | Path] = ()
    pipelines: str | Path = "pipelines"
    runs: str | Path | None = None
    alarms: str | Path | None = None

    def __post_init__(self) -> None:
        settle_several(self)


@dataclass(frozen=True, kw_only=True)
class DataRequest(JobRequest):
    """What a job is told that reads rows of one kind.

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
    state_cache : path or URL, optional
        Where what is gathered is kept by file, so that files that have not changed are not read again.
    """

    data: Sequence[str]
    format: str | None = None
    allow_unmanifested: bool = False
    max_bad_records: int = 0
    state_cache: str | Path | None = None


@dataclass(frozen=True, kw_only=True)
class CheckRequest(DataRequest):
    """A check of all rows of `data` by rules.

    Parameters
    ----------
    rules : path
        A YAML file of rules, or the name of one in conf/rules.
    memory_budget : str, optional
        Memory of a process for counting values, 4GiB say; half of it unless given.
    """

    rules: str | Path
    memory_budget: str | None = None


@dataclass(frozen=True, kw_only=True)
class ParametersRequest(JobRequest):
    """What a job is told that takes parameters of a module.

    Parameters
    ----------
    set : sequence of str
        A parameter of the pipeline, or of a stage, as scale.with_mean; wins over files.
    """

    set: Sequence[str] = field(default=(), metadata={"metavar": "NAME=VALUE"})


@dataclass(frozen=True, kw_only=True)
class PipelineRequest(ParametersRequest, DataRequest):
    """What a job is told that reads rows for a pipeline."""


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
        return [split_names([each]) for each in self.slices]


@dataclass(frozen=True, kw_only=True)
class TrainRequest(EvaluationRequest, RankOptions):
    """What a job is told that learns a model, evaluates it on rows held out, and saves it.

    Parameters
    ----------
    pipeline : str
        A module of the pipelines folder, or a .py file.
    out : path
        Directory of the model.
    test_fraction : float
        Share of rows held out to evaluate on.
    seed : int
        Decides which rows are held out.
    overwrite : bool
        Replace outputs that are there.
    mlflow : str, optional
        URI of MLflow to log the run to: parameters, metrics and the model. http://127.0.0.1:5000, say.
    mlflow_experiment : str, optional
        Its experiment; the name of the pipeline unless given.
    mlflow_model : str, optional
        Register the model under this name.
    """

    pipeline: str
    out: str | Path
    test_fraction: float = 0.2
    seed: int = 7
    overwrite: bool = False
    mlflow: str | None = None
    mlflow_experiment: str | None = None
    mlflow_model: str | None = None

    @property
    def shares(self) -> dict[str, float]:
        """The shares of rows that are not learned from, by what they are for."""
        return {"test": self.test_fraction}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, share in self.shares.items():
            if not 0 <= share < 1:
                raise ConfigError(f"{name}_fraction is {share}, expected at least 0 and less than 1")
        for name in ("mlflow_experiment", "mlflow_model") if self.mlflow is None else ():
            if getattr(self, name) is not None:
                raise ConfigError(f"{name} is given, and mlflow is not", hint="Say where MLflow is: --mlflow URI.")

    def _refuse_without_test_rows(self, *names: str) -> None:
        for name in (each for each in names if getattr(self, each) and not self.test_fraction):
            raise ConfigError(f"test_fraction is 0, so there are no rows to {name}", hint=f"Leave {name} out.")


@dataclass(frozen=True, kw_only=True)
class FitRequest(TrainRequest, CountingRequest):
    """A fit: learn, evaluate on rows held out, save, and write those rows scored if `score` says where.

    Parameters
    ----------
    score : path, optional
        Directory for the held-out rows, scored.
    validation_fraction : float
        Share of rows watched for early stopping.
    keep_statistics : bool
        Save what was gathered with the model, so that it can learn on: penstock refit.
    keep_profile : bool
        Save how inputs and scores are distributed, of the rows held out if there are any: penstock drift.

    Raises
    ------
    ConfigError
        The shares leave no rows to learn from, or none to score.

    Examples
    --------
    >>> FitRequest(pipeline="clicks", data=["data/*.parquet"], out="models/clicks").test_fraction
    0.2
    """

    score: str | Path | None = None
    validation_fraction: float = 0.0
    keep_statistics: bool = False
    keep_profile: bool = False

    @property
    def shares(self) -> dict[str, float]:
        """The shares of rows that are not learned from, by what they are for."""
        return {"validation": self.validation_fraction, **super().shares}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.test_fraction + self.validation_fraction >= 1:
            shares = f"{self.test_fraction} and {self.validation_fraction}"
            raise ConfigError(f"test_fraction and validation_fraction are {shares}: no rows are left to learn from")
        self._refuse_without_test_rows("score", "report")


@dataclass(frozen=True, kw_only=True)
class TuneRequest(TrainRequest):
    """A search over parameters of a pipeline: every trial on folds, the best one refitted, evaluated and saved.

    Parameters
    ----------
    study : str, optional
        File, or URL of a store or a database, where the search is kept; run again, it goes on.
    strategy : str, optional
        grid, random, tpe, gp or cmaes; wins over the search of the pipeline.
    trials : int, optional
        How many settings to try; wins likewise.
    folds : int, optional
        How many folds; wins likewise.
    metric : str, optional
        What trials are compared by; wins likewise.
    table : path, optional
        Write every trial with its metrics here: .parquet or .csv.
    report : path, optional
        Write an HTML page of the trials here.

    Raises
    ------
    ConfigError
        The share leaves no rows to learn from, or none for slices and intervals.

    Examples
    --------
    >>> TuneRequest(pipeline="clicks", data=["data/*.parquet"], out="models/clicks", trials=20).trials
    20
    """

    study: str | None = None
    strategy: str | None = None
    trials: int | None = None
    folds: int | None = None
    metric: str | None = None
    table: str | Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_without_test_rows("slices", "bootstrap")


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
        super().__post_init__()
        refuse_parameters_of_none(self, self.pipeline, "penstock evaluate PIPELINE --model MODEL --data DATA")


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(WriteOptions, PipelineRequest):
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
        The pipeline, if it has stages of its own, or prepares rows to score too.
    expect : str, optional
        The digest that the saved model must have: sha256:...
    rules : path, optional
        A YAML file of rules, or the name of one in conf/rules: scored rows are checked as they are written.
    monitor : bool
        Compare the rows with the profile of the model, in the same pass.
    limits : path, optional
        With monitor, a YAML file of limits, or the name of one in conf/drift.
    alarm : str, optional
        With monitor, who is told of an alarm: the URL of a webhook, or a command that gets JSON on its stdin.

    Raises
    ------
    ConfigError
        There are parameters of a pipeline, and none is named.
    """

    model: str | Path
    out: str | Path
    columns: Sequence[str] = field(default=(), metadata={"option": "--column"})
    pipeline: str | None = None
    expect: str | None = None
    rules: str | Path | None = None
    monitor: bool = False
    limits: str | Path | None = None
    alarm: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("limits", "alarm"):
            if getattr(self, name) is not None and not self.monitor:
                raise ConfigError(f"{name} is given, and nothing is monitored", hint="Add --monitor.")
        refuse_parameters_of_none(self, self.pipeline, "penstock score MODEL --pipeline PIPELINE --data DATA --out OUT")


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(PredictionOptions, CountingRequest):
    """The plan of a fit of `pipeline` to `data`, in words; and what it will take, by records of smaller ones.

    Parameters
    ----------
    pipeline : str
        A module of the pipelines folder, or a .py file.
    """

    pipeline: str


def refuse_parameters_of_none(request: ParametersRequest, pipeline: str | None, command: str) -> None:
    """Raise ConfigError for parameters of a pipeline where none is named."""
    if request.set and pipeline is None:
        problem = f"set is {list(request.set)}, parameters of a pipeline, and none is named"
        raise ConfigError(problem, hint=f"Name it: {command}.")
