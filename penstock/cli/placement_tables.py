"""Plans of machines, and calibrations, as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.cli.results import TimedResult
from penstock.cli.tables import facts_table, headed_table, show
from penstock.core.redaction import visible
from penstock.runs.placement.cluster_plan import show_price
from penstock.runs.placement.durations import show_duration

_JOULES = 3.6e6
"""In a kilowatt-hour."""


@dataclass(frozen=True, kw_only=True)
class PlanResult:
    """The machines that a fit is best placed on.

    Attributes
    ----------
    deadline : float or None
        Seconds.
    best : mapping
        How many ``machines`` of each type; ``workers``, ``device``, ``seconds``, their ``interval``, ``cost``,
        ``energy`` in joules, and ``parts``: the seconds by what they are for.
    alternatives : mapping of str to mapping
        The same of other machines, by what was asked for instead.
    limited_by : sequence of str
        What keeps the best from being better: deadline, budget, machines.
    left_out : mapping of str to str
        Types that cannot run a worker, and why.
    settings : mapping of str to str
        For ``spark_submit``, ``dask``, ``slurm`` and ``kubernetes``.
    files : sequence of str
        Where they were written.
    """

    pipeline: str
    rows: int
    fragments: int
    minimise: str
    deadline: float | None
    budget: float | None
    best: Mapping[str, Any]
    alternatives: Mapping[str, Mapping[str, Any]]
    limited_by: Sequence[str]
    left_out: Mapping[str, str]
    settings: Mapping[str, str]
    files: Sequence[str]
    seconds: float


@show.register
def _plan(result: PlanResult, console: Console) -> None:
    console.print(_plans({f"least {result.minimise}": result.best, **result.alternatives}))
    parts = [f"{name} {show_duration(seconds)}" for name, seconds in result.best["parts"].items() if seconds]
    facts = {
        "the best": f"{', '.join(parts)}; on {result.best['workers']} workers",
        "limited by": ", ".join(result.limited_by) or None,
        "rows": f"{result.rows:,} in {result.fragments:,} fragments",
        **{f"without {name}": reason for name, reason in result.left_out.items()},
        "spark-submit": result.settings["spark_submit"],
        "written": list(result.files) or None,
    }
    console.print(facts_table(facts))
    if not result.files:
        console.print(visible("\n".join(("", result.settings["dask"])), keep="\n"))


def _plans(rows: Mapping[str, Mapping[str, Any]]) -> Table:
    table = headed_table("plan", "machines", "time", "within", "cost", "kWh")
    for name, row in rows.items():
        machines = ", ".join(f"{count} {each}" for each, count in row["machines"].items())
        on_gpus = " (GPUs)" if row["device"] == "gpu" else ""
        within = f"{show_duration(row['interval'][0])} to {show_duration(row['interval'][1])}"
        energy = "-" if row["energy"] is None else f"{row['energy'] / _JOULES:.3g}"
        cells = (machines + on_gpus, show_duration(row["seconds"]), within, show_price(row["cost"]), energy)
        table.add_row(visible(name), *map(visible, cells))
    return table


@dataclass(frozen=True, kw_only=True)
class CalibrateResult(TimedResult):
    """Fits that were recorded, and what is predicted of them.

    Attributes
    ----------
    out : str
        Path of the file.
    runs : sequence of mapping
        Of each fit its ``rows``, ``workers``, ``seconds``, and the seconds that are ``predicted``.
    spread : float
        How far spans are from what is predicted of them, as a share of it: a standard deviation.
    start : float
        Seconds that the first fit of a process takes besides, the start of the engine among them.
    """

    pipeline: str
    out: str
    runs: Sequence[Mapping[str, Any]]
    spread: float
    start: float


@show.register
def _calibrate(result: CalibrateResult, console: Console) -> None:
    table = headed_table("rows", "workers", "time", "predicted")
    for run in result.runs:
        times = (show_duration(run[name]) for name in ("seconds", "predicted"))
        table.add_row(f"{run['rows']:,}", str(run["workers"]), *times)
    console.print(table)
    console.print(f"\nthe start of a process takes {show_duration(result.start)}; spans are {result.spread:.0%} off")
    console.print(visible(f"{result.out} is written, in {show_duration(result.seconds)}"))
