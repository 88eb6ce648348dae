"""Classes and categories: columns of them on the host, their places on a GPU, and how many there may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.frames import matrices
from penstock.statistics.aggregates import device_numbers, to_array


def categories(rows: nw.DataFrame[Any], name: str) -> pa.Array:
    """Return a column as one Arrow array; nulls of no type as strings, which they are on a GPU.

    Examples
    --------
    >>> categories(frames.from_arrow(pa.table({"c": [None, None]})), "c").type
    DataType(string)
    """
    values = frames.to_arrow(rows.select(name))[name]
    return (values.cast(pa.string()) if pa.types.is_null(values.type) else values).combine_chunks()


def without_minus_zero(classes: pa.Array) -> pa.Array:
    """Return the classes with 0.0 for -0.0, so that they are one; Polars drops an added zero.

    Examples
    --------
    >>> without_minus_zero(pa.array([-0.0, 1.0])).to_pylist()
    [0.0, 1.0]
    """
    return pc.add(classes, pa.scalar(0.0, classes.type)) if pa.types.is_floating(classes.type) else classes


def coded_there(rows: nw.DataFrame[Any], name: str, check: Callable[[int], None]) -> tuple[pa.Table, Any]:
    """Return the classes of a column of a frame on a GPU, and there the place of each row's class among them.

    The classes are a table of ``value`` and ``count``; 0.0 and -0.0 are one, by a sum that cuDF does not drop.

    Parameters
    ----------
    check : callable
        Told how many there are before these leave the device; it may raise.
    """
    column, dtype = nw.col(name), rows.schema[name]
    values = rows.select((column + 0.0).cast(dtype) if dtype.is_float() else column)
    check(values[name].n_unique())
    counts = frames.value_counts(values, [name])[name]
    codes = frames.encode(values, {name: counts["value"].combine_chunks()}, {name: -1})
    return counts, to_array(codes[name].cast(nw.Int64))


def are_exact(classes: Sequence[Any]) -> bool:
    """Return whether float64 rounds no integer to a class but itself.

    Examples
    --------
    >>> are_exact([True, 2.5, "a"]), are_exact([2**53])
    (True, False)
    """
    return all(isinstance(value, str) or abs(value) < 2**53 for value in classes)


def class_codes(rows: nw.DataFrame[Any], name: str, classes: tuple[Any, ...]) -> Any:
    """Return the code of each label, the index of its class, as a float64 array on the device of the rows.

    The code of null, and of a label that is no class, is the number of classes.

    Examples
    --------
    >>> class_codes(frames.from_arrow(pa.table({"label": [3, 1, 2, None]})), "label", (1, 3)).tolist()
    [1.0, 0.0, 2.0, 2.0]
    """
    none = len(classes)
    if rows.schema[name] == nw.String:
        return device_numbers(
            frames.encode(rows.select(name), {name: _texts(classes)}, {name: none}, {name: none}), name
        )
    if not are_exact(classes):
        places = nw.col(name).replace_strict(list(classes), list(range(none)), default=none, return_dtype=nw.Float64)
        return device_numbers(rows.select(places.fill_null(float(none))), name)
    known, kind = np.array(classes, np.float64), frames.kind_of(rows)
    order = known.argsort()
    ordered = matrices.to_device(np.append(known[order], np.nan), kind)  # NaN where a label is beyond the last class
    values = matrices.to_rows(rows, (name,))[0]
    places = np.searchsorted(ordered, values)
    found = ordered[places] == values
    if (order[1:] < order[:-1]).any():
        places = matrices.to_device(np.append(order, none), kind)[places]
    return np.where(found, places, float(none))


@lru_cache(maxsize=64)  # `frames.encode` builds an encoding once for as long as the same memory holds its values
def _texts(classes: tuple[str, ...]) -> pa.Array:
    return pa.array(classes, pa.string())


def refuse_more(column: str, number: int, limit: int, what: str, expected: str, hint: str) -> None:
    """Raise DataValueError if a column has more than `limit` different values; both texts say of what."""
    if number > limit:
        raise DataValueError(
            f"column {column!r} has {number} or more {what}, expected at most {limit}{expected}",
            hint=hint,
            column=column,
        )
