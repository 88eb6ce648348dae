"""What a job starts from: its module, and for each logical date the parameters and the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from pydantic import BaseModel

from penstock.cli.etl.catalog import Catalog, read_catalog
from penstock.cli.etl.logical_dates import date_text, logical_date, logical_dates
from penstock.cli.etl.module import EtlModule, load_job
from penstock.cli.etl.placeholders import DATE, RUN_ID
from penstock.cli.etl.request import RunRequest
from penstock.cli.job_setup import conf_folder, read_conf, settings_of_engine
from penstock.cli.project import CATALOG, SEARCH, file_settings
from penstock.config.settings import Settings, read_assignments
from penstock.config.strict_yaml import Place, Places
from penstock.core.errors import ConfigError
from penstock.engines.settings import EngineSettings
from penstock.io.sinks import new_run_id


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
