"""What alarms may be about: numbers of a run, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from penstock.core.errors import ConfigError, did_you_mean
from penstock.runs.energy import run_energy
from penstock.runs.run import Run

Value = float | None


def skew(run: Run) -> Value:
    """Return the slowest task over the median one, of the scan where that is largest; None if none has two tasks."""
    tasks = run.tasks.filter(pc.equal(run.tasks["kind"], "task"))
    spans, seconds = (tasks[name].to_numpy() for name in ("span", "seconds"))
    scans = [seconds[spans == span] for span in np.unique(spans)]
    ratios = [scan.max() / np.median(scan) for scan in scans if len(scan) > 1 and np.median(scan) > 0]
    return max(map(float, ratios), default=None)


def wait_share(run: Run) -> Value:
    """Return the share of the time of workers, while tasks were under way, that they waited; None without tasks."""
    waited, worked = (pc.sum(run.tasks[name]).as_py() or 0.0 for name in ("wait", "seconds"))
    return waited / (waited + worked) if waited + worked else None


def peak_memory_share(run: Run) -> Value:
    """Return the peaks of all workers of a machine over its memory, of the fullest one.

    Machines are taken to have the memory of the one that began the run.
    """
    memory = run.info.get("machine", {}).get("memory")
    peaks = run.tasks.group_by(["worker", "host"]).aggregate([("peak_memory", "max")])
    hosts = peaks.group_by("host").aggregate([("peak_memory_max", "sum")])["peak_memory_max_sum"]
    return pc.max(hosts).as_py() / memory if memory and len(hosts) else None


def rows_lost(run: Run) -> Value:
    """Return the rows that steps dropped or quarantined; without the result of a job, those read and not written."""
    if "result" in run.info:
        return float(sum(_left_out(run.info["result"])))
    read, written = ([each.get("rows") for each in run.info.get(name, ())] for name in ("inputs", "outputs"))
    if not read or not written or None in (*read, *written):
        return None
    return float(max(0, sum(read) - sum(written)))


def _left_out(result: Any) -> Iterator[int]:
    """Yield counts of rows by what dropped or quarantined them, of all outputs of a job."""
    if isinstance(result, list):
        for each in result:
            yield from _left_out(each)
    if isinstance(result, Mapping):
        for name, value in result.items():
            if name in ("dropped", "quarantined") and isinstance(value, Mapping):
                yield from value.values()
            else:
                yield from _left_out(value)


def drift(run: Run) -> Value:
    """Return how many alarms of drift there were; None where nothing was compared."""
    result = run.info.get("result", {})
    report = result if run.kind == "drift" else result.get("drift")
    return None if report is None or "alarms" not in report else float(len(report["alarms"]))


VALUES: dict[str, Callable[[Run], Value]] = {
    "seconds": lambda run: run.seconds,
    "failed": lambda run: float(run.status != "done"),
    "skew": skew,
    "wait_share": wait_share,
    "peak_memory_share": peak_memory_share,
    "cpu_seconds": lambda run: float(pc.sum(run.tasks["cpu_seconds"]).as_py() or 0.0),
    "rows_lost": rows_lost,
    "retries": lambda run: float(pc.sum(run.tasks["attempt"]).as_py() or 0.0),
    "drift": drift,
    "energy": lambda run: float(run_energy(run).total),
    "co2_grams": lambda run: run_energy(run).co2_grams,
}
"""By name, what gives the number of a run; None where it has none."""
METRIC, INFO = "metric:", "info:"


def check_value(name: object) -> None:
    """Raise ConfigError unless there is a value of a name."""
    known = isinstance(name, str) and (name in VALUES or any(_named(name, prefix) for prefix in (METRIC, INFO)))
    if not known:
        choices = [*VALUES, f"{METRIC}NAME", f"{INFO}NAME.NAME"]
        raise ConfigError(
            f"value is {name!r}, expected one of {', '.join(choices)}.{did_you_mean(str(name), VALUES)}",
            hint="metric:areaUnderROC is a metric of the run, info:machine.peak_memory what run.json has there.",
        )


def value_of(run: Run, name: str) -> Value:
    """Return a number of a run; None where it has none.

    Parameters
    ----------
    run : Run
    name : str
        Of `VALUES`; ``metric:`` and the name of a metric; or ``info:`` and where it is in ``run.json``, by dots.

    Examples
    --------
    >>> import penstock as ps
    >>> info = {"seconds": 9.5, "metrics": {"rmse": 2.0}, "machine": {"cores": 4}}
    >>> run = ps.runs.Run(info, ps.runs.TASKS.empty_table())
    >>> [value_of(run, name) for name in ("seconds", "metric:rmse", "info:machine.cores", "skew")]
    [9.5, 2.0, 4.0, None]
    """
    try:
        return _read(run, name)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # a record has something else there: somebody has written to it


def _read(run: Run, name: str) -> Value:
    if name.startswith(METRIC):
        return _number(run.info.get("metrics", {}).get(name.removeprefix(METRIC)))
    if name.startswith(INFO):
        found: Any = run.info
        for part in name.removeprefix(INFO).split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return _number(found)
    return VALUES[name](run)


def _named(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and len(name) > len(prefix)


def _number(value: Any) -> Value:
    """Return what is a number as one; of anything else None."""
    return float(value) if isinstance(value, int | float) else None
