"""The elements of dense vectors as columns: of names, of a schema, of a frame and of one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.core.names import element_names
from penstock.frames import elements, matrices
from penstock.frames.predicates import ComputedPredicate


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
