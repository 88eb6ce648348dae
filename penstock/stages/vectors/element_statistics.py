"""What a stage asks of the elements of dense vectors, gathered in the scan that finds out how long they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.frames import matrices
from penstock.stages.base import Stage
from penstock.stages.capabilities import NumbersTaker
from penstock.stages.vectors.elements import VectorElements, refuse_lengths
from penstock.statistics.base import State, Statistic
from penstock.statistics.checks import Checks
from penstock.statistics.rules import Rule

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
