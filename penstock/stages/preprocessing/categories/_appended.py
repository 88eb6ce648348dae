"""Vocabularies that grow at their end."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.stages.preprocessing.categories.vocabulary import values_of
from penstock.statistics import Frequencies


def without(found: Frequencies, known: pa.Array) -> Frequencies:
    """Return the values that are not among those that are known.

    Examples
    --------
    >>> found = Frequencies(pa.table({"value": ["b", "a"], "count": [2, 1]}), nulls=0)
    >>> without(found, pa.array(["b", "z"])).table["value"].to_pylist()
    ['a']
    """
    table = found.table
    return Frequencies(table.filter(pc.invert(pc.is_in(table["value"], known.cast(table["value"].type)))), found.nulls)


def appended(known: pa.Table, found: Frequencies, new: pa.Table) -> pa.Table:
    """Return a vocabulary with new values after those that it has, and the counts that were found of all.

    Examples
    --------
    >>> known = pa.table({"value": ["b", "gone"], "count": [2, 1]})
    >>> found = Frequencies(pa.table({"value": ["a", "b"], "count": [7, 5]}), nulls=0)
    >>> appended(known, found, found.table.slice(0, 1)).to_pylist()
    [{'value': 'b', 'count': 5}, {'value': 'gone', 'count': 0}, {'value': 'a', 'count': 7}]
    """
    values, counts = values_of(found.table), values_of(found.table, "count")
    before = values_of(known).cast(values.type)
    again = counts.take(pc.index_in(before, value_set=values)).fill_null(0)
    value = pa.concat_arrays([before, values_of(new)])
    return pa.table({"value": value, "count": pa.concat_arrays([again, values_of(new, "count")])})
