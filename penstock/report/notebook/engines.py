"""An engine in a notebook: what it runs on, how many tasks at once, and where its own pages are."""

from __future__ import annotations

from penstock.engines.base import Engine
from penstock.report.notebook.pieces import render, show_facts


def engine_html(engine: Engine) -> str:
    """Return the display of an engine."""
    return render("engine", title=type(engine).__name__, facts=show_facts(engine.facts()))
