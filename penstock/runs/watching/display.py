"""A snapshot of a run in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from penstock.core.redaction import visible
from penstock.runs.watching.snapshot import Snapshot

_MOST_WORKERS = 20
_STYLES = {"running": "bold cyan", "done": "bold green", "failed": "bold red", "lost": "bold red"}


def render(snapshot: Snapshot) -> Group:
    """Return what Rich prints of a snapshot."""
    return Group(*_parts(snapshot))


def _parts(snapshot: Snapshot) -> Iterator[RenderableType]:
    title = " ".join(filter(None, (snapshot.kind, snapshot.name, snapshot.run_id)))
    left = "" if snapshot.seconds_left is None else f", about {duration(snapshot.seconds_left)} left"
    status = Text(snapshot.status, style=_STYLES.get(snapshot.status, "bold"))
    yield Text.assemble((visible(title), "bold"), "  ", status, f"  {duration(snapshot.seconds)}{left}")
    if snapshot.spans:
        yield _spans(snapshot)
    if snapshot.phases:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in snapshot.phases.items())
        yield Text(f"time of tasks: {shares}")
    if snapshot.workers:
        yield _workers(snapshot)


def _spans(snapshot: Snapshot) -> Table:
    table = Table("", "", "done", "took", "left", box=None, header_style="bold", padding=(0, 2))
    for span in snapshot.spans:
        table.add_row(visible(span["name"]), *_span_cells(span))
    return table


def _span_cells(span: Mapping[str, Any]) -> tuple[RenderableType, str, str, str]:
    done, total = span["done"], span["total"]
    bar: RenderableType = ProgressBar(total=total, completed=done, width=24) if total else ""
    left = "" if span["seconds_left"] is None else duration(span["seconds_left"])
    return bar, f"{done:,}/{total:,}" if total else "", duration(span["seconds"]), left


def _workers(snapshot: Snapshot) -> Table:
    table = Table("worker", "tasks", "rows/s", "busy", box=None, header_style="bold", padding=(0, 2))
    for worker in snapshot.workers[:_MOST_WORKERS]:
        numbers = f"{worker['tasks']:,}", f"{worker['rows_per_second']:,.0f}", f"{worker['busy']:.0%}"
        table.add_row(visible(worker["name"]), *numbers)
    if len(snapshot.workers) > _MOST_WORKERS:
        table.add_row(f"and {len(snapshot.workers) - _MOST_WORKERS} more")
    return table


def duration(seconds: float) -> str:
    """Return seconds as people read them.

    Examples
    --------
    >>> duration(3.21), duration(75), duration(7322)
    ('3.2 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
