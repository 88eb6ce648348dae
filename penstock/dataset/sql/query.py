"""A query from its text to the dataset that it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.core.errors import ConfigError
from penstock.core.scheduler import Scheduler
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.sql.parsing import parse
from penstock.dataset.sql.refusals import refused, shown
from penstock.dataset.sql.selecting import select
from penstock.dataset.sql.set_operations import combined
from penstock.dataset.sql.sources import Context, inside, renamed_ctes


def query(engine: Scheduler, text: str, tables: Mapping[str, Dataset]) -> Dataset:
    """Return the rows of a query over tables by name, on an engine; see `RelationalEngine.sql`."""
    try:
        return _queried(engine, text, tables)
    except RecursionError:
        pass
    raise ConfigError(
        f"SQL, line 1, column 1: the text is nested too deeply, or has too many terms in a row: {text[:60]!r}...",
        hint="Write IN (...) for many ORs, leave out parentheses, and put parts of it into queries by WITH, or"
        " together by dataset.union.",
    )


def _queried(engine: Scheduler, text: str, tables: Mapping[str, Dataset]) -> Dataset:
    statement = parse(text)
    if not tables:
        raise ConfigError("engine.sql is given no table", hint="Pass datasets by name: engine.sql(text, trips=trips).")
    for dataset in tables.values():
        check_dataset(dataset, "engine.sql")
    own = {name: replace(dataset, engine=engine) for name, dataset in tables.items()}
    return run(statement, Context(own, run))


def run(node: exp.Expr, context: Context) -> Dataset:
    """Return the rows of a query of a tree."""
    context = _with_ctes(node, context)
    if isinstance(node, exp.Subquery):
        return run(inside(node), context)
    if isinstance(node, exp.SetOperation):
        return combined(node, context)
    if not isinstance(node, exp.Select):
        raise refused(node, f"{node.key.upper()} is not supported: {shown(node)}", "Write SELECT ... FROM ...")
    return select(node, context)


def _with_ctes(node: exp.Expr, context: Context) -> Context:
    named = node.args.get("with_")
    if named is None:
        return context
    if named.args.get("recursive"):
        raise refused(named, "WITH RECURSIVE is not supported", "Write the steps one by one.")
    for each in named.expressions:
        context = context.with_table(each.alias, renamed_ctes(context, each))
    return context
