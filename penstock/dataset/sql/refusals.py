"""What the dialect has not, told by name and place, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from penstock.core.errors import ConfigError, SchemaError, did_you_mean
from penstock.core.schemas import shorten

DIALECT = "duckdb"
_SHOWN = 60


def place(node: exp.Expr) -> str:
    r"""Return where a node begins in the text, as ``"line 2, column 5"``; without a place, where what holds it does.

    Examples
    --------
    >>> from penstock.dataset.sql.parsing import parse
    >>> place(parse("SELECT a\nFROM trips WHERE fare > 1").args["where"])
    'line 2, column 18'
    """
    around: exp.Expr | None = node
    while around is not None:
        known = [each.meta for each in around.walk() if "start" in each.meta]
        if known:
            first = min(known, key=lambda meta: meta["start"])
            return f"line {first['line']}, column {first['col'] - (first['end'] - first['start'])}"
        around = around.parent
    return "line 1, column 1"


def shown(node: exp.Expr) -> str:
    """Return the text of a node, in one spelling, cut where it is long."""
    named = node.copy()
    for each in [*named.find_all(exp.Column)]:
        if "name" in each.meta:
            each.this.replace(exp.to_identifier(each.meta["name"]))
    text = named.sql(dialect=DIALECT, normalize_functions="lower")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def refused(node: exp.Expr, problem: str, hint: str) -> ConfigError:
    """Return the error for a node of which `problem` says what is wrong, and `hint` what to do."""
    return ConfigError(f"SQL, {place(node)}: {problem}", hint=hint)


def unknown_table(node: exp.Expr, name: str, known: Iterable[str]) -> ConfigError:
    """Return the error for a table that is not there."""
    known = list(known)
    return refused(
        node,
        f"there is no table {name!r}.{did_you_mean(name, known)} Tables: {shorten(known)}",
        "Pass the dataset by that name: engine.sql(text, trips=trips). Files, schemas and databases are not reachable.",
    )


def unknown_column(node: exp.Expr, name: str, known: Iterable[str]) -> SchemaError:
    """Return the error for a column that is not there."""
    known = list(known)
    return SchemaError(
        f"SQL, {place(node)}: column {name!r} is not there.{did_you_mean(name, known)} Columns: {shorten(known)}",
        hint="A text stands between single quotes; double quotes are for names.",
        column=name,
    )
