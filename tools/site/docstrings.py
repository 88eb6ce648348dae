"""Docstrings as Markdown: what they have of reStructuredText, roles, tables and literal blocks, said in it."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:class|func|meth|mod):`~?(?:[\w.]*\.)?(\w+)`")
RULE = re.compile(r"^(\s*)=+(?: +=+)+\s*$")


def as_markdown(text: str) -> str:
    """Return a docstring with its roles, simple tables and literal blocks in Markdown.

    Examples
    --------
    >>> as_markdown("See :class:`~penstock.stages.PCA`::")
    'See `PCA`:'
    """
    blocks = ROLE.sub(r"`\1`", text).split("\n\n")
    return re.sub(r"::$", ":", "\n\n".join(map(_table, blocks)), flags=re.MULTILINE)


def _table(block: str) -> str:
    """Return a simple table of reStructuredText, head and rows between three rules, in Markdown; else the same text."""
    lines = block.strip("\n").split("\n")
    rules = [number for number, line in enumerate(lines) if RULE.match(line)]
    if len(rules) != 3 or (rules[0], rules[2]) != (0, len(lines) - 1):
        return block
    starts = [found.start() for found in re.finditer(r"=+", lines[0])]
    rows: list[list[str]] = []
    for row in (_cells(line, starts) for number, line in enumerate(lines) if number not in rules):
        if row[0] or not rows:
            rows.append(row)
        else:  # a cell that goes on
            rows[-1] = [f"{above} {below}".strip() for above, below in zip(rows[-1], row, strict=True)]
    rows.insert(1, ["---"] * len(starts))
    return "\n".join(f"{lines[0][: starts[0]]}| {' | '.join(row)} |" for row in rows)


def _cells(line: str, starts: list[int]) -> list[str]:
    return [line[start:end].strip().replace("|", r"\|") for start, end in zip(starts, [*starts[1:], None], strict=True)]


class Markdown(Extension):
    """Changes the docstring of every object before it is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change one docstring."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
