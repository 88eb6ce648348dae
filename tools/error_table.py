"""Writes docs/errors.md from the errors themselves: when each is raised, its exit code, and what to do."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from penstock import errors
from penstock.cli.reporting import EXIT_CODES
from tools.pages import code, table, write_or_check

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"
HEAD = """# Errors

Written by `make docs` from the docstrings of the errors; `make check` fails when one and its line differ.

Everything that Penstock raises is a `PenstockError`, imported from `penstock.errors`. An error names the value, what
was expected, and the file, column, row or stage. Its hint says what to do in that case; the table, in general. The
exit code is that of the command line and of jobs; [all codes](../jobs/README.md#schedulers) say what to try again.
Errors survive pickling, and their texts hold no secrets.

"""
COLUMNS = ("error", "exit code", "also a", "when", "what to do")


def kinds() -> list[type[errors.PenstockError]]:
    """Return the public errors, each after the one that it is a kind of, in the order of their exit codes."""
    found = [getattr(errors, name) for name in errors.__all__ if name != "PenstockError"]
    return sorted(found, key=lambda kind: (exit_code(kind), lineage(kind)))


def lineage(kind: type[errors.PenstockError]) -> list[str]:
    """Return the names of an error and of what it is a kind of, the most general first.

    Examples
    --------
    >>> lineage(errors.MissingExtraError)
    ['ConfigError', 'MissingExtraError']
    """
    of_ours = [each.__name__ for each in reversed(kind.mro()) if issubclass(each, errors.PenstockError)]
    return of_ours[1:]


def exit_code(kind: type[errors.PenstockError]) -> int:
    """Return the exit code of a command that ends with an error."""
    return next(code for group, code in EXIT_CODES if issubclass(kind, group))


def cells(kind: type[errors.PenstockError]) -> list[str]:
    """Return the line of an error: its exit code, the errors of Python that it is, two paragraphs of its docstring."""
    when, what = [" ".join(part.split()).replace("``", "`") for part in (inspect.getdoc(kind) or "").split("\n\n")][:2]
    builtins = [each.__name__ for each in kind.__bases__ if not issubclass(each, errors.PenstockError)]
    return [code([kind.__name__]), str(exit_code(kind)), code(builtins), when, what]


def page() -> str:
    """Return docs/errors.md."""
    return HEAD + table(COLUMNS, map(cells, kinds()))


def main() -> int:
    """Write the page, or tell whether it is as it should be."""
    return write_or_check(__doc__, lambda: {PAGE: page()}, "the errors")


if __name__ == "__main__":
    sys.exit(main())
