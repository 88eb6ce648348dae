"""Runs the queries of relational verbs: one query of the engine's for all that is pending, its rows staged once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import narwhals as nw

from penstock.core.errors import DataValueError
from penstock.dataset.relations.operation import Operation, Project, Where
from penstock.dataset.relations.order import ROW_ORDER, SortKey, columns_of
from penstock.dataset.relations.relation import Leaf, Operated, Pending, Relation, RowNumber, settled
from penstock.engines.querying import QueryEngine, Rows, conformed, execute, read_staged, stage
from penstock.frames.overflow import ANONYMOUS

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.engines.relational import RelationalEngine
    from penstock.engines.staging import Staging

Node = Leaf | Operated


def relate(engine: RelationalEngine, pending: Pending) -> Dataset:
    """Run the query of a pending relation; return its rows, in its order and types."""
    queries = engine.query_engine()
    plan = QueryPlan(pending, keeps_order=queries.keeps_order)

    def frame(staging: Staging) -> Rows:
        made = Frames(engine, queries, plan, staging, pending.label).of(plan.root)
        is_sorted = not pending.order or plan.root in plan.in_order
        arranged = made if is_sorted else queries.arrange(made, pending.order or (), pending.label)
        return queries.cast(arranged, pending.schema)

    try:
        rows = execute(engine, queries, pending.label, plan.datasets, frame)
    except DataValueError as error:
        raise _named(error, plan.computing) from error.__cause__
    return conformed(rows, pending.schema)


def _named(error: DataValueError, computing: Sequence[str]) -> DataValueError:
    """Return an error on a value with what may have made it, where the value has no name."""
    if f"{ANONYMOUS} is" not in error.message or not computing:
        return error
    message = error.message.replace(f"{ANONYMOUS} is", f"{ANONYMOUS} of {', '.join(computing)} is")
    return DataValueError(message, hint=error.hint, **error.place)


class QueryPlan:
    """What a pending relation is made of: its nodes, each with the columns that are asked of it.

    Pending results that something else is made of too, and is there yet, are run by themselves before.

    Parameters
    ----------
    pending : Pending
    keeps_order : bool
        Whether rows need no sort where operations leave them in order.

    Attributes
    ----------
    in_order : dict of node to operation, or to None for rows that are read
        What leaves its rows in order, up to the root.
    """

    def __init__(self, pending: Pending, *, keeps_order: bool = False) -> None:
        self._within = set(_unfinished(pending))
        self._rows: dict[Pending, Leaf] = {}
        self.root = pending.relation
        self.in_order = (self._ordered(self.root) if keeps_order and pending.order else None) or {}
        self.wanted: dict[Node, frozenset[str]] = {}
        for node in reversed(self._in_order):
            wanted = self.wanted.setdefault(node, frozenset())
            if node is self.root:
                order = () if node in self.in_order else pending.order or ()
                wanted = self.wanted[node] = frozenset(pending.schema.names) | columns_of(order)
            if not wanted:  # the number of rows is, which frames without a column do not have
                wanted = self.wanted[node] = frozenset(node.schema.names[:1])
            self._ask(node, wanted)

    def _ask(self, node: Node, wanted: frozenset[str]) -> None:
        if isinstance(node, Operated):
            for each, needs in zip(self.inputs(node), node.operation.needs(wanted), strict=True):
                self.wanted[each] = self.wanted.get(each, frozenset()) | needs

    def _ordered(self, node: Node) -> dict[Node, Operation | None] | None:
        """Return what leaves the rows of a node in order, it and all before it; None where that takes a sort."""
        if isinstance(node, Leaf):
            return {node: None}
        if node.order is None or (operation := node.operation.keeping_order()) is None:
            return None
        made: dict[Node, Operation | None] = {node: operation}
        for each in self.inputs(node)[: operation.ordering_inputs]:
            if (before := self._ordered(each)) is None:
                return None
            made |= before
        return made

    @cached_property
    def _in_order(self) -> list[Node]:
        """The nodes, each after its inputs."""
        nodes: dict[Node, None] = {}

        def visit(node: Node) -> None:
            if node not in nodes:
                for each in self.inputs(node):
                    visit(each)
                nodes[node] = None

        visit(self.root)
        return list(nodes)

    def inputs(self, node: Node) -> list[Node]:
        """Return what a node is made of."""
        return [self._node(each) for each in node.inputs] if isinstance(node, Operated) else []

    def _node(self, relation: Relation) -> Node:
        if not isinstance(relation, Pending):
            return relation
        if relation not in self._rows and (relation.is_done or self._is_shared(relation)):
            self._rows[relation] = Leaf(relation.result(), relation.order or ())
        return self._rows.get(relation, relation.relation)

    def _is_shared(self, pending: Pending) -> bool:
        return any(user not in self._within and not user.is_done for user in pending.users)

    @cached_property
    def shared(self) -> set[Node]:
        """The operations whose rows go to several others."""
        uses = Counter(each for node in self._in_order for each in self.inputs(node))
        return {node for node, count in uses.items() if count > 1 and isinstance(node, Operated)}

    @property
    def computing(self) -> list[str]:
        """What is computed of single rows."""
        operations = [node.operation for node in self._in_order if isinstance(node, Operated)]
        return [each.label for each in operations if isinstance(each, Project | Where) and each.label != "select"]

    @property
    def datasets(self) -> list[Dataset]:
        """The datasets that are read."""
        return [node.dataset for node in self._in_order if isinstance(node, Leaf)]


def _unfinished(pending: Pending) -> Iterator[Pending]:
    """Yield a pending result and those that it is made of, as long as they have not run."""
    yield pending
    stack: list[Relation] = list(pending.relation.inputs)
    while stack:
        each = stack.pop()
        if isinstance(each, Operated):
            stack += each.inputs
        elif isinstance(each, Pending) and not each.is_done:
            yield from _unfinished(each)


class Frames:
    """The rows of the nodes of a plan, each made once."""

    def __init__(
        self, engine: RelationalEngine, queries: QueryEngine, plan: QueryPlan, staging: Staging, label: str
    ) -> None:
        self._engine, self._queries, self._plan, self._staging, self._label = engine, queries, plan, staging, label
        self._made: dict[Node, Rows] = {}

    def of(self, node: Node) -> Rows:
        """Return the rows of a node, with the columns that are wanted of it."""
        if node not in self._made:
            made = self._leaf(node) if isinstance(node, Leaf) else self._operated(node)
            self._made[node] = self._queries.shared(made) if node in self._plan.shared else made
        return self._made[node]

    def _operated(self, node: Operated) -> Rows:
        inputs = [self.of(each) for each in self._plan.inputs(node)]
        operation = self._plan.in_order.get(node) or node.operation
        return self._queries.operate(operation.narrow(self._plan.wanted[node]), inputs, self._label)

    def _leaf(self, node: Leaf) -> Rows:
        wanted = self._plan.wanted[node]
        numbered = [key for key in node.order if key.column in wanted and key.column not in node.schema.names]
        dataset = self._readable(node.dataset, numbered=bool(numbered))
        columns = [name for name in node.schema.names if name in wanted]
        if columns or not numbered:
            dataset = dataset.select(columns or node.schema.names[:1])
        if not numbered:
            return self._lazy(dataset)
        frame = self._lazy(dataset.with_step(RowNumber()))
        return self._named(frame, columns, numbered)

    def _named(self, frame: Rows, columns: list[str], order: Sequence[SortKey]) -> Rows:
        """Return the frame with the row number as every hidden column of an order, up or down as its keys go."""
        if [(key.column, key.descending) for key in order] == [(ROW_ORDER, False)]:
            return frame
        number = nw.col(ROW_ORDER)
        keys = {key.column: -number if key.descending else number for key in order}
        made = {**{name: nw.col(name) for name in columns}, **keys}
        return self._queries.operate(Project(made, {}), [frame], self._label)

    def _readable(self, dataset: Dataset, *, numbered: bool) -> Dataset:
        """Return a dataset of this engine whose rows are there, and have numbers if they are asked for."""
        dataset = replace(settled(dataset), engine=self._engine)
        if not numbered or not any(step.makes_rows for step in dataset.steps):
            return dataset
        folder = self._staging.new_input()
        stage(dataset, folder, self._label)
        return read_staged(self._engine, folder, dataset.schema)

    def _lazy(self, dataset: Dataset) -> Rows:
        return self._queries.read(dataset, self._staging, self._label)
