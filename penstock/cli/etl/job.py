"""A job that only does ETL: inputs read, a module's outputs written, for one logical date after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from penstock.cli.etl.catalog import Catalog, Entry, read_catalog
from penstock.cli.etl.module import EtlModule, load_job
from penstock.cli.etl.outputs import RunOutputs
from penstock.cli.etl.placeholders import DATE, RUN_ID
from penstock.cli.etl.progress import OutputProgress
from penstock.cli.etl.request import RunRequest
from penstock.cli.inputs import read
from penstock.cli.job_setup import Clock, conf_folder, read_conf, settings_of_engine
from penstock.cli.options import command_line
from penstock.cli.project import CATALOG, SEARCH, file_settings
from penstock.cli.recording import recorded
from penstock.cli.results import EtlRun, InputRows, RunResult
from penstock.config.secrets import hide
from penstock.config.settings import Settings, read_assignments
from penstock.config.strict_yaml import Place, Places
from penstock.core.errors import ConfigError, EmptyInputError, PenstockError, check_one_of, did_you_mean
from penstock.core.progress import Progress
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.settings import EngineSettings
from penstock.io.sinks import new_run_id


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


def read_inputs(engine: Engine, entries: Mapping[str, Entry], schemas: Mapping[str, pa.Schema]) -> dict[str, Dataset]:
    """Return the datasets of a catalog by name; of their files only footers, headers or lines are looked at.

    Raises
    ------
    ConfigError
        There are types of an input that the catalog does not have; or an option is wrong, with where it stands.
    InputError
        As the engine's readers say.
    """
    for name in schemas:
        if name not in entries:
            raise ConfigError(
                f"SCHEMAS has input {name!r}, which the catalog does not have.{did_you_mean(name, entries)}",
                hint=_add(name, entries),
            )
    return {name: _read(engine, entry, schemas.get(name)) for name, entry in entries.items()}


def _read(engine: Engine, entry: Entry, types: pa.Schema | None) -> Dataset:
    options = dict(entry.options)
    named: dict[str, Any] = {
        each: options.pop(each) for each in ("format", "allow_unmanifested", "max_bad_records") if each in options
    }
    with entry.located():
        return read(engine, entry.paths, types=types, options=options, **named)


def count_rows(entry: Entry, dataset: Dataset) -> InputRows:
    """Return how many rows an input has, and how many records cannot be parsed; nothing is read for it."""
    unparsed = sum(dataset.reader.unparsed(fragment).num_rows for fragment in dataset.fragments)
    return InputRows(path=list(entry.paths), rows=dataset.count(), unparsed=unparsed)


@dataclass(frozen=True)
class Inputs(Mapping[str, Dataset]):
    """Datasets by name, with a note of those that are taken."""

    datasets: Mapping[str, Dataset]
    taken: set[str] = field(default_factory=set)

    def __getitem__(self, name: str) -> Dataset:
        if name not in self.datasets:
            raise ConfigError(
                f"run takes input {name!r}, which the catalog does not have.{did_you_mean(name, self.datasets)}",
                hint=_add(name, self.datasets),
            )
        self.taken.add(name)
        return self.datasets[name]

    def __contains__(self, name: object) -> bool:
        return name in self.datasets

    def get(self, name: str, default: Any = None) -> Any:
        """Return an input, or a default where the catalog does not have it."""
        known = name in self.datasets
        return self[name] if known else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.datasets)

    def __len__(self) -> int:
        return len(self.datasets)

    def untaken(self) -> list[str]:
        """Return the names of the inputs that nobody took."""
        return [name for name in self.datasets if name not in self.taken]


def _add(name: str, known: Mapping[str, Any]) -> str:
    there = f" There are: {', '.join(known)}." if known else ""
    return f"Add it below catalog: inputs: in the file of the job, or with --in {name}=PATH.{there}"


@dataclass(frozen=True)
class RunPlan:
    """What one run is given: its logical date, its name, the parameters, and the catalog with paths filled."""

    date: datetime | None
    run_id: str
    parameters: BaseModel
    catalog: Catalog


@dataclass(frozen=True)
class EtlSetup:
    """The module, the engine and the runs of a job; nothing is started.

    Attributes
    ----------
    module : EtlModule
    engine : EngineSettings
    plans : list of RunPlan
        One a logical date, in order.
    """

    module: EtlModule
    engine: EngineSettings
    plans: Sequence[RunPlan]

    @classmethod
    def of(cls, request: RunRequest) -> EtlSetup:
        """Return what a request names, from its files and options.

        Raises
        ------
        ConfigError
            A name is not known, a value is not of its type, or a placeholder has no value; says where it stands.
        """
        conf, module = read_conf(request), load_job(request.pipeline, request.pipelines)
        known = module.parameters.model_fields
        file = file_settings(module.name, conf_folder(request) / "pipelines")
        of_job = [_split(each, known) for each in (conf["pipeline"], file)]
        given = read_assignments(request.set, module.parameters)
        settings = given.over(of_job[0][0]).over(of_job[1][0])
        catalog = read_catalog(
            [each for _, each in of_job], request.inputs, request.outputs, list(dict.fromkeys([DATE, RUN_ID, *known]))
        )
        dates = _dates(request)
        if dates != [None] and DATE in given.values:
            raise ConfigError(f"{given.where(DATE)}: the date is given by an option of its own, too")
        plans = [_plan(module, settings, catalog, each, _run_id(request, each)) for each in dates]
        return cls(module, settings_of_engine(request, conf["engine"]), plans)


def _split(settings: Settings, known: Any) -> tuple[Settings, Settings]:
    """Return the parameters of a job in a file, and its catalog; what a search has is left aside."""
    named, _ = settings.split(lambda name, _: name == SEARCH and name not in known)
    parameters, rest = named.split(lambda name, _: name == CATALOG and name not in known)
    return parameters, rest.section(CATALOG)


def _dates(request: RunRequest) -> list[datetime] | list[None]:
    if request.start is not None and request.end is not None:
        return logical_dates(request.start, request.end, request.every)
    return [None] if request.date is None else [logical_date(request.date)]


def _run_id(request: RunRequest, moment: datetime | None) -> str:
    """Return the name of a run; of a backfill each has its own, which is the same when it runs again."""
    if request.run_id is None:
        return new_run_id()
    if not request.run_id:
        raise ConfigError("run_id is empty, expected a name of the run")
    return request.run_id if request.start is None or moment is None else f"{request.run_id}.{date_text(moment)}"


def _plan(module: EtlModule, settings: Settings, catalog: Catalog, moment: datetime | None, run_id: str) -> RunPlan:
    fields = module.parameters.model_fields
    texts = {DATE: None if moment is None else date_text(moment), RUN_ID: run_id}
    given = {name: text for name, text in texts.items() if name in fields and text is not None}
    places: Places = {(name,): Place(f"--{name.replace('_', '-')} {text}", text) for name, text in given.items()}
    settings = Settings(dict(given), places).over(settings)
    if DATE in fields and fields[DATE].is_required() and DATE not in settings.values:
        raise ConfigError(f"date is not given, and {module.name!r} is about one", hint="Give it: --date 2024-01-05.")
    parameters = settings.fill(module.parameters)
    known = {name: getattr(parameters, name) for name in fields}
    logical: date | None = moment or known.get(DATE)
    return RunPlan(moment, run_id, parameters, catalog.fill({**known, DATE: logical, RUN_ID: run_id}))


_STEPS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
EVERY = (*_STEPS, "month")


def logical_date(text: str, option: str = "--date") -> datetime:
    """Return the date, or date and time, of a text in ISO 8601.

    Examples
    --------
    >>> logical_date("2024-01-05"), logical_date("2024-01-05T06:00:00+00:00").hour
    (datetime.datetime(2024, 1, 5, 0, 0), 6)
    """
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        problem = f"{option} is {text!r}, expected a date, or a date and time, in ISO 8601"
        raise ConfigError(problem, hint="2024-01-05, or 2024-01-05T06:00:00+00:00.") from error


def logical_dates(start: str, end: str, every: str = "day") -> list[datetime]:
    """Return the logical dates from one to another, both included, in order.

    Parameters
    ----------
    every : {"hour", "day", "week", "month"}

    Raises
    ------
    ConfigError
        One is no date; they end before they begin; one has a time zone and the other has none; or they go by months
        from a day that not every month has.

    Examples
    --------
    >>> [f"{date:%m-%d}" for date in logical_dates("2023-12-15", "2024-02-20", "month")]
    ['12-15', '01-15', '02-15']
    """
    check_one_of("--every", every, EVERY)
    first, last = logical_date(start, "--from"), logical_date(end, "--to")
    if (first.tzinfo is None) != (last.tzinfo is None):
        raise ConfigError(f"--from is {start!r}, and --to {end!r}: one has a time zone, and the other has none")
    if first > last:
        raise ConfigError(f"--from is {start!r}, which is after --to, {end!r}")
    if every == "month" and first.day > 28:
        raise ConfigError(f"--from is {start!r}, and not every month has a day {first.day}", hint="Begin at the first.")
    dates = [first]
    while (following := _next(dates[-1], every)) <= last:
        dates.append(following)
    return dates


def date_text(date: datetime) -> str:
    """Return a logical date as options take it: without a time at midnight.

    Examples
    --------
    >>> date_text(datetime(2024, 1, 5)), date_text(datetime(2024, 1, 5, 6))
    ('2024-01-05', '2024-01-05T06:00:00')
    """
    midnight = date.tzinfo is None and date.time() == datetime.min.time()
    return date.date().isoformat() if midnight else date.isoformat()


def _next(date: datetime, every: str) -> datetime:
    if every in _STEPS:
        return date + _STEPS[every]
    return date.replace(year=date.year + date.month // 12, month=date.month % 12 + 1)
