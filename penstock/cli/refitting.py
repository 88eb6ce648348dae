"""The job that has a saved model learn on from new rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.option_groups import RankOptions, split_names
from penstock.cli.recording import recorded
from penstock.cli.requests import CountingRequest, refuse_parameters_of_none
from penstock.cli.results import JobResult
from penstock.core.errors import ConfigError

if TYPE_CHECKING:
    from penstock.core.progress import Progress
    from penstock.pipeline.model import PipelineModel


@dataclass(frozen=True, kw_only=True)
class RefitRequest(CountingRequest, RankOptions):
    """A model that learns on from the rows of `data`, and is saved anew.

    Parameters
    ----------
    model : path
        Directory of the saved model; it keeps statistics, as by `fit --keep-statistics`.
    out : path
        Directory for the new model; that of the old one, with overwrite.
    freeze : sequence of str
        A stage that keeps what it has learned, or several by comma.
    fresh : bool
        Forget the rows before: what is not frozen is learned from `data` alone.
    warm_start : sequence of str
        A trainer that begins where it was and is trained on `data` alone, or several by comma.
    validation_fraction : float
        Share of rows watched for early stopping.
    seed : int
        Decides which rows these are.
    overwrite : bool
        Replace what is there.
    pipeline : str, optional
        The pipeline, if it has stages of its own, or prepares rows.
    expect : str, optional
        The digest that the saved model must have: sha256:...
    """

    model: str | Path
    out: str | Path
    freeze: Sequence[str] = field(default=(), metadata={"metavar": "STAGE[,STAGE]"})
    fresh: bool = False
    warm_start: Sequence[str] = field(default=(), metadata={"metavar": "STAGE[,STAGE]"})
    validation_fraction: float = 0.0
    seed: int = 7
    overwrite: bool = False
    pipeline: str | None = None
    expect: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.validation_fraction < 1:
            raise ConfigError(
                f"validation_fraction is {self.validation_fraction}, expected at least 0 and less than 1",
                hint="0.1 is a tenth of the rows.",
            )
        refuse_parameters_of_none(self, self.pipeline, "penstock refit MODEL --pipeline PIPELINE --data DATA --out OUT")


@dataclass(frozen=True, kw_only=True)
class RefitResult(JobResult):
    """What a refit learned, and from how many new rows."""

    manifest: str
    rows: int
    rows_read: int
    frozen: Sequence[str]
    warm_started: Sequence[str]


@recorded
def refit(request: RefitRequest, progress: "Progress | None" = None) -> RefitResult:
    """Have a saved model learn on, and save what comes of it: whole or not at all.

    Raises
    ------
    ConfigError, InputError, ExecutionError, ArtifactError, OutputError
        As `PipelineModel.refit`, reading and saving say. Whatever is raised, what was on disk is as it was.
    CommitConflictError
        Another run has replaced what was at `out` meanwhile: of two refits at once, the rows of one would be lost.
    """
    from penstock.artefact import seal
    from penstock.io.sinks import OutputCommit, new_run_id, output_directory

    staged = output_directory(request.out, overwrite=request.overwrite, run_id=new_run_id())
    with OutputCommit(staged) as joint:  # before the model is read, so that a change of it from now on is noticed
        model, result = _learned(request, progress)
        manifest = seal(model, staged)
        joint.commit()
    return replace(result, manifest=manifest)


def _learned(request: RefitRequest, progress: "Progress | None") -> "tuple[PipelineModel, RefitResult]":
    """Return the model that has learned on, and what is said of it; nothing is saved yet."""
    from penstock.cli.job_setup import Clock, JobSetup, read_data, settings_of_engine
    from penstock.pipeline.model import PipelineModel

    clock, frozen, warm = Clock(), split_names(request.freeze), split_names(request.warm_start)
    setup = JobSetup.of(request, request.pipeline) if request.pipeline else None
    model = PipelineModel.load(request.model, expect=request.expect, stages=setup.module.stages if setup else {})
    settings = setup.engine if setup else settings_of_engine(request)
    with settings.start(progress) as engine:
        dataset = setup.labelled(request, engine) if setup else read_data(request, engine, model.schema)
        share = request.validation_fraction
        train, *watched = dataset.split([1 - share, share], seed=request.seed) if share else [dataset]
        learned = model.refit(
            train,
            freeze=frozen,
            fresh=request.fresh,
            warm_start=warm or False,
            validation=next(iter(watched), None),
            options=request.spmd,
            counting=request.counting,
        )
    rows = learned.report.rows  # type: ignore[union-attr]
    return learned, RefitResult(
        model=str(request.out),
        manifest="",
        digest=learned.digest,
        rows=rows.kept,
        rows_read=rows.read,
        frozen=frozen,
        warm_started=warm,
        **clock.fields(engine),
    )
