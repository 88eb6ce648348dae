"""What a plan says of itself, as text that is readable wherever it is shown."""

from __future__ import annotations

from penstock.core.displayed import Displayed


class Explanation(Displayed, str):
    r"""Text of several lines, which a prompt and a notebook show as lines.

    Examples
    --------
    >>> Explanation("Fit on local\nscan 1")
    Fit on local
    scan 1
    """

    _display = "penstock.report.notebook.explanations:explanation_html"

    def __repr__(self) -> str:
        return str(self)
