"""Calibrations as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from penstock.cli.results import TimedResult
from penstock.cli.tables import headed_table, show
from penstock.core.redaction import visible
from penstock.runs.placement.durations import show_duration


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
