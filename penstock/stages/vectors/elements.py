"""The elements of dense vectors as columns: of names, of a schema, of a frame and of one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.core.names import element_names
from penstock.frames import elements, matrices
from penstock.frames.predicates import ComputedPredicate
from penstock.stages.base import Stage
from penstock.stages.capabilities import NumbersTaker
from penstock.statistics.base import State, Statistic
from penstock.statistics.checks import Checks
from penstock.statistics.rules import Rule


@dataclass(frozen=True)
class VectorElements:
    """Dense vectors and their lengths.

    Parameters
    ----------
    sizes : tuple of (str, int)
        The columns of lists, each with the length of its vectors.

    Examples
    --------
    >>> vectors = VectorElements((("v", 2),))
    >>> vectors.collect(("x", "v_0", "v_1", "y"))
    ('x', 'v', 'y')
    >>> from penstock import frames
    >>> view = vectors.view(frames.from_arrow(pa.table({"v": [[1.0, 2.0]], "x": [3], "y": [4]})), ("x", "v_0", "v_1"))
    >>> view.rows(named=True)
    [{'v_0': 1.0, 'v_1': 2.0, 'x': 3}]
    """

    sizes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, sizes: Mapping[str, int]) -> VectorElements:
        """Return those of lengths by name."""
        return cls(tuple(sizes.items()))

    @cached_property
    def _names(self) -> dict[str, tuple[str, ...]]:
        return {name: element_names(name, size) for name, size in self.sizes}

    @cached_property
    def vectors(self) -> dict[str, str]:
        """The vector that each element is of."""
        return {element: name for name, names in self._names.items() for element in names}

    def collect(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Return names with each vector in the place of its elements, once."""
        return tuple(dict.fromkeys(self.vectors.get(name, name) for name in columns))

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return a schema that has the elements too; other columns of such names give way to them."""
        kinds = {name: schema.field(vector).type.value_type for name, vector in self.vectors.items()}
        return pa.schema([*(field for field in schema if field.name not in kinds), *kinds.items()])

    def view(self, frame: nw.DataFrame[Any], columns: Sequence[str]) -> nw.DataFrame[Any]:
        """Return these columns of a frame, elements among them.

        Raises
        ------
        DataValueError
            A list has another length.
        """
        for name, size in self.sizes:
            lengths = matrices.list_lengths(frame, name)
            refuse_lengths(name, size, int(((lengths != size) & (lengths >= 0)).sum()))
        made = [elements.elements(frame, name, size) for name, size in self.sizes]
        others = [frame[name] for name in dict.fromkeys(columns) if name not in self.vectors]
        first, *rest = made
        return first.with_columns(*(column for each in rest for column in each.iter_columns()), *others)

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of one row, elements among them; DataValueError for a list of another length."""
        values = dict(row)
        for name, size in self.sizes:
            vector = row[name]
            refuse_lengths(name, size, int(vector is not None and len(vector) != size))
            values.update(zip(self._names[name], vector or (None,) * size, strict=True))
        return values

    def blamed(self, error: DataValueError) -> DataValueError:
        """Return an error about an element as one about the vector that has it, with a predicate of that column."""
        if error.column is not None and error.column not in self.vectors:
            return error
        if error.predicate is not None:
            error.predicate = self._predicate(error.predicate)
        if error.column is not None:
            error.place["column"] = self.vectors[error.column]
        return error

    def _predicate(self, predicate: nw.Expr) -> ComputedPredicate:
        """Return a predicate of columns and elements as one of columns and vectors."""

        def met(frame: nw.DataFrame[Any]) -> nw.Series[Any]:
            view = self.view(frame, [*self.vectors, *(name for name in frame.columns if name not in self._names)])
            return view.select(predicate.fill_null(False).alias("met"))["met"]

        return ComputedPredicate(tuple(self._names), met)


def refuse_lengths(name: str, size: int, count: int) -> None:
    """Raise DataValueError where some lists, `count` of them, are not of the length that vectors have."""
    if count:
        raise DataValueError(
            f"column {name!r} has {count} lists that are not of length {size}, expected dense vectors of one length",
            hint="Filter such rows, or make vectors of one length of them, before this step.",
            column=name,
            predicate=nw.col(name).list.len() != size,
        )


_LENGTHS = pa.schema({"length": pa.int64(), "count": pa.int64()})


@dataclass(frozen=True)
class ElementResults:
    """The stage that sees the elements, bound; their lengths; and the results of its statistics, by its own names."""

    stage: Stage
    sizes: Mapping[str, int]
    results: Mapping[str, Any]


@dataclass(frozen=True)
class ElementStatistics(Statistic):
    """The statistics that a stage asks of elements, as `ElementResults`.

    Parameters
    ----------
    columns : tuple of str
        The vectors, columns of lists of numbers.
    stage : Stage
        Bound to `schema`, with the vectors among its columns of numbers.
    schema : pyarrow.Schema
    """

    stage: Stage = field(hash=False)
    schema: pa.Schema = field(hash=False)

    @property
    def others(self) -> dict[str, Statistic]:
        """What the stage asks for that no element is read for."""
        elements = VectorElements.of(dict.fromkeys(self.columns, 1))
        asked = self._over(elements).statistics(elements.schema(self.schema))
        return {name: each for name, each in asked.items() if not set(each.reads) & elements.vectors.keys()}

    @property
    def reads(self) -> tuple[str, ...]:
        elements = VectorElements.of(dict.fromkeys(self.columns, 1))
        asked = self._asked(elements).values()
        return elements.collect([*self.columns, *(name for each in asked for name in each.reads)])

    def _over(self, elements: VectorElements) -> Stage:
        stage = cast(NumbersTaker, self.stage).over_elements(dict(elements.sizes))
        names = cast(NumbersTaker, stage).number_columns
        if len(set(names)) < len(names):
            twice = next(name for name in elements.vectors if names.count(name) > 1)
            raise ConfigError(
                f"{stage.title} names column {twice!r}, and has the vector {elements.vectors[twice]!r} of which an"
                " element is called the same",
                hint="Rename one of them.", column=twice, stage=stage.title,
            )  # fmt: skip
        return stage

    def _asked(self, elements: VectorElements) -> dict[str, Statistic]:
        """Return the statistics that elements are read for."""
        asked = self._over(elements).statistics(elements.schema(self.schema))
        return {name: each for name, each in asked.items() if set(each.reads) & elements.vectors.keys()}

    def summarise(self, frame: nw.DataFrame) -> State:
        """Gather of the rows what is asked for, where there is a vector among them to tell their length."""
        lengths = {name: _lengths(matrices.list_lengths(frame, name)) for name in self.columns}
        sizes = {name: _usual(each) for name, each in lengths.items()}
        state = {"lengths": lengths, "without": 0, "sizes": {}, "states": {}}
        if not all(sizes.values()):
            return {**state, "without": len(frame)}
        elements = VectorElements.of(sizes)
        asked = self._asked(elements)
        if any(each.num_rows > 1 for each in lengths.values()) or not asked:
            return {**state, "sizes": sizes}
        view = elements.view(frame, tuple(dict.fromkeys(name for each in asked.values() for name in each.reads)))
        return {**state, "sizes": sizes, "states": {name: each.summarise(view) for name, each in asked.items()}}

    def merge(self, states: Sequence[State]) -> State:
        """Join the states of parts whose vectors are of one length; of others only the lengths, to tell of them."""
        lengths = {
            name: frames.sum_by_key([state["lengths"][name] for state in states], ["length"]) for name in self.columns
        }
        state = {"lengths": lengths, "without": sum(state["without"] for state in states)}
        sized = [each for each in states if each["sizes"]]
        sizes = sized[0]["sizes"] if sized else {}
        if any(each.num_rows > 1 for each in lengths.values()) or not sized:
            return {**state, "sizes": sizes, "states": {}}
        asked = self._asked(VectorElements.of(sizes))
        merged = {name: each.merge([other["states"][name] for other in sized]) for name, each in asked.items()}
        return {**state, "sizes": sizes, "states": merged}

    def finish(self, state: State) -> ElementResults:
        """Return the results.

        Raises
        ------
        DataValueError
            There is no vector, they are of several lengths, or what a statistic refuses.
        """
        self._refuse(state)
        elements = VectorElements.of(state["sizes"])
        stage = self._over(elements).bind(elements.schema(self.schema))
        asked = self._asked(elements)
        try:
            results = {name: each.finish(state["states"][name]) for name, each in asked.items()}
        except DataValueError as error:
            raise elements.blamed(error) from error.__cause__
        return ElementResults(stage, state["sizes"], results)

    def _refuse(self, state: State) -> None:
        for name, lengths in state["lengths"].items():
            size = _usual(lengths)
            others = sum(row["count"] for row in lengths.to_pylist() if row["length"] != size)
            refuse_lengths(name, size, others)
            if not size:
                raise DataValueError(
                    f"column {name!r} has no vector with an element in it, expected lists of numbers of one length",
                    column=name, stage=self.stage.title,
                )  # fmt: skip
        if state["without"] and any(map(_refuses_null, self._asked(VectorElements.of(state["sizes"])).values())):
            raise Rule("null").error(self.columns[0], state["without"])


def _lengths(lengths: np.ndarray) -> pa.Table:
    """Return how many lists there are of each length, without null."""
    length, count = np.unique(lengths[lengths >= 0], return_counts=True)
    return pa.table({"length": length.astype(np.int64), "count": count.astype(np.int64)}, schema=_LENGTHS)


def _usual(lengths: pa.Table) -> int:
    """Return the length that most lists have, the largest of several; 0 where there is none."""
    rows = zip(lengths["count"].to_pylist(), lengths["length"].to_pylist(), strict=True)
    return max(rows, default=(0, 0))[1]


def _refuses_null(statistic: Statistic) -> bool:
    """Return whether a statistic that elements are read for does not take them all to be null."""
    return not isinstance(statistic, Checks) or any(rule.test == "null" for _, rule in statistic.rules)
