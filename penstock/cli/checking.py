"""The job that checks rows by rules."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.job_setup import Clock, conf_folder, read_conf, read_data, settings_of_engine
from penstock.cli.recording import recorded
from penstock.cli.requests import CheckRequest, JobRequest
from penstock.cli.results import CheckResult
from penstock.core.errors import check_one_of
from penstock.core.locations import local_path
from penstock.core.progress import Progress
from penstock.rules.rule_file import read_rules


@recorded
def check(request: CheckRequest, progress: Progress | None = None) -> CheckResult:
    """Check all rows of the data by the rules of a file, which is read before anything else.

    Raises
    ------
    ConfigError, InputError, ExecutionError
        As reading the rules and the rows says. Rules that are broken are no error: the result has not passed.
    """
    clock, rules = Clock(), read_rules(rules_path(request, request.rules))
    settings = settings_of_engine(request, read_conf(request)["engine"])
    with settings.start(progress) as engine:
        report = read_data(request, engine, None).check(*rules, memory_budget=request.memory_budget)
        told = report.to_dict()
    return CheckResult(data=list(request.data), rules=str(request.rules), **told, **clock.fields(engine))


def rules_path(request: JobRequest, named: str | Path) -> Path:
    """Return the file of rules: a path, or the name of one in conf/rules.

    Raises
    ------
    ConfigError
        There is none of the name.
    """
    path = Path(local_path(named, "rules"))
    if path.suffix in (".yaml", ".yml"):
        return path
    folder = conf_folder(request) / "rules"
    known = sorted(each.stem for each in folder.glob("*.yaml"))
    check_one_of("rules", str(named), known, hint=f"Give the path of a YAML file, or write {folder / path}.yaml.")
    return folder / f"{named}.yaml"
