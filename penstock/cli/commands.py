"""The command line: options in, a request to `penstock.cli.jobs`, its result printed.

Exit codes: 0 done, 1 unexpected, 2 wrong use or configuration, 3 input, 4 execution, 5 output, 6 saved model,
99 nothing to promote, 130 and 143 stopped by Ctrl-C and SIGTERM.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial, wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.calibrating import CalibrateRequest
from penstock.cli.describing import DescribeRequest
from penstock.cli.drift import DriftRequest
from penstock.cli.etl.request import RunRequest
from penstock.cli.options import options_of
from penstock.cli.planning import PlanRequest
from penstock.cli.projects.requests import ListPipelinesRequest, NewProjectRequest
from penstock.cli.refitting import RefitRequest
from penstock.cli.registry.requests import DiffModelsRequest, ListModelsRequest, PromoteRequest, ShowModelRequest
from penstock.cli.requests import CheckRequest, EvaluateRequest, ExplainRequest, FitRequest, ScoreRequest, TuneRequest
from penstock.cli.runs.requests import AlarmsRequest, CompareRunsRequest, ListRunsRequest, ShowRunRequest
from penstock.cli.serving import ServeRequest
from penstock.cli.watching import WatchRequest

if TYPE_CHECKING:
    from penstock.core.progress import Progress

app = typer.Typer(
    name="penstock",
    help="Fit, tune, evaluate, score and promote models, and run ETL jobs, on one process, Dask or Spark.",
    epilog=(__doc__ or "").partition("\n\n")[2],
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

models = typer.Typer(help="Look into a registry of models.", no_args_is_help=True)
app.add_typer(models, name="models")

runs = typer.Typer(help="Look into records of runs: what they did, where, and for how long.", no_args_is_help=True)
app.add_typer(runs, name="runs")

Job = Callable[..., Any]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line of stdout.")]
Trace = Annotated[bool, typer.Option("--traceback", help="Print the traceback of an error.")]


def _print_version(asked: bool) -> None:
    if asked:
        from penstock import __version__

        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Take what comes before a command."""


def _command(
    request: type[Any] | None = None, *arguments: str, group: typer.Typer = app, name: str | None = None
) -> Callable[[Job], Job]:
    """Make a job a command, whose options are the fields of a request, but for arguments, and the job's parameters.

    The job is called with a progress and the options that were given; the class that takes them says what the others
    are.
    """

    def add(job: Job) -> Job:
        def run(*, as_json: Json = False, traceback: Trace = False, **options: Any) -> None:
            from penstock.cli.reporting import Reporter

            given = {name: value for name, value in options.items() if value is not None}
            raise typer.Exit(Reporter(as_json=as_json, traceback=traceback).run(partial(job, **given)))

        fields = [] if request is None else options_of(request, *arguments)
        common = [each for function in (job, run) for each in signature(function).parameters.values()]
        options = {each.name: each for each in [*fields, *common] if each.kind is Parameter.KEYWORD_ONLY}
        run.__signature__ = Signature(list(options.values()))  # type: ignore[attr-defined]
        group.command(name or job.__name__, help=job.__doc__)(run)
        return job

    return add


def _job(
    place: str, request: type[Any], *arguments: str, group: typer.Typer = app, name: str | None = None
) -> Callable[[Job], Job]:
    """Make the name and docstring of a function a command; its job is imported late, at the call.

    The job is at ``module:function`` of this package, and takes the request and a progress.
    """

    def add(about: Job) -> Job:
        @wraps(about)
        def job(progress: "Progress", **options: Any) -> Any:
            module, _, function = place.partition(":")
            return getattr(import_module(f"penstock.cli.{module}"), function)(request(**options), progress)

        return _command(request, *arguments, group=group, name=name)(job)

    return add


@_job("jobs:fit", FitRequest, "pipeline")
def fit() -> None:
    """Fit a pipeline, evaluate it on rows held out, and save the model."""


@_job("jobs:tune", TuneRequest, "pipeline")
def tune() -> None:
    """Search parameters of a pipeline by cross-validation, and save the model of the best."""


@_command(EvaluateRequest)
def evaluate(
    progress: "Progress",
    *,
    pipeline: Annotated[
        str, typer.Argument(metavar="MODEL", help="Directory of the saved model; or the pipeline, with --model.")
    ],
    model: Annotated[
        str | None, typer.Option(help="Directory of the saved model, to be evaluated by the pipeline that is named.")
    ] = None,
    **options: Any,
) -> Any:
    """Evaluate a saved model on all rows of the data."""
    from penstock.cli import jobs

    named: dict[str, Any] = {"model": pipeline} if model is None else {"model": model, "pipeline": pipeline}
    return jobs.evaluate(EvaluateRequest(**named, **options), progress)


@_job("jobs:score", ScoreRequest, "model")
def score() -> None:
    """Write rows scored by a saved model; they need no label."""


@_job("refitting:refit", RefitRequest, "model")
def refit() -> None:
    """Have a saved model that keeps statistics learn on, from new rows alone."""


@_job("drift:drift", DriftRequest, "model")
def drift() -> None:
    """Compare rows with those that a saved model has a profile of; exit code 3 if there is an alarm."""


@_job("jobs:explain", ExplainRequest, "pipeline")
def explain() -> None:
    """Say what a fit would do: scans, columns, statistics, and where each runs; and, with --workers, what it takes."""


@_job("calibrating:calibrate", CalibrateRequest, "pipeline")
def calibrate() -> None:
    """Fit a pipeline to a few rows, and write what the times say of any number of rows and workers."""


@_job("planning:plan", PlanRequest, "pipeline")
def plan() -> None:
    """Say which machines a fit is best placed on, by cost, time or energy, and the settings for them."""


@_job("checking:check", CheckRequest, "data")
def check() -> None:
    """Check rows by the rules of a file; exit code 3 if one of severity error is broken."""


@_job("describing:describe", DescribeRequest, "data")
def describe() -> None:
    """Say what the columns of data hold: missing and distinct values, moments, quantiles, frequent values."""


@_job("jobs:run", RunRequest, "pipeline")
def run() -> None:
    """Run a job that only does ETL: its inputs in, its outputs written, all of them or none."""


@_job("jobs:promote", PromoteRequest, "challenger", "champion")
def promote() -> None:
    """Promote a challenger that is better than the champion on the same rows; exit code 99 if it is not."""


@_job("serving:serve", ServeRequest, "model")
def serve() -> None:
    """Score rows over HTTP by a saved model: POST /predict; GET /schema, /health, /metrics."""


@_job("jobs:list_models", ListModelsRequest, "registry", group=models, name="list")
def list_models() -> None:
    """List the versions of a registry, with aliases and metrics."""


@_job("jobs:show_model", ShowModelRequest, "model", group=models, name="show")
def show_model() -> None:
    """Say what is known of a model: stages, columns, metrics, lineage, promotions."""


@_job("jobs:diff_models", DiffModelsRequest, "one", "other", group=models, name="diff")
def diff_models() -> None:
    """Say what two models do not have in common."""


@_job("runs.jobs:list_runs", ListRunsRequest, group=runs, name="list")
def list_runs() -> None:
    """List the runs of a folder, by any field of their records."""


@_job("runs.jobs:show_run", ShowRunRequest, "run", group=runs, name="show")
def show_run() -> None:
    """Say what a run did and where its time went; write its page, or a trace for Perfetto."""


@_job("runs.jobs:compare_runs", CompareRunsRequest, "one", "other", group=runs, name="compare")
def compare_runs() -> None:
    """Say by which fields two runs differ, and how their times compare."""


@_job("runs.jobs:check_run", AlarmsRequest, "run")
def alarms() -> None:
    """Check a run by alarms, and tell of those that are raised; exit code 3 if one is of severity error."""


@_job("watching:watch", WatchRequest, "run")
def watch() -> None:
    """Follow a run under way: scans and trainings, workers, time left; until it ends."""


@_job("projects.new_project:new_project", NewProjectRequest, "folder")
def init() -> None:
    """Make a new project: a pipeline that runs, a sample, tests, files for spark-submit and a DAG."""


@_job("projects.listing:list_pipelines", ListPipelinesRequest, name="list")
def list_modules() -> None:
    """List the pipelines and ETL jobs of a project."""


@_command()
def doctor(progress: "Progress") -> Any:
    """Say what this machine can run, and what to install for the rest."""
    from penstock.cli.doctor import examine

    return examine()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; the environment of the process is left as it is."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return int(app(arguments, prog_name="penstock", standalone_mode=False) or 0)
    except Exception as error:
        if not hasattr(error, "format_message"):  # of Click's errors, whichever package has them
            raise
        from penstock.cli.reporting import usage_failed

        return usage_failed(error, arguments)
