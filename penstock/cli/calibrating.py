"""The job that records fits of a few rows, for what they say of all."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from penstock.cli.requests import CountingRequest
from penstock.core.errors import ConfigError, OutputExistsError

if TYPE_CHECKING:
    from penstock.cli.job_setup import JobSetup
    from penstock.cli.placement_tables import CalibrateResult
    from penstock.core.progress import Progress
    from penstock.engines.base import Engine
    from penstock.runs import Run
    from penstock.runs.scaling import ScalingModel


@dataclass(frozen=True, kw_only=True)
class CalibrateRequest(CountingRequest):
    """Fits of `pipeline` to the first rows of `data`, and what follows from their times.

    Parameters
    ----------
    pipeline : str
        A module of the pipelines folder, or a .py file.
    out : path
        The file to write, as JSON, for --calibration of explain and plan.
    rows : str
        How many rows, for each fit.
    repeats : int
        How often each is done.
    overwrite : bool
        Replace a file that is there.

    Raises
    ------
    ConfigError
        Rows are no whole numbers.

    Examples
    --------
    >>> CalibrateRequest(pipeline="clicks", data=["data/*.parquet"], out="calibration.json").sizes
    [250000, 1000000]
    """

    pipeline: str
    out: str | Path
    rows: str = "250000,1000000"
    repeats: int = 1
    overwrite: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeats < 1:
            raise ConfigError(f"repeats is {self.repeats}, expected 1 or more")

    @property
    def sizes(self) -> list[int]:
        """The numbers of rows, the smallest first; ConfigError where one is none."""
        return sorted(whole_numbers("rows", self.rows))


def calibrate(request: CalibrateRequest, progress: "Progress | None" = None) -> "CalibrateResult":
    """Fit the pipeline to the first rows of the data at each size, and write what their records say of any size.

    The smallest fit is done once more before the others, so that these find what only the first one waits for.

    Raises
    ------
    ConfigError
        There are not so many rows.
    OutputExistsError
        The file is there.
    As `penstock.cli.jobs.fit`, besides
    """
    from penstock.cli.job_setup import Clock, JobSetup
    from penstock.cli.placement_tables import CalibrateResult
    from penstock.runs.scaling import ScalingModel

    clock, sizes = Clock(), request.sizes
    if Path(request.out).exists() and not request.overwrite:
        raise OutputExistsError(
            f"{request.out} is there", hint="Pass --overwrite to replace it.", path=str(request.out)
        )
    setup = JobSetup.of(request, request.pipeline)
    with setup.engine.start(progress) as engine:
        started = clock.total()
        runs = [_recorded(request, setup, engine, rows) for rows in [sizes[0], *(sizes * request.repeats)]]
        warm = min(run.seconds for run in runs[1:] if run.info["rows"] == sizes[0])
        model = ScalingModel.fit(runs[1:], start=started + max(0.0, runs[0].seconds - warm))
    model.save(request.out)
    return CalibrateResult(
        pipeline=setup.module.name,
        out=str(request.out),
        runs=[_row(model, run) for run in runs[1:]],
        spread=model.spread,
        start=model.start,
        **clock.fields(engine),
    )


def _recorded(request: CalibrateRequest, setup: "JobSetup", engine: "Engine", rows: int) -> "Run":
    """Return the record of a fit to the first rows; it is not kept."""
    from penstock.runs import Run, record
    from penstock.runs.scaling import first_rows

    sample = setup.prepared(first_rows(setup.read(request, engine), rows))
    with TemporaryDirectory() as folder:
        with record(folder, kind="calibrate", name=setup.module.name) as recording:
            recording.facts["rows"] = rows
            recording.facts["engine"] = {"name": engine.name, "device": str(engine.device), "slots": engine.slots}
            setup.pipeline().fit(sample, counting=request.counting)
        return Run.load(recording.path)


def _row(model: "ScalingModel", run: "Run") -> dict[str, Any]:
    from penstock.runs.scaling import RunObservation

    observed = RunObservation.of(run)
    predicted = model.predict(observed.fragments, workers=observed.workers).seconds - model.start
    return {"rows": run.info["rows"], "workers": observed.workers, "seconds": run.seconds, "predicted": predicted}


def whole_numbers(name: str, text: str) -> list[int]:
    """Return positive whole numbers that stand in a text by commas; ConfigError for any other.

    Examples
    --------
    >>> whole_numbers("workers", "1, 2,4")
    [1, 2, 4]
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise ConfigError(f"{name} is {text!r}, expected whole numbers with commas between", hint=f"--{name} 1,2,4")
    return [int(part) for part in parts]
