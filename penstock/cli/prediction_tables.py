"""What is predicted of fits, as people read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.core.redaction import visible
from penstock.core.sizes import show_bytes
from penstock.runs.placement.durations import show_duration


def show_predicted(predicted: Mapping[str, Any], console: Console) -> None:
    """Print the predictions of `penstock.cli.predicting.predict`."""
    runs = predicted["runs"]
    console.print(f"\npredicted for {predicted['rows']:,} rows", style="bold")
    console.print(_runs(runs))
    console.print(f"\nscans and trainings on {runs[-1]['workers']} workers", style="bold")
    console.print(_spans(runs[-1]["spans"]))
    console.print(f"\nthe fewest workers whose time is near the least: {predicted['best_workers']}")
    if len(predicted["calibrated"]) == 1 and max(run["workers"] for run in runs) > 1:
        console.print(
            "All records are of one number of workers, so that no communication is known: on others it comes on top.",
            style="yellow",
        )


def _runs(runs: Sequence[Mapping[str, Any]]) -> Table:
    on_machines = runs[0]["machines"] is not None
    measures = ("time", "within", "speed-up", "efficiency", "memory", "serial + shared + network", "bound by")
    table = _table("workers", *(["machines"] if on_machines else []), *measures)
    for run in runs:
        table.add_row(
            str(run["workers"]),
            *([str(run["machines"])] if on_machines else []),
            show_duration(run["seconds"]),
            _within(run),
            f"{run['speedup']:.2f}",
            f"{run['efficiency']:.0%}",
            show_bytes(run["memory"]),
            " + ".join(f"{run[part]:.1f}" for part in ("serial", "parallel", "communication")) + " s",
            visible(run["bound"]),
        )
    return table


def _spans(spans: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("", "time", "within", "bound by", "phases")
    for span in spans:
        longest = sorted(span["phases"].items(), key=lambda entry: -entry[1]["seconds"])
        phases = [f"{name} {show_duration(each['seconds'])}" for name, each in longest if each["seconds"] >= 0.05]
        cells = (span["name"], show_duration(span["seconds"]), _within(span), span["bound"], ", ".join(phases))
        table.add_row(*map(visible, cells))
    return table


def _within(estimate: Mapping[str, Any]) -> str:
    low, high = map(show_duration, estimate["interval"])
    return f"{low} to {high}"


def _table(*headings: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2))
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading != "phases")
    return table
