"""The job that has a saved model learn on from new rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.requests import CountingRequest, refuse_parameters_of_none
from penstock.cli.write_options import split_names

if TYPE_CHECKING:
    from penstock.core.progress import Progress


@dataclass(frozen=True, kw_only=True)
class RefitRequest(CountingRequest):
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
    overwrite: bool = False
    pipeline: str | None = None
    expect: str | None = None

    def __post_init__(self) -> None:
        refuse_parameters_of_none(self, self.pipeline, "penstock refit MODEL --pipeline PIPELINE --data DATA --out OUT")


@dataclass(frozen=True, kw_only=True)
class RefitResult:
    """What a refit learned, and from how many new rows."""

    model: str
    manifest: str
    digest: str
    rows: int
    rows_read: int
    frozen: Sequence[str]
    seconds: float
    engine: str
    device: str


def refit(request: RefitRequest, progress: "Progress | None" = None) -> RefitResult:
    """Have a saved model learn on, and save what comes of it: whole or not at all.

    Raises
    ------
    ConfigError, InputError, ExecutionError, ArtifactError, OutputError
        As `PipelineModel.refit`, reading and saving say. Whatever is raised, what was on disk is as it was.
    """
    from penstock.cli.job_setup import Clock, JobSetup, read_conf, read_data, settings_of_engine
    from penstock.cli.project import load_pipeline
    from penstock.pipeline.model import PipelineModel

    clock, frozen = Clock(), split_names(request.freeze)
    module = load_pipeline(request.pipeline, request.pipelines) if request.pipeline else None
    setup = JobSetup.of_module(request, module) if module else None
    model = PipelineModel.load(request.model, expect=request.expect, stages=module.stages if module else {})
    settings = setup.engine if setup else settings_of_engine(request, read_conf(request)["engine"])
    with settings.start(progress) as engine:
        dataset = setup.labelled(request, engine) if setup else read_data(request, engine, model.schema)
        learned = model.refit(dataset, freeze=frozen, fresh=request.fresh, counting=request.counting)
        manifest = learned.save(request.out, overwrite=request.overwrite)
    rows = learned.report.rows  # type: ignore[union-attr]
    return RefitResult(
        model=str(request.out),
        manifest=manifest,
        digest=learned.digest,
        rows=rows.kept,
        rows_read=rows.read,
        frozen=frozen,
        **clock.fields(engine),
    )
