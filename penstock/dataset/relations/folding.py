"""A dataset as a relation: the steps that are expressions become part of the query, all others are done before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.names import check_names, is_hidden
from penstock.core.scheduler import relational
from penstock.dataset.relations.operation import Project, Where
from penstock.dataset.relations.order import Order, SortKey, order_name
from penstock.dataset.relations.relation import Leaf, Operated, Pending, PendingSource, Relation
from penstock.dataset.rowwise.rename import RenameColumns
from penstock.dataset.rowwise.with_columns import WithColumns
from penstock.dataset.steps import Filter, SelectColumns, Step
from penstock.expressions.aggregates import Parts
from penstock.expressions.guarded import guarded
from penstock.expressions.trees import columns_in, is_column

FOLDED = (SelectColumns, Filter, WithColumns, RenameColumns)
"""Steps that are expressions."""

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


def relation_of(dataset: Dataset) -> Relation:
    """Return a dataset as a relation: a pending query and what was done to its rows, or rows that are read."""
    steps = dataset.steps
    ahead = max((place + 1 for place, step in enumerate(steps) if not isinstance(step, FOLDED)), default=0)
    relation = _origin(replace(dataset, steps=steps[:ahead]))
    for step in _together(steps[ahead:]):
        relation = fold(relation, step)
    return relation


def _origin(dataset: Dataset) -> Relation:
    reader = dataset.reader
    pending = reader.source.pending if isinstance(reader.source, PendingSource) else None
    as_it_is = not (dataset.steps or reader.samples or reader.persistence)
    return pending if pending is not None and as_it_is and not pending.is_done else Leaf(dataset)


def _together(steps: Sequence[Step]) -> list[Step]:
    """Return the steps, with neighbouring independent with_columns as one."""
    made: list[Step] = []
    for step in steps:
        last = made[-1] if made else None
        if isinstance(step, WithColumns) and isinstance(last, WithColumns) and not last.names & step.reads:
            made[-1] = WithColumns((*last.columns, *step.columns))
        else:
            made.append(step)
    return made


def fold(relation: Relation, step: Step) -> Relation:
    """Return what a step that is an expression makes of a relation."""
    if isinstance(step, Filter):
        return Operated(Where(step.predicate, frozenset(step.read.names)), (relation,), relation.schema, relation.order)
    schema = step.output_schema(relation.schema)
    if isinstance(step, RenameColumns):
        before = dict(zip(step.new, step.old, strict=True))
        names = {name: before.get(name, name) for name in schema.names}
        reads = {name: frozenset((old,)) for name, old in names.items()}
        return select(relation, {name: nw.col(old) for name, old in names.items()}, schema, reads)
    columns = {name: nw.col(name) for name in schema.names}
    reads = {name: frozenset((name,)) for name in schema.names}
    if isinstance(step, WithColumns):
        columns |= {each.name: each.value for each in step.columns}
        reads |= {each.name: frozenset(each.read.names) for each in step.columns}
    return select(relation, columns, schema, reads, step.label)


def select(
    relation: Relation,
    columns: Mapping[str, nw.Expr],
    schema: pa.Schema,
    reads: Mapping[str, frozenset[str]],
    title: str = "select",
) -> Operated:
    """Return columns made of a relation, a row for each of its rows; what its order goes by comes along, hidden.

    Parameters
    ----------
    reads : mapping
        The columns that each reads.
    """
    hidden, order = carry(relation.order or (), unchanged(columns))
    made = {**columns, **{name: nw.col(source) for name, source in hidden.items()}}
    read = {**reads, **{name: frozenset((source,)) for name, source in hidden.items()}}
    return Operated(Project(made, read, title), (relation,), schema, None if relation.order is None else order)


def select_beside(
    relation: Relation,
    kept: Sequence[str],
    made: Mapping[str, nw.Expr],
    kinds: Mapping[str, pa.DataType],
    reads: Mapping[str, frozenset[str]],
    title: str,
) -> Operated:
    """Return columns of a relation as they are, and new ones made of its rows; see `select`."""
    schema = pa.schema([*(relation.schema.field(name) for name in kept), *kinds.items()])
    columns = {**{name: nw.col(name) for name in kept}, **made}
    return select(relation, columns, schema, {**{name: frozenset((name,)) for name in kept}, **reads}, title)


def finish(relation: Operated, kept: Sequence[str], parts: Parts, verb: str) -> Operated:
    """Return columns of a relation as they are, and what is made of the aggregates in it."""
    nan = frozenset(each.output for each in parts.aggregates if each.may_be_nan)
    made = {name: guarded(output, relation.schema, verb, nan=nan) for name, output in parts.outputs.items()}
    reads = {name: frozenset(columns_in(output)) for name, output in parts.outputs.items()}
    values, kinds = ({name: pair[place] for name, pair in made.items()} for place in (0, 1))
    return select_beside(relation, kept, {name: part.expr for name, part in values.items()}, kinds, reads, verb)


def unchanged(columns: Mapping[str, nw.Expr]) -> frozenset[str]:
    """Return the columns that are what they are called."""
    return frozenset(name for name, made in columns.items() if is_column(made) and columns_in(made) == [name])


def carry(order: Sequence[SortKey], visible: frozenset[str]) -> tuple[dict[str, str], Order]:
    """Return hidden columns, by what they are made of, for what an order goes by that is not in `visible`."""
    taken = {key.column for key in order}
    free = (name for place in range(len(order) * 2) if (name := order_name(place)) not in taken)
    hidden: dict[str, str] = {}
    keys: list[SortKey] = []
    for key in order:
        if key.column in visible:
            keys.append(key)
            continue
        name = key.column if is_hidden(key.column) else next(free)
        hidden[name] = key.column
        keys.append(replace(key, column=name))
    return hidden, tuple(keys)


def as_dataset(dataset: Dataset, relation: Operated, verb: str) -> Dataset:
    """Return a dataset of what a verb made, on the engine of the dataset that it was called on.

    Raises
    ------
    ConfigError
        The engine has no query engine, or none that can run it now.
    SchemaError
        The query engine lacks the type of a column, or a column that is made has a name that Penstock keeps.
    """
    schemas = [relation.schema, *(each.schema for each in relation.inputs)]
    check_names(relation.schema.names, verb, stage=verb)
    relational(dataset.engine, verb).check_relation(schemas, verb)
    return Pending(dataset.engine, relation, verb).dataset()


def refuse_nested(schema: pa.Schema, names: Sequence[str], verb: str, hint: str | None = None) -> None:
    """Raise SchemaError for a column that a verb would have to compare, and cannot."""
    for name in names:
        kind = schema.field(name).type
        if pa.types.is_nested(kind):
            problem = f"column {name!r} is {kind}, which {verb} does not compare"
            raise SchemaError(problem, hint=hint, column=name, stage=verb)


def no_order(verb: str, why: str) -> ConfigError:
    """Return the error for rows that are in no defined order, where a verb goes by it."""
    return ConfigError(
        f"{verb} is called on rows that are in no defined order, and {why}",
        hint="Leave out maintain_order=False before, or sort.",
        stage=verb,
    )
