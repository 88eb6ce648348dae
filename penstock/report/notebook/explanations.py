"""An explained plan in a notebook: its lines, as they are."""

from __future__ import annotations

from penstock.core.explanation import Explanation
from penstock.report.notebook.pieces import render


def explanation_html(explanation: Explanation) -> str:
    """Return the display of a plan in words."""
    return render("explanation", text=str(explanation))
