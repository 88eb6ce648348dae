"""Sums of sparse vectors, class by class and index by index: what naive Bayes learns from texts, in one scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.frames import sparse
from penstock.statistics.aggregates import numbers
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.groups import sums
from penstock.statistics.labels import categories, refuse_more, without_minus_zero
from penstock.statistics.rules import ColumnRules, add_counts, refuse, rules_for, valid_rows
from penstock.statistics.vector_faults import BROKEN, count_faults, refuse_faults

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True, eq=False)
class SumsByClass:
    """What the vectors of each class add up to; of the classes that have a row of a weight above 0.

    Attributes
    ----------
    name : str
        Of the vector.
    classes : pyarrow.Array
        Ascending, in the type of the label.
    rows : numpy.ndarray of shape (n_classes,), int64
    weight : numpy.ndarray of shape (n_classes,), float64
    index : numpy.ndarray of shape (n_indices,), int32
        Those that some row has, ascending.
    matrix : scipy.sparse.csr_matrix of shape (n_classes, n_indices), float64
        The sums, weighted; of counts, exact.
    """

    name: str
    classes: pa.Array
    rows: np.ndarray
    weight: np.ndarray
    index: np.ndarray
    matrix: csr_matrix

    @property
    def sums(self) -> np.ndarray:
        """The sums as a dense matrix, which is made each time; of many classes and indices it is large."""
        return self.matrix.toarray()


@dataclass(frozen=True)
class ClassIndices(Statistic):
    """The :class:`SumsByClass` of one sparse vector; the state grows with the classes' different indices.

    Computed on the host, sums in the order of the rows.

    Parameters
    ----------
    columns : tuple of str
        The label, indices and values of the vector, and the weight (0 or more) if it is `weighted`. Labels are
        integers, booleans, strings, or floating numbers without a fraction. A row of weight 0 is as if absent.
    domain : {"negative", "not binary"}
        What values must not be.
    weighted : bool, default False
    limit : int, default 10_000
        The most classes.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = ClassIndices(("label", *sparse.columns("v")), domain="negative")
    >>> kind = pa.schema([("label", pa.string()), *sparse.fields(["v"]).items()])
    >>> rows = {"label": ["b", "a"], "v_indices": [[0, 3], [3]], "v_values": [[5.0, 2.0], [1.0]]}
    >>> found = statistic.finish(statistic.summarise(frames.from_arrow(pa.table(rows, kind))))
    >>> found.classes.to_pylist(), found.index.tolist(), found.sums.tolist()
    (['a', 'b'], [0, 3], [[0.0, 1.0], [5.0, 2.0]])
    """

    domain: str
    weighted: bool = False
    limit: int = 10_000

    @property
    def name(self) -> str:
        """The name of the vector."""
        return self.columns[1].removesuffix("_indices")

    @property
    def _faults(self) -> tuple[str, ...]:
        return ("null", *BROKEN, self.domain)

    def _checks(self, floating: bool) -> ColumnRules:
        of_label = ("null", "infinite", "not_whole") if floating else ("null",)
        of_weight = ("null", "infinite", "negative", "too_large") if self.weighted else ()
        return [*rules_for(self.columns[:1], *of_label), *rules_for(self.columns[-1:], *of_weight)]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of one partition, and how many rows have which fault.

        Raises
        ------
        DataValueError
            There are more classes than the limit; so does `merge`.
        """
        faults = count_faults(frame, self.name, self._faults)
        rows, invalid = valid_rows(frame, self._checks(frame.schema[self.columns[0]].is_float()))
        if self.weighted:
            rows = rows.filter(nw.col(self.columns[-1]) > 0)
        return {"invalid": invalid, "faults": faults, "table": self._summed(rows.head(0) if any(faults) else rows)}

    def _summed(self, rows: nw.DataFrame[Any]) -> pa.Table:
        weight = numbers(rows, self.columns[-1]) if self.weighted else np.ones(len(rows))
        classes = without_minus_zero(categories(rows, self.columns[0]))
        matrix = sparse.to_csr(rows, self.name)
        entries = np.repeat(np.arange(len(rows)), np.diff(matrix.indptr)), matrix.indices
        ones = np.ones(len(rows), dtype=np.int64)
        return self._joined(classes, ones, weight, entries, matrix.data * weight[entries[0]])

    def merge(self, states: Sequence[State]) -> State:
        """Add up, class by class and index by index."""
        return merge_fields(states, invalid=add_counts, faults=add_counts, table=self._added)

    def _added(self, tables: Sequence[pa.Table]) -> pa.Table:
        table = pa.concat_tables(tables).combine_chunks()
        lists = table["index"].combine_chunks()
        entries = pc.list_parent_indices(lists).to_numpy(), lists.flatten().to_numpy()
        values = table["sum"].combine_chunks().flatten().to_numpy()
        rows, weight = (table[name].to_numpy() for name in ("rows", "weight"))
        return self._joined(table["class"].combine_chunks(), rows, weight, entries, values)

    def _joined(
        self,
        classes: pa.Array,
        rows: np.ndarray,
        weight: np.ndarray,
        entries: tuple[np.ndarray, np.ndarray],
        values: np.ndarray,
    ) -> pa.Table:
        """Return a row a class, of parts of a class each; `entries` are the part and the index of each value."""
        coded = classes.dictionary_encode()
        found, place = coded.dictionary, coded.indices.to_numpy()
        hint = "Learn a quantity by regression; join classes that are too many."
        refuse_more(self.columns[0], len(found), self.limit, "classes", "", hint)
        keys, at = np.unique(place[entries[0]] * np.int64(2**31) + entries[1], return_inverse=True)
        ends = np.searchsorted(keys, np.arange(len(found) + 1) * np.int64(2**31)).astype(np.int32)
        made = {"index": (keys % 2**31).astype(np.int32), "sum": sums(at, values, len(keys))}
        return pa.table(
            {
                "class": found,
                "rows": np.bincount(place, rows, len(found)).astype(np.int64),
                "weight": sums(place, weight, len(found)),
                **{name: pa.ListArray.from_arrays(pa.array(ends), pa.array(each)) for name, each in made.items()},
            }
        )

    def finish(self, state: State) -> SumsByClass:
        """Return the sums, classes in ascending order.

        Raises
        ------
        DataValueError
            A label is null, infinite or has a fraction; a weight is null, infinite, negative or larger than 1e150; a
            vector is null, none, or not in the domain. It names the column and the count, and its ``predicate`` is true
            for the bad rows.
        """
        from scipy.sparse import csr_matrix  # slow to import, and rarely needed

        table = state["table"].sort_by("class").combine_chunks()
        refuse(self._checks(pa.types.is_floating(table.schema.field("class").type)), state["invalid"])
        refuse_faults(self.name, self._faults, state["faults"])
        lists, rows, weight = table["index"].combine_chunks(), table["rows"].to_numpy(), table["weight"].to_numpy()
        index, at = np.unique(lists.flatten().to_numpy(), return_inverse=True)
        values = table["sum"].combine_chunks().flatten().to_numpy()
        matrix = csr_matrix((values, at, lists.offsets.to_numpy()), shape=(len(table), len(index)))
        return SumsByClass(self.name, table["class"].combine_chunks(), rows, weight, index, matrix)
