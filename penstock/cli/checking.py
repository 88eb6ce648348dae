"""The job that checks rows by rules."""

from __future__ import annotations

from penstock.cli.job_setup import Clock, conf_file, read_data, settings_of_engine
from penstock.cli.recording import recorded
from penstock.cli.requests import CheckRequest
from penstock.cli.results import CheckResult
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
    clock, rules = Clock(), read_rules(conf_file(request, request.rules, "rules", folder="rules"))
    settings = settings_of_engine(request)
    with settings.start(progress) as engine:
        report = read_data(request, engine, None).check(*rules, memory_budget=request.memory_budget)
        told = report.to_dict()
    return CheckResult(data=list(request.data), rules=str(request.rules), **told, **clock.fields(engine))
