"""A run in a notebook: its facts, what stands out, its scans, and its page in a frame of its own."""

from __future__ import annotations

from penstock.core.sizes import show_bytes
from penstock.report.notebook.pieces import TextTable, render, show_facts
from penstock.report.runs.run_page import facts_of_run
from penstock.report.text import show_count, show_label
from penstock.runs.analysis import SpanTime, find_notable, span_times
from penstock.runs.run import Run


def run_html(run: Run) -> str:
    """Return the display of a run."""
    facts = {name.lower(): value for name, value in facts_of_run(run).items()}
    notable = [(show_label(each.subject, 24), show_label(each.text, 200)) for each in find_notable(run)]
    head = ("scan or training", "seconds", "tasks", "median task", "slowest", "rows in", "bytes in")
    return render(
        "run",
        title=show_label(f"Run {run.name}".strip(), 60),
        facts=show_facts(facts),
        notable=TextTable(("what stands out", ""), notable),
        spans=TextTable(head, [_row(each) for each in span_times(run)]),
        page=run.to_html(),
    )


def _row(span: SpanTime) -> list[str]:
    seconds = [f"{each:.3f}" for each in (span.median, span.slowest)]
    counts = [show_count(span.rows_in), show_bytes(span.bytes_in) if span.bytes_in else "-"]
    return [show_label(span.name, 40), f"{span.seconds:.3f}", show_count(span.tasks), *seconds, *counts]
