"""The command line: options in, a request to `penstock.cli.jobs`, its result printed.

Exit codes: 0 done, 1 unexpected, 2 wrong use or configuration, 3 input, 4 execution, 5 output, 6 saved model,
130 and 143 stopped by Ctrl-C and SIGTERM.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from penstock.core.progress import Progress

app = typer.Typer(
    name="penstock",
    help="Fit, evaluate and score pipelines on one process, Dask or Spark.",
    epilog=(__doc__ or "").partition("\n\n")[2],
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Name = Annotated[str, typer.Argument(metavar="PIPELINE", help="A module of the pipelines folder, or a .py file.")]
Data = Annotated[list[str], typer.Option(help="File, glob, directory or URL; may be repeated.")]
Format = Annotated[str | None, typer.Option(help="parquet, csv, jsonl or files; found by the suffixes unless given.")]
Unmanifested = Annotated[bool | None, typer.Option("--allow-unmanifested", help="Read directories with no _SUCCESS.")]
BadRecords = Annotated[
    int | None,
    typer.Option(show_default="0", help="Records of CSV and JSON lines that may be set aside unparsed."),
]
EngineName = Annotated[
    str | None, typer.Option("--engine", help="local, dask, spark, a file of conf/engines, or a path.")
]
Device = Annotated[str | None, typer.Option(help="auto, cpu or gpu.")]
Conf = Annotated[list[str] | None, typer.Option(help="YAML with sections engine and pipeline; may be repeated.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the pipeline, or of a stage, as scale.with_mean."),
]
Pipelines = Annotated[
    str | None, typer.Option(show_default="pipelines", help="The folder of pipelines; conf lies beside it.")
]
Overwrite = Annotated[bool | None, typer.Option("--overwrite", help="Replace outputs that are there.")]
Expect = Annotated[str | None, typer.Option(help="The digest that the saved model must have: sha256:...")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line of stdout.")]
Slices = Annotated[
    list[str] | None, typer.Option("--slice", metavar="COLUMN[,COLUMN]", help="Report every metric by its values too.")
]
Replicates = Annotated[int | None, typer.Option("--bootstrap", help="Replicates for confidence intervals; 200, say.")]
Report = Annotated[str | None, typer.Option(help="Write an HTML page of metrics, curves and slices here.")]
MemoryBudget = Annotated[
    str | None, typer.Option(help="Memory of a process for counting values, 4GiB say; half of it unless given.")
]
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


@app.command()
def fit(
    pipeline: Name,
    data: Data,
    out: Annotated[str, typer.Option(help="Directory of the model.")],
    score: Annotated[str | None, typer.Option(help="Directory for the held-out rows, scored.")] = None,
    test_fraction: Annotated[
        float | None, typer.Option(show_default="0.2", help="Share of rows held out to evaluate on.")
    ] = None,
    validation_fraction: Annotated[
        float | None, typer.Option(show_default="0.0", help="Share of rows watched for early stopping.")
    ] = None,
    seed: Annotated[int | None, typer.Option(show_default="7", help="Decides which rows are held out.")] = None,
    world_size: Annotated[int | None, typer.Option(help="Ranks of a training; as many as run at once.")] = None,
    timeout: Annotated[
        float | None, typer.Option(show_default="120.0", help="Seconds until a silent rank is taken for lost.")
    ] = None,
    max_restarts: Annotated[
        int | None, typer.Option(show_default="2", help="How often a training that lost a rank starts again.")
    ] = None,
    checkpoint_dir: Annotated[str | None, typer.Option(help="Where checkpoints outlive the run.")] = None,
    allow_insecure: Annotated[bool | None, typer.Option(help="Let ranks of XGBoost listen on all addresses.")] = None,
    memory_budget: MemoryBudget = None,
    slices: Slices = None,
    bootstrap: Replicates = None,
    report: Report = None,
    format: Format = None,
    allow_unmanifested: Unmanifested = None,
    max_bad_records: BadRecords = None,
    engine: EngineName = None,
    device: Device = None,
    conf: Conf = None,
    set: Set = None,
    pipelines: Pipelines = None,
    overwrite: Overwrite = None,
    as_json: Json = False,
    traceback: Trace = False,
) -> None:
    """Fit a pipeline, evaluate it on rows held out, and save the model."""

    def work(progress: Progress) -> Any:
        from penstock.cli import jobs
        from penstock.cli.requests import FitRequest
        from penstock.pipeline.cardinality import CountOptions
        from penstock.spmd import SpmdOptions

        options = SpmdOptions(**_given(
            world_size=world_size, timeout=timeout, max_restarts=max_restarts, checkpoint_dir=checkpoint_dir,
            allow_insecure=allow_insecure,
        ))  # fmt: skip
        request = FitRequest(**_given(
            pipeline=pipeline, data=data, out=out, score=score, test_fraction=test_fraction,
            validation_fraction=validation_fraction, seed=seed, overwrite=overwrite, spmd=options,
            counting=CountOptions(**_given(memory_budget=memory_budget)),
            slices=slices, bootstrap=bootstrap, report=report, format=format,
            allow_unmanifested=allow_unmanifested, max_bad_records=max_bad_records, engine=engine, device=device,
            conf=conf, set=set, pipelines=pipelines,
        ))  # fmt: skip
        return jobs.fit(request, progress)

    _run(work, as_json, traceback)


@app.command()
def evaluate(
    pipeline: Annotated[
        str, typer.Argument(metavar="MODEL", help="Directory of the saved model; or the pipeline, with --model.")
    ],
    data: Data,
    model: Annotated[
        str | None, typer.Option(help="Directory of the saved model, to be evaluated by the pipeline that is named.")
    ] = None,
    expect: Expect = None,
    slices: Slices = None,
    bootstrap: Replicates = None,
    report: Report = None,
    format: Format = None,
    allow_unmanifested: Unmanifested = None,
    max_bad_records: BadRecords = None,
    engine: EngineName = None,
    device: Device = None,
    conf: Conf = None,
    set: Set = None,
    pipelines: Pipelines = None,
    as_json: Json = False,
    traceback: Trace = False,
) -> None:
    """Evaluate a saved model on all rows of the data."""

    def work(progress: Progress) -> Any:
        from penstock.cli import jobs
        from penstock.cli.requests import EvaluateRequest

        request = EvaluateRequest(**_given(
            pipeline=None if model is None else pipeline, model=model or pipeline,
            data=data, expect=expect, slices=slices, bootstrap=bootstrap, report=report, format=format,
            allow_unmanifested=allow_unmanifested, max_bad_records=max_bad_records, engine=engine, device=device,
            conf=conf, set=set, pipelines=pipelines,
        ))  # fmt: skip
        return jobs.evaluate(request, progress)

    _run(work, as_json, traceback)


@app.command()
def score(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Directory of the saved model.")],
    data: Data,
    out: Annotated[str, typer.Option(help="Directory for the scored rows.")],
    columns: Annotated[list[str] | None, typer.Option("--column", help="A column to write; all unless given.")] = None,
    pipeline: Annotated[str | None, typer.Option(help="The pipeline, if it has stages of its own.")] = None,
    expect: Expect = None,
    format: Format = None,
    allow_unmanifested: Unmanifested = None,
    max_bad_records: BadRecords = None,
    engine: EngineName = None,
    device: Device = None,
    conf: Conf = None,
    pipelines: Pipelines = None,
    overwrite: Overwrite = None,
    out_format: Annotated[
        str | None, typer.Option(show_default="parquet", help="parquet, csv or jsonl: what is written.")
    ] = None,
    as_json: Json = False,
    traceback: Trace = False,
) -> None:
    """Write rows scored by a saved model; they need no label."""

    def work(progress: Progress) -> Any:
        from penstock.cli import jobs
        from penstock.cli.requests import ScoreRequest

        request = ScoreRequest(**_given(
            model=model, data=data, out=out, columns=columns, pipeline=pipeline, expect=expect, format=format,
            allow_unmanifested=allow_unmanifested, max_bad_records=max_bad_records, engine=engine, device=device,
            conf=conf, pipelines=pipelines, overwrite=overwrite, out_format=out_format,
        ))  # fmt: skip
        return jobs.score(request, progress)

    _run(work, as_json, traceback)


@app.command()
def explain(
    pipeline: Name,
    data: Data,
    memory_budget: MemoryBudget = None,
    format: Format = None,
    allow_unmanifested: Unmanifested = None,
    max_bad_records: BadRecords = None,
    engine: EngineName = None,
    device: Device = None,
    conf: Conf = None,
    set: Set = None,
    pipelines: Pipelines = None,
    as_json: Json = False,
    traceback: Trace = False,
) -> None:
    """Say what a fit would do: scans, columns, statistics, and where each runs."""

    def work(progress: Progress) -> Any:
        from penstock.cli import jobs
        from penstock.cli.requests import ExplainRequest
        from penstock.pipeline.cardinality import CountOptions

        request = ExplainRequest(**_given(
            pipeline=pipeline, data=data, counting=CountOptions(**_given(memory_budget=memory_budget)), format=format,
            allow_unmanifested=allow_unmanifested, max_bad_records=max_bad_records, engine=engine, device=device,
            conf=conf, set=set, pipelines=pipelines,
        ))  # fmt: skip
        return jobs.explain(request, progress)

    _run(work, as_json, traceback)


@app.command()
def doctor(as_json: Json = False, traceback: Trace = False) -> None:
    """Say what this machine can run, and what to install for the rest."""

    def work(progress: Progress) -> Any:
        from penstock.cli.doctor import examine

        return examine()

    _run(work, as_json, traceback)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; the class that takes them says what the others are."""
    return {name: value for name, value in options.items() if value is not None}


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


def _run(work: Callable[[Progress], Any], as_json: bool, traceback: bool) -> NoReturn:
    from penstock.cli.reporting import Reporter

    raise typer.Exit(Reporter(as_json=as_json, traceback=traceback).run(work))
