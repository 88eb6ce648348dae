"""Lists cut to a part of themselves, or filled up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.frames.ragged import Ragged, with_lists
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.parameter_checks import in_range


@dataclass(frozen=True)
class ListSlice(ColumnStage):
    """Keeps the elements of each list from one place to before another, as ``elements[start:end]`` does in Python.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of lists.
    start : int, default=0
        The place of the first element kept, from 0; a negative one is counted from the end.
    end : int, optional
        The place before which to stop; the end of the list, unless given. A negative one is counted from the end.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A place is not a whole number.
    SchemaError
        Before reading: a column is missing or not of lists.

    Notes
    -----
    A list that is shorter keeps what it has there; :class:`ListPad` fills it up. A null stays null, and so does an
    element that is null. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"seen": [[1, 2, 3], [4], None]}))
    >>> ps.Pipeline(st.ListSlice("seen", start=-2)).fit(data).transform(data).to_arrow()["seen"].to_pylist()
    [[2, 3], [4], None]
    """

    _: KW_ONLY
    start: int = field(default=0, metadata=in_range(whole=True))
    end: int | None = field(default=None, metadata=in_range(whole=True))

    tags: ClassVar[Tags] = Tags(accepts="list")

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Tell which elements to keep of all lists of a column at once."""
        return with_lists(frame, {out: self._cut(Ragged.of(frame, name)) for name, out in self.pairs()})

    def _cut(self, lists: Ragged) -> Ragged:
        lengths = np.repeat(lists.lengths, lists.lengths)
        kept = lists.places >= _counted(self.start, lengths)
        if self.end is not None:
            kept &= lists.places < _counted(self.end, lengths)
        return lists.keep(kept)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Cut one list."""
        return lambda elements: None if elements is None else elements[self.start : self.end]


def _counted(place: int, lengths: np.ndarray) -> Any:
    """Return a place in lists of these lengths, counted from their beginnings."""
    return place if place >= 0 else lengths + place


@dataclass(frozen=True)
class ListPad(ColumnStage):
    """Fills each list up with a value at its end, to a length.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of lists of numbers, booleans or strings.
    length : int
        How many elements each list has at least. Those that have more keep them; :class:`ListSlice` with `end` before
        this makes all of one length.
    value : bool, int, float, str or None, default=0
        What is put in; of the type of the elements.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        `length` is not a whole number of 0 or more, or the elements of a column cannot hold `value`.
    SchemaError
        Before reading: a column is missing or not of lists.

    Notes
    -----
    A null stays null. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"seen": [[1, 2, 3], [4], None]}))
    >>> ps.Pipeline(st.ListPad("seen", length=2)).fit(data).transform(data).to_arrow()["seen"].to_pylist()
    [[1, 2, 3], [4, 0], None]
    """

    _: KW_ONLY
    length: int = field(metadata=in_range(least=0, whole=True))
    value: bool | int | float | str | None = 0

    tags: ClassVar[Tags] = Tags(accepts="list")

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check that their elements can be the value."""
        bound = super().bind(schema)
        for name in bound.inputs():
            self._filling(name, schema.field(name).type.value_type)
        return bound

    def _filling(self, name: str, kind: pa.DataType) -> pa.Array:
        """Return the value in the type of the elements of a column."""
        try:
            made = pa.array([self.value], kind)
            same = self.value is None or isinstance(made[0].as_py(), bool | str) == isinstance(self.value, bool | str)
        except (pa.ArrowException, OverflowError):
            same = False
        if not same:
            raise ConfigError(
                f"value of {self.title} is {self.value!r}, which lists of {kind} in column {name!r} cannot hold",
                column=name, stage=self.title,
            )  # fmt: skip
        return made

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Put the value in for all lists of a column at once."""
        return with_lists(frame, {out: self._filled(name, Ragged.of(frame, name)) for name, out in self.pairs()})

    def _filled(self, name: str, lists: Ragged) -> Ragged:
        lengths = np.where(lists.missing, 0, np.maximum(lists.lengths, self.length))
        starts = np.cumsum(lengths) - lengths
        sources = np.full(int(lengths.sum()), len(lists.elements))  # the value stands after the last element
        sources[starts[lists.rows] + lists.places] = np.arange(len(lists.elements))
        both = pa.concat_arrays([lists.elements, self._filling(name, lists.elements.type)])
        return lists.with_lengths(both.take(pa.array(sources)), lengths)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Fill one list up."""
        filling = self._filling(name, kind.value_type)[0].as_py()
        return lambda elements: None if elements is None else [*elements] + [filling] * (self.length - len(elements))
