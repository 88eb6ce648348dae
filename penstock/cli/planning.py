"""The job that says which machines a fit is best placed on."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from penstock.cli.requests import ExplainRequest, PipelineRequest
from penstock.core.errors import ConfigError

if TYPE_CHECKING:
    from penstock.cli.placement_tables import PlanResult
    from penstock.core.progress import Progress
    from penstock.runs.placement import ClusterPlan, Workload

FILES = {"spark_submit": "spark-submit.args", "dask": "dask.yaml", "slurm": "slurm.sh", "kubernetes": "kubernetes.yaml"}
"""Settings by what they are for, and the files that they are written to."""


@dataclass(frozen=True, kw_only=True)
class PlanRequest(PipelineRequest):
    """Machines for a fit of `pipeline` to `data`, by what records of smaller fits predict.

    Parameters
    ----------
    pipeline : str
        A module of the pipelines folder, or a .py file.
    minimise : str
        cost, time or energy.
    deadline : str, optional
        What it may take at most: 1h, 90min, 1h 30min.
    budget : float, optional
        What it may cost at most, in the currency of the prices.
    machines : path, optional
        A YAML file of types of machines; machines.yaml of conf unless given.
    calibration : path or URL, optional
        The file of penstock calibrate; unless given, records of fits of the pipeline in runs are taken.
    worker_memory : str, optional
        Memory that a worker needs, 4GiB say; that of the records unless given.
    out : path, optional
        Write settings for spark-submit, Dask, Slurm and Kubernetes to this folder.

    Raises
    ------
    ConfigError
        The budget is no amount.

    Examples
    --------
    >>> PlanRequest(pipeline="clicks", data=["data/*.parquet"], deadline="90min").seconds
    5400.0
    """

    pipeline: str
    minimise: str = "cost"
    deadline: str | None = None
    budget: float | None = None
    machines: str | Path | None = None
    calibration: str | Path | None = None
    worker_memory: str | None = None
    out: str | Path | None = None

    @property
    def seconds(self) -> float | None:
        """The deadline; ConfigError for what is no duration."""
        from penstock.runs.placement.durations import parse_duration

        return None if self.deadline is None else parse_duration(self.deadline)


def plan(request: PlanRequest, progress: "Progress | None" = None) -> "PlanResult":
    """Return the machines that are best, others to choose from, and settings for them; no rows are read.

    Raises
    ------
    InfeasiblePlanError
        Nothing is within the deadline and the budget.
    ConfigError, InputError
        The machines, the calibration or the data are not there, or not as expected; or there are no records.
    """
    from penstock.cli.job_setup import Clock, conf_folder
    from penstock.cli.placement_tables import PlanResult
    from penstock.core.errors import check_one_of
    from penstock.runs.placement import plan_cluster, read_machines
    from penstock.runs.placement.offers import Device

    clock, device = Clock(), request.device or "auto"
    check_one_of("device", device, get_args(Device))
    machines = read_machines(request.machines or conf_folder(request) / "machines.yaml")
    deadline, rows = request.seconds, _fragment_rows(request)
    planned = plan_cluster(
        _workload(request, rows),
        machines,
        minimise=request.minimise,
        deadline=deadline,
        budget=request.budget,
        device=device,  # type: ignore[arg-type]
    )
    settings = _settings(planned.best)
    return PlanResult(
        pipeline=request.pipeline,
        rows=sum(rows),
        fragments=len(rows),
        minimise=request.minimise,
        deadline=deadline,
        budget=request.budget,
        best=_row(planned.best),
        alternatives={name: _row(each) for name, each in planned.alternatives.items()},
        limited_by=planned.limited_by,
        left_out=planned.left_out,
        settings=settings,
        files=[] if request.out is None else list(_written(settings, Path(request.out))),
        seconds=clock.total(),
    )


def _fragment_rows(request: PlanRequest) -> list[int]:
    """Return the rows of each fragment, from what files say of themselves; data that a fit refuses is refused here."""
    from penstock.cli.job_setup import JobSetup
    from penstock.engines.local.engine import LocalEngine

    setup = JobSetup.of(request, request.pipeline)
    with LocalEngine(device="cpu") as engine:
        source = setup.read(request, engine)
        setup.pipeline().plan(setup.prepared(source))
        return [fragment.rows for fragment in source.fragments]


def _workload(request: PlanRequest, rows: list[int]) -> "Workload":
    from penstock.core.sizes import parse_bytes
    from penstock.runs.placement.workload import SampledWorkload
    from penstock.runs.scaling import ScalingModel

    if request.calibration is not None:
        model = ScalingModel.load(request.calibration)
    else:
        model = ScalingModel.fit(recorded_fits(request))
    memory = None if request.worker_memory is None else parse_bytes(request.worker_memory)
    return SampledWorkload(model.workload(rows), memory)


def recorded_fits(request: "PlanRequest | ExplainRequest") -> list[Any]:
    """Return the records of fits of the pipeline of a request that ended well; ConfigError where there is none."""
    from penstock.cli.recording import runs_folder
    from penstock.runs import RunStore

    folder, name = runs_folder(request), Path(request.pipeline).name
    store: Iterable[Any] = [] if folder is None else RunStore(folder)
    runs = [run for run in store if (run.kind, run.name, run.status) == ("fit", name, "done")]
    if not runs:
        problem = f"there is no calibration, and {folder or 'no folder of runs'} has no record of a fit of {name}"
        raise ConfigError(problem, hint="Pass --calibration FILE, or --runs FOLDER with fits of two sizes.")
    return runs


def _settings(plan: "ClusterPlan") -> dict[str, str]:
    from penstock.runs.placement import settings

    texts = (settings.spark_submit(plan), settings.dask_engine(plan), settings.sbatch_header(plan))
    return dict(zip(FILES, (*texts, settings.dask_cluster(plan)), strict=True))


def _written(settings: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Write each text to its file, and yield the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in settings.items():
        path = folder / FILES[name]
        path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
        yield str(path)


def _row(plan: "ClusterPlan") -> dict[str, Any]:
    names = ("workers", "device", "seconds", "interval", "cost", "energy", "parts")
    return {"machines": plan.counts, **{name: getattr(plan, name) for name in names}}
