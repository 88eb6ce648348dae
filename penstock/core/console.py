"""The one way out to a terminal for people: what is printed cannot act on it, and holds no secrets."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from penstock.core.redaction import presentable

_WIDTH = 120


class PlainConsole(Console):
    """Prints texts as they are: neither markup nor codes of emoji are obeyed, secrets are hidden, controls escaped.

    Every text, a cell of a table too, passes `render_str`. Newlines stay: what must be one line is made one before, see
    `penstock.core.redaction.visible`. A ``Text`` is the program's own and passes unchanged.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=True, markup=False, emoji=False, highlight=False)
        if not self.is_terminal:  # a log has no edge to wrap at
            self.width = _WIDTH

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as Rich prints it."""
        return super().render_str(presentable(text, keep="\n"), **options)
