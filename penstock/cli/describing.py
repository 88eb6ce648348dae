"""The job that says what the columns of data hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.cli.requests import DataRequest
from penstock.cli.write_options import split_names
from penstock.core.errors import ConfigError

if TYPE_CHECKING:
    from penstock.core.progress import Progress


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

    Examples
    --------
    >>> DescribeRequest(data=["data/*.parquet"], quantiles="0.5, 0.99").levels
    [0.5, 0.99]
    """

    columns: Sequence[str] = field(default=(), metadata={"metavar": "COLUMN[,COLUMN]"})
    quantiles: str = "0.25,0.5,0.75"
    top: int = 5

    @property
    def levels(self) -> list[float]:
        """The quantiles as numbers; ConfigError for what is none."""
        try:
            return [float(text) for text in split_names([self.quantiles]) if text]
        except ValueError as error:
            problem = f"quantiles is {self.quantiles!r}, expected fractions by comma"
            raise ConfigError(problem, hint="Write --quantiles 0.05,0.5,0.95.") from error


@dataclass(frozen=True, kw_only=True)
class DescribeResult:
    """What the columns hold: of each what `ColumnDescription.to_dict` has."""

    data: Sequence[str]
    rows: int
    columns: Mapping[str, Mapping[str, Any]]
    seconds: float
    engine: str
    device: str


def describe(request: DescribeRequest, progress: "Progress | None" = None) -> DescribeResult:
    """Describe columns of the data; the rows are read once.

    Raises
    ------
    ConfigError, InputError, ExecutionError
        As `Dataset.describe` and reading the rows say.
    """
    from penstock.cli.job_setup import Clock, read_conf, read_data, settings_of_engine

    clock, levels = Clock(), request.levels
    settings = settings_of_engine(request, read_conf(request)["engine"])
    with settings.start(progress) as engine:
        columns = split_names(request.columns) or None
        found = read_data(request, engine, None).describe(columns, quantiles=levels, top=request.top)
    return DescribeResult(data=list(request.data), **found.to_dict(), **clock.fields(engine))
