"""FROM and WHERE as joins: what is equal on both sides is a key, what is of one table is asked of it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import narwhals as nw
from sqlglot import exp

from penstock.dataset.sql.expressions import SqlTranslator
from penstock.dataset.sql.names import matches
from penstock.dataset.sql.parsing import conjuncts
from penstock.dataset.sql.refusals import refused, shown, unknown_column
from penstock.dataset.sql.rows import QueryRows
from penstock.dataset.sql.scopes import Scope, columns_of, internal_column, resolve
from penstock.dataset.sql.sources import Context, named
from penstock.dataset.sql.values import as_kind, common_kind

_HOWS = {"LEFT": "left", "RIGHT": "right", "FULL": "full", "SEMI": "semi", "ANTI": "anti"}


@dataclass(frozen=True)
class JoinClause:
    """A join of FROM: how, with which rows, on which resolved conditions."""

    how: str
    rows: QueryRows
    on: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class JoinKey:
    """Two expressions that have to be equal, one of each side."""

    left: exp.Expr
    right: exp.Expr


def how_of(join: exp.Join) -> str:
    """Return how a join is done; ``"inner"`` also for a comma and a cross join.

    Raises
    ------
    ConfigError
        The dialect has no such join.
    """
    if join.args.get("method"):
        problem = f"{join.args['method']} JOIN is not supported"
        raise refused(join, problem, "Name the columns, by ON or USING; for times, join_asof.")
    words = [each for each in (join.side.upper(), join.kind.upper()) if each not in ("", "INNER", "CROSS", "OUTER")]
    if len(words) > 1 or any(each not in _HOWS for each in words):
        problem = f"{' '.join(words)} JOIN is not supported"
        raise refused(join, problem, "Joins are INNER, LEFT, RIGHT, FULL, CROSS, SEMI, ANTI.")
    return _HOWS[words[0]] if words else "inner"


@dataclass
class FromClause:
    """The tables of FROM, joined one after the other, and what their columns are called."""

    context: Context
    scope: Scope
    first: QueryRows
    joins: list[JoinClause]

    @classmethod
    def of(cls, select: exp.Select, context: Context, rows: QueryRows) -> FromClause:
        """Return FROM of a query; `rows` gives the names that are still free."""
        name, dataset = context.dataset(select.args["from_"].this)
        source, first = named(name, dataset, rows.names)
        made = cls(context, Scope((source,), outer=context.outer), first, [])
        for join in select.args.get("joins") or ():
            made._add(join)
        return made

    def _add(self, join: exp.Join) -> None:
        how = how_of(join)
        name, dataset = self.context.dataset(join.this)
        if name and matches(exp.to_identifier(name, quoted=True), [source.name for source in self.scope.sources]):
            problem = f"two tables of FROM are called {name!r}"
            raise refused(join.this, problem, f"Name one of them by AS: {name} AS other.")
        source, rows = named(name, dataset, self.first.names)
        scope = replace(self.scope, sources=(*self.scope.sources, source))
        on = conjuncts(resolve(join.args["on"], scope)) if join.args.get("on") is not None else []
        using = join.args.get("using") or ()
        pairs = [self._using(identifier, scope) for identifier in using]
        on += [exp.EQ(this=left, expression=right) for _, left, right in pairs]
        if how != "inner" and not on:
            raise refused(join, f"{how.upper()} JOIN has no condition", "Write ON a.id = b.id, or USING (id).")
        self.joins.append(JoinClause(how, rows, tuple(on)))
        if how in ("semi", "anti"):
            return
        kept = {name: (right if how == "right" else left).name for name, left, right in pairs}
        if how == "full" and pairs:
            raise refused(join, "FULL JOIN takes no USING", "Write ON a.id = b.id, and coalesce(a.id, b.id) AS id.")
        self.scope = replace(scope, merged={**self.scope.merged, **kept})

    def _using(self, identifier: exp.Identifier, scope: Scope) -> tuple[str, exp.Column, exp.Column]:
        """Return a column of USING: its name, and what it is called on the left and on the right."""
        column = exp.Column(this=identifier.copy())
        left = self.scope.find(column)
        right = Scope(scope.sources[-1:]).find(column)
        if left is None or right is None:
            known = self.scope.names() if left is None else Scope(scope.sources[-1:]).names()
            raise unknown_column(identifier, identifier.name, known)
        return left[0], internal_column(left[1], left[0], identifier), internal_column(right[1], right[0], identifier)

    def rows(self, where: Sequence[exp.Expr]) -> QueryRows:
        """Return the rows of all, for which resolved conditions hold."""
        waiting = list(where)
        group = [self.first]
        conditions: list[exp.Expr] = []
        for place, join in enumerate(self.joins):
            if join.how == "inner":
                group.append(join.rows)
                conditions += join.on
                continue
            if not any(each.how in ("right", "full") for each in self.joins[place:]):
                ready, waiting = _split(waiting, {name for rows in group for name in rows.dataset.columns})
                conditions += ready
            group, conditions = [outer_join(inner_join(group, conditions), join)], []
        return inner_join(group, [*conditions, *waiting])


def _split(conditions: Sequence[exp.Expr], columns: set[str]) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the conditions that read no other columns than these, and the rest."""
    ready = [each for each in conditions if columns_of([each]) <= columns]
    return ready, [each for each in conditions if each not in ready]


def inner_join(group: Sequence[QueryRows], conditions: Sequence[exp.Expr]) -> QueryRows:
    """Return tables joined by what is equal, the first with the next that it has a key with, and so on."""
    waiting, parts = list(conditions), []
    for rows in group:
        own, waiting = _split(waiting, {*rows.dataset.columns})
        parts.append(rows.where(own))
    made, rest = parts[0], parts[1:]
    while rest:
        keys = [(each, *find_keys(waiting, made, each)) for each in rest]
        chosen, equal, waiting_then = next((each for each in keys if each[1]), keys[0])
        made = _joined(made, chosen, equal, "inner")
        ready, waiting = _split(waiting_then, {*made.dataset.columns})
        made = made.where(ready)
        rest = [each for each in rest if each is not chosen]
    return made.where(waiting)


def find_keys(
    conditions: Sequence[exp.Expr], left: QueryRows, right: QueryRows
) -> tuple[list[JoinKey], list[exp.Expr]]:
    """Return what has to be equal on both sides, and the other conditions."""
    mine, its = {*left.dataset.columns}, {*right.dataset.columns}
    keys, others = [], []
    for each in conditions:
        sides = [each.left, each.right] if isinstance(each, exp.EQ) else []
        if sides and not columns_of(sides[:1]) <= mine:
            sides.reverse()
        read = [columns_of([side]) for side in sides]
        if sides and all(read) and read[0] <= mine and read[1] <= its:
            keys.append(JoinKey(*sides))
        else:
            others.append(each)
    return keys, others


def outer_join(left: QueryRows, join: JoinClause) -> QueryRows:
    """Return a join that keeps rows without a match, or keeps rows by whether they have one.

    Raises
    ------
    ConfigError
        Its condition is more than equalities, and conditions on one side that can be asked before.
    """
    right = join.rows
    keys, others = find_keys(join.on, left, right)
    mine, others = _split(others, {*left.dataset.columns})
    its, others = _split(others, {*right.dataset.columns})
    if others or not keys or (join.how == "full" and (mine or its)):
        wrong = (others or mine or its or list(join.on))[0]
        raise refused(
            wrong,
            f"{join.how.upper()} JOIN on {shown(wrong)} is not supported: it takes what is equal on both sides",
            "Keep a.x = b.x in ON; conditions on one table can stand in a subquery: JOIN (SELECT ... WHERE ...) AS b.",
        )
    if join.how == "right":
        return _joined(left.where(mine), right, [_only_where(keys[0], its, right=True), *keys[1:]], "right")
    right = right.where(its)
    return _joined(left, right, [_only_where(keys[0], mine, right=False), *keys[1:]], join.how)


def _only_where(key: JoinKey, conditions: Sequence[exp.Expr], *, right: bool) -> JoinKey:
    """Return a key that is null, and so matches nothing, where conditions on its side do not hold."""
    if not conditions:
        return key
    made = exp.Case(ifs=[exp.If(this=exp.and_(*conditions, copy=False), true=key.right if right else key.left)])
    return replace(key, right=made) if right else replace(key, left=made)


def _joined(left: QueryRows, right: QueryRows, keys: Sequence[JoinKey], how: str) -> QueryRows:
    if not keys:
        return replace(left, dataset=left.dataset.join(right.dataset, how="cross"))
    left_on: list[str] = []
    right_on: list[str] = []
    restored: dict[str, nw.Expr] = {}
    for key in keys:
        left, right, mine, its = _key_columns(left, right, key, how, left_on)
        left_on.append(mine)
        right_on.append(its)
        if how == "inner" and isinstance(key.right.unnest(), exp.Column) and its == key.right.unnest().name:
            restored[its] = nw.col(mine)
    made = left.dataset.join(right.dataset, left_on=left_on, right_on=right_on, how=how)
    return QueryRows(made, left.names).with_columns(restored)


def _key_columns(
    left: QueryRows, right: QueryRows, key: JoinKey, how: str, taken: Sequence[str]
) -> tuple[QueryRows, QueryRows, str, str]:
    """Return both sides with the columns of a key, in one type.

    A column is a key itself where the join leaves it what it is; else a copy of it is.
    """
    values = left.value(key.left), right.value(key.right)
    kind = common_kind(values, key.left)
    names = []
    for side, rows, node, value in ((0, left, key.left, values[0]), (1, right, key.right, values[1])):
        plain = isinstance(node.unnest(), exp.Column) and value.kind == kind
        stays = how in ("inner", "semi", "anti") or (how == "left" and side == 0)
        if plain and stays and not (side == 0 and node.unnest().name in taken):
            names.append(node.unnest().name)
            continue
        name = rows.names.new("key")
        made = rows.with_columns({name: as_kind(SqlTranslator(rows.dataset.schema).value(node), kind)})
        left, right = (made, right) if side == 0 else (left, made)
        names.append(name)
    return left, right, names[0], names[1]
