"""A job that only does ETL: inputs read, a module's outputs written, for one logical date after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.cli.etl.inputs import Inputs, count_rows, read_inputs
from penstock.cli.etl.logical_dates import date_text
from penstock.cli.etl.module import EtlModule
from penstock.cli.etl.outputs import RunOutputs
from penstock.cli.etl.placeholders import DATE, RUN_ID
from penstock.cli.etl.progress import OutputProgress
from penstock.cli.etl.request import RunRequest
from penstock.cli.etl.setup import EtlSetup, RunPlan
from penstock.cli.job_setup import Clock
from penstock.cli.options import command_line
from penstock.cli.recording import recorded
from penstock.cli.results import EtlRun, RunResult
from penstock.config.secrets import hide
from penstock.core.errors import EmptyInputError, PenstockError
from penstock.core.progress import Progress
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine


@recorded
def run(request: RunRequest, progress: Progress | None = None) -> RunResult:
    """Run a job for its logical date, or for several, one after the other.

    All outputs of a run appear together, or not at all.

    Raises
    ------
    OutputExistsError, OutputError
        An output is there or cannot be written; found out before any work of its run.
    CommitConflictError
        Another run changed an output meanwhile.
    ConfigError
        The module, its parameters or its catalog are wrong, or do not go together; or an output would replace an input.
    InputError, ExecutionError
        As reading, the module and writing say. Whatever is raised, outputs of its run are as they were; of a backfill,
        the hint has the command that goes on.
    """
    clock, setup = Clock(), EtlSetup.of(request)
    told, runs = OutputProgress(progress or Progress()), list[EtlRun]()
    with setup.engine.start(told) as engine:
        work = _Run(module=setup.module, engine=engine, progress=told, overwrite=request.overwrite, dry=request.dry_run)
        for plan in setup.plans:
            try:
                runs.append(work(plan))
            except PenstockError as error:
                raise _with_rest(error, request, setup, len(runs)) from error.__cause__
            if len(setup.plans) > 1:
                told.info(f"{_named(plan)}: run {len(runs)} of {len(setup.plans)} is done")
    return RunResult(
        pipeline=setup.module.name,
        parameters=hide(setup.plans[0].parameters.model_dump(mode="json", exclude={DATE, RUN_ID})),
        dry_run=request.dry_run,
        runs=runs,
        **clock.fields(engine),
    )


@dataclass(frozen=True, kw_only=True)
class _Run:
    """Runs a module, once a plan."""

    module: EtlModule
    engine: Engine
    progress: OutputProgress
    overwrite: bool
    dry: bool

    def __call__(self, plan: RunPlan) -> EtlRun:
        clock = Clock()
        sinks = RunOutputs(self.module.name, plan.catalog.outputs, plan.run_id, overwrite=self.overwrite)
        sinks.check(settle=not self.dry)
        datasets = read_inputs(self.engine, plan.catalog.inputs, self.module.schemas)
        inputs = Inputs(self._empty(datasets) if self.dry else datasets)
        outputs = sinks.accept(self._called(inputs, plan))
        sinks.refuse_inputs(datasets, inputs.taken, outputs)
        for name in inputs.untaken():
            self.progress.note(f"input {name!r} is in the catalog, and run of {self.module.name!r} did not take it")
        written = sinks.plan(outputs) if self.dry else sinks.write(outputs, self.progress)
        return EtlRun(
            date=None if plan.date is None else date_text(plan.date),
            run_id=plan.run_id,
            inputs={name: count_rows(plan.catalog.inputs[name], dataset) for name, dataset in datasets.items()},
            unused_inputs=inputs.untaken(),
            outputs=written,
            seconds=clock.total(),
        )

    def _empty(self, datasets: Mapping[str, Dataset]) -> dict[str, Dataset]:
        """Return datasets of the same columns without rows, so that nothing is read, whatever a module asks for."""
        return {name: self.engine.from_arrow(each.schema.empty_table()) for name, each in datasets.items()}

    def _called(self, inputs: Inputs, plan: RunPlan) -> Mapping[str, Any]:
        try:
            return self.module.run(inputs, plan.parameters)
        except EmptyInputError as error:
            if not self.dry:
                raise
            hint = (
                'A dry run has no rows. Return a function for what needs some: {"model": lambda: pipeline.fit(rows)}.'
            )
            raise EmptyInputError(error.message, hint=hint, **error.place) from error


def _with_rest(error: PenstockError, request: RunRequest, setup: EtlSetup, done: int) -> PenstockError:
    """Return the error of a run of a backfill with what is done, and the command that goes on."""
    if request.start is None or request.dry_run:
        return error
    failed = setup.plans[done]
    rest = replace(request, start=_named(failed))
    hint = (
        f"{error.hint or ''} Run {done + 1} of {len(setup.plans)}, for {_named(failed)}, failed; those before are done."
        f" Go on with: {command_line(rest, 'run', 'pipeline')}"
    )
    return type(error)(error.message, hint=hint.strip(), **error.place)


def _named(plan: RunPlan) -> str:
    return plan.run_id if plan.date is None else date_text(plan.date)
