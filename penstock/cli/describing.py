"""The job that says what the columns of data hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.option_groups import split_names
from penstock.cli.recording import recorded
from penstock.cli.requests import DataRequest
from penstock.cli.results import TimedResult
from penstock.core.errors import ConfigError

if TYPE_CHECKING:
    from penstock.core.progress import Progress
    from penstock.dataset.description.data_description import DataDescription
    from penstock.engines.base import Engine


@dataclass(frozen=True, kw_only=True)
class DescribeRequest(DataRequest):
    """A description of the columns of `data`, from one scan.

    Parameters
    ----------
    columns : sequence of str
        A column to describe, or several by comma; all unless given.
    quantiles : str
        Fractions between 0 and 1, by comma.
    top : int
        How many frequent values to tell of a column.
    full : bool
        Tell of histograms, correlations, missing patterns and warnings, too.
    label : str, optional
        The column that is to be predicted: find the columns that give it away.
    report : path, optional
        Write an HTML page of all that here.
    compare : sequence of str
        Files of a second dataset, laid side by side with the first.

    Examples
    --------
    >>> DescribeRequest(data=["data/*.parquet"], quantiles="0.5, 0.99").levels
    [0.5, 0.99]
    """

    columns: Sequence[str] = field(default=(), metadata={"metavar": "COLUMN[,COLUMN]"})
    quantiles: str = "0.25,0.5,0.75"
    top: int = 5
    full: bool = False
    label: str | None = None
    report: str | Path | None = None
    compare: Sequence[str] = field(default=(), metadata={"metavar": "DATA"})

    @property
    def levels(self) -> list[float]:
        """The quantiles as numbers; ConfigError for what is none."""
        try:
            return [float(text) for text in split_names([self.quantiles]) if text]
        except ValueError as error:
            problem = f"quantiles is {self.quantiles!r}, expected fractions by comma"
            raise ConfigError(problem, hint="Write --quantiles 0.05,0.5,0.95.") from error


@dataclass(frozen=True, kw_only=True)
class DescribeResult(TimedResult):
    """What the columns hold: of each what `ColumnDescription.to_dict` has.

    Attributes
    ----------
    missing_patterns, correlations, warnings, label
        Of a full description, as `DataDescription.to_dict` has them.
    comparison : mapping or None
        ``only_left``, ``only_right`` and ``type_changes`` of `DescriptionComparison.to_dict`, and ``right``, what is
        known of the second dataset.
    report : str or None
        Path of the page.
    """

    data: Sequence[str]
    rows: int
    columns: Mapping[str, Mapping[str, Any]]
    missing_patterns: Mapping[str, Any] | None = None
    correlations: Mapping[str, Any] | None = None
    warnings: Sequence[Mapping[str, Any]] = ()
    label: str | None = None
    comparison: Mapping[str, Any] | None = None
    report: str | None = None


@recorded
def describe(request: DescribeRequest, progress: "Progress | None" = None) -> DescribeResult:
    """Describe columns of the data, and of a second dataset beside them; the rows are read once, with a label twice.

    Raises
    ------
    ConfigError, InputError, ExecutionError
        As `Dataset.describe` and reading the rows say.
    """
    from penstock.cli.evaluation import check_report
    from penstock.cli.job_setup import Clock, settings_of_engine

    clock, levels = Clock(), request.levels
    check_report(request.report)
    settings = settings_of_engine(request)
    with settings.start(progress) as engine:
        left = _described(request, levels, engine)
        right = _described(replace(request, data=request.compare), levels, engine) if request.compare else None
    comparison = None if right is None else left.compare(right, names=_names(request))
    if request.report is not None:
        page = left if comparison is None else comparison
        page.write_report(request.report, title=", ".join(request.data), details={"Engine": engine.name})
    beside = None if comparison is None else comparison.to_dict()
    told = {name: value for name, value in (beside or {}).items() if name not in ("names", "left")} or None
    return DescribeResult(
        data=list(request.data),
        **left.to_dict(),
        comparison=told,
        report=None if request.report is None else str(request.report),
        **clock.fields(engine),
    )


def _described(request: DescribeRequest, levels: Sequence[float], engine: "Engine") -> "DataDescription":
    from penstock.cli.job_setup import read_data

    columns, full = split_names(request.columns) or None, request.full or request.report is not None
    dataset = read_data(request, engine, None)
    return dataset.describe(columns, quantiles=levels, top=request.top, full=full, label=request.label)


def _names(request: DescribeRequest) -> tuple[str, str]:
    """Return what two datasets are called: as they are named, unless that is the same."""
    one, other = ", ".join(request.data), ", ".join(request.compare)
    return (one, other) if one != other else ("left", "right")
