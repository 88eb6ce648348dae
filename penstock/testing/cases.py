"""Cases: what a stage learns from, and what it is then given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from penstock.frames import ROW
from penstock.stages.base import Stage
from penstock.stages.step import StageStep
from penstock.stages.trainer import as_trainer
from penstock.testing import tables

_TABLES: Mapping[str, Callable[[], pa.Table]] = {
    make.__name__: make
    for make in (
        tables.ordinary,
        tables.no_rows,
        tables.one_row,
        tables.all_null,
        tables.constant,
        tables.offset,
        tables.not_a_number,
        tables.missing_numbers,
        tables.infinite,
        tables.large_integers,
        tables.large_numbers,
        tables.long_strings,
        tables.far_dates,
        tables.broken_images,
        tables.unseen,
    )
}
_LEARNED_BEFORE = {"unseen": "unseen", "infinite_later": "infinite"}
_FOR_ALL = ("ordinary", "no_rows", "one_row")


@functools.cache
def table(name: str) -> pa.Table:
    """Return a table of `penstock.testing.tables` by the name of its function; made once."""
    return _TABLES[name]()


@dataclass(frozen=True)
class Case:
    """A table to fit on and a table to transform, by name; mostly the same.

    Examples
    --------
    >>> CASES["unseen"].learned, CASES["unseen"].given, CASES["unseen"].touched
    ('ordinary', 'unseen', ('n1', 's1', 'words'))
    """

    name: str
    learned: str
    given: str

    @property
    def touched(self) -> tuple[str, ...]:
        """The columns of the table given that differ from those of an ordinary one with as many rows."""
        return _touched(self.given)


@functools.cache
def _touched(name: str) -> tuple[str, ...]:
    given = table(name)
    usual = tables.ordinary(given.num_rows)
    return tuple(column for column in usual.schema.names if not given[column].equals(usual[column]))


CASES: Mapping[str, Case] = {
    **{name: Case(name, name, name) for name in _TABLES if name not in ("unseen", "missing_numbers")},
    **{name: Case(name, "ordinary", given) for name, given in _LEARNED_BEFORE.items()},
}


def trains(stage: Stage) -> bool:
    """Return whether `stage` is trained on rows of the tables, beyond statistics."""
    schema = tables.ordinary().schema
    return as_trainer(stage.bind(schema), schema) is not None


def read_by(stage: Stage) -> tuple[str, ...]:
    """Return the columns of the tables that `stage` reads, at fit or later."""
    schema = tables.ordinary().schema
    bound = stage.bind(schema)
    trainer = as_trainer(bound, schema)
    of_rows = () if trainer is None else trainer.training_columns()
    of_statistics = chain.from_iterable(statistic.reads for statistic in bound.statistics(schema).values())
    return tuple(name for name in dict.fromkeys([*bound.inputs(), *of_rows, *of_statistics]) if name != ROW)


def aside(stage: Stage) -> tuple[str, ...]:
    """Return the columns of the tables that `stage` reads at fit alone: the label, the weight."""
    bound = stage.bind(tables.ordinary().schema)
    return tuple(name for name in read_by(stage) if name not in (*bound.inputs(), *StageStep(bound, None, 0).doubtful))


def encodes(stage: Stage) -> bool:
    """Return whether `stage` makes columns by what it learns from those read at fit alone, and is no trainer."""
    outputs = stage.bind(tables.ordinary().schema).outputs()
    return bool(aside(stage) and outputs) and not trains(stage)


def cases_for(stage: Stage) -> tuple[Case, ...]:
    """Return the cases that every stage meets, and those that touch a column which `stage` reads."""
    columns = set(read_by(stage))
    return tuple(case for case in CASES.values() if case.name in _FOR_ALL or columns & set(case.touched))
