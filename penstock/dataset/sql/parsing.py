"""A text of SQL as a tree, which is one query and nothing else."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.core.errors import ConfigError, class_name
from penstock.dataset.sql.refusals import DIALECT, refused, shown

QUERY = (exp.Select, exp.SetOperation, exp.Subquery)


def parse(text: str) -> exp.Expr:
    """Return the tree of a query.

    Raises
    ------
    ConfigError
        It is no text, or cannot be parsed, with the place; it is no query, or several statements.

    Examples
    --------
    >>> parse("DROP TABLE trips")
    Traceback (most recent call last):
    penstock.errors.ConfigError: SQL, line 1, column 12: engine.sql runs queries, found DROP: DROP TABLE trips
      Hint: Write SELECT ...; rows are written by the result: engine.sql(...).write_parquet(path).
    """
    if not isinstance(text, str):
        raise ConfigError(f"the query of engine.sql is {class_name(text)}, expected text", hint='Write "SELECT ...".')
    statements = [each for each in _parsed(text) if each is not None]
    if len(statements) != 1:
        raise ConfigError(
            f"engine.sql is given {len(statements)} statements, expected one",
            hint="Call it once for each; names of steps on the way are said by WITH.",
        )
    statement = statements[0]
    if not isinstance(statement, QUERY):
        raise refused(
            statement,
            f"engine.sql runs queries, found {statement.key.upper()}: {shown(statement)}",
            "Write SELECT ...; rows are written by the result: engine.sql(...).write_parquet(path).",
        )
    return statement


def _parsed(text: str) -> list[exp.Expr | None]:
    try:
        return list(sqlglot.parse(text, dialect=DIALECT))
    except SqlglotError as error:
        first = (getattr(error, "errors", None) or [{}])[0]
        said = re.sub(r" but got <Token.*", "", first.get("description") or str(error).splitlines()[0])
        where = f", line {first['line']}, column {first['col']}" if first.get("line") else ""
        near = f", near {first['highlight']!r}" if first.get("highlight") else ""
        raise ConfigError(
            f"SQL{where}: the text cannot be parsed: {said.rstrip('.')}{near}",
            hint='The dialect is that of DuckDB and PostgreSQL; a name that is a reserved word stands between ".',
        ) from error


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """Return the parts of a condition that all have to hold; what all branches of an OR have in common is one of them.

    Examples
    --------
    >>> where = parse("SELECT a FROM t WHERE a > 1 AND ((b = 1 AND c) OR (b = 1 AND d))").args["where"].this
    >>> [each.sql() for each in conjuncts(where)]
    ['a > 1', 'b = 1', 'c OR d']
    """
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        return [part for each in condition.flatten() for part in conjuncts(each)]
    if not isinstance(condition, exp.Or):
        return [condition]
    branches = [conjuncts(each) for each in condition.flatten()]
    common = [each for each in branches[0] if all(each in other for other in branches[1:])]
    rests = [[each for each in branch if each not in common] for branch in branches]
    if not common or not all(rests):
        return common or [condition]
    return [*common, exp.or_(*(exp.and_(*rest, copy=False) for rest in rests), copy=False)]
