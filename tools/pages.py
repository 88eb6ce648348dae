"""Pages of docs/ that are made from code: Markdown for them, and the command that writes or checks them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path


def write_or_check(about: str | None, pages: Callable[[], Mapping[Path, str]], source: str) -> int:
    """Write the pages, or with --check see that they are up to date; return the exit code.

    Parameters
    ----------
    about : str
        What the command is for.
    pages : callable
        Returns the text of each page.
    source : str
        What the pages show, for the message that one is not up to date.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when a page is not up to date")
    check = parser.parse_args().check
    for file, text in pages().items():
        if not check:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            print(f"{file.name} is not what {source} say; run: make docs", file=sys.stderr)
            return 1
    return 0


def code(names: Iterable[str]) -> str:
    """Return names as code, with commas between.

    Examples
    --------
    >>> code(["PCA", "Imputer"])
    '`PCA`, `Imputer`'
    """
    return ", ".join(f"`{name}`" for name in names)


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    r"""Return a table in Markdown.

    Examples
    --------
    >>> table(["a", "b"], [["1", "2"]])
    '| a | b |\n| --- | --- |\n| 1 | 2 |\n'
    """
    head = list(columns)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))
