"""Equality of what stages learn and make: to the bit, or up to rounding, with the first difference named."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.stages.base import Blob

RTOL = 1e-12
"""What rounding may change when the same rows are added up in another order."""


def demand(holds: bool, problem: str) -> None:
    """Raise AssertionError with `problem` unless `holds`; a bare assert would pass under ``python -O``."""
    if not holds:
        raise AssertionError(problem)


def demand_equal(found: Any, expected: Any, what: str, *, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Raise AssertionError that names the first difference.

    Floats are equal when their bits are, unless `rtol` or `atol` is given; anything else is equal in type and value.

    Examples
    --------
    >>> demand_equal({"mean": 0.1 + 0.2}, {"mean": 0.3}, "state", rtol=1e-12)
    >>> demand_equal({"mean": 0.1 + 0.2}, {"mean": 0.3}, "state")
    Traceback (most recent call last):
    AssertionError: state['mean'] is 0.30000000000000004, expected 0.3
    """
    problem = _difference(found, expected, what, rtol, atol)
    demand(problem is None, problem or "")


def demand_grown(found: Any, before: Any, what: str) -> None:
    """Raise AssertionError unless each table of what was learned begins with the values that it had before.

    Examples
    --------
    >>> demand_grown({"c": pa.table({"value": ["b", "a"]})}, {"c": pa.table({"value": ["a"]})}, "state")
    Traceback (most recent call last):
    AssertionError: state['c'] begins with other values than before
    """
    if isinstance(before, pa.Table):
        values = (table.column(0).combine_chunks() for table in (found.slice(0, before.num_rows), before))
        return demand(next(values).equals(next(values)), f"{what} begins with other values than before")
    items = before.items() if isinstance(before, Mapping) else enumerate(before) if isinstance(before, tuple) else ()
    for key, value in items:
        demand_grown(found[key], value, f"{what}[{key!r}]")
    return None


def _difference(found: Any, expected: Any, place: str, rtol: float, atol: float) -> str | None:
    if isinstance(expected, pa.Table) and isinstance(found, pa.Table):
        if found.schema != expected.schema:
            return f"{place} has the schema {_fields(found)}, expected {_fields(expected)}"
        names = [name for name in expected.schema.names if not _same_bits(found[name], expected[name])]
        return _difference(found.select(names).to_pydict(), expected.select(names).to_pydict(), place, rtol, atol)
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        if list(found) != list(expected):
            return f"{place} has the keys {list(found)}, expected {list(expected)}"
        differences = (_difference(found[key], expected[key], f"{place}[{key!r}]", rtol, atol) for key in expected)
        return next(filter(None, differences), None)
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        if len(found) != len(expected):
            return f"{place} has {len(found)} items, expected {len(expected)}"
        pairs = enumerate(zip(found, expected, strict=True))
        differences = (_difference(one, other, f"{place}[{i}]", rtol, atol) for i, (one, other) in pairs)
        return next(filter(None, differences), None)
    if type(found) is type(expected) and _same(found, expected, rtol, atol):
        return None
    return f"{place} is {_shown(found)}, expected {_shown(expected)}"


def _same_bits(found: pa.ChunkedArray, expected: pa.ChunkedArray) -> bool:
    """Return whether Arrow finds columns of one type equal to the bit: most are, and need no look at each value."""
    if pa.types.is_nested(kind := expected.type) or pa.types.is_dictionary(kind):
        return False  # to Arrow, zeros of both signs in them are equal
    bits = f"int{kind.bit_width}" if pa.types.is_floating(kind) else kind
    one, other = (column.combine_chunks().view(bits) for column in (found, expected))
    return bool(one.equals(other))


def _same(found: Any, expected: Any, rtol: float, atol: float) -> bool:
    if not isinstance(expected, float):
        return bool(found == expected)
    if rtol or atol:
        return bool(found == expected) or math.isclose(found, expected, rel_tol=rtol, abs_tol=atol)
    return bool(found.hex() == expected.hex())


def _fields(table: pa.Table) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in table.schema)


def _shown(value: Any, most: int = 100) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}... ({type(value).__name__}, {len(text)} characters)"


def without_models(state: Any) -> Any:
    """Return what was learned with every model file left out: two gangs of ranks give trees that differ a little."""
    if isinstance(state, Mapping):
        return {key: without_models(value) for key, value in state.items() if not isinstance(value, Blob)}
    return state


def demand_alike(found: pa.Table, expected: pa.Table, what: str, *, share: float = 0.05) -> None:
    """Raise AssertionError unless predictions are about the same.

    Parameters
    ----------
    share : float
        How far numbers may differ, on average and relative to how they vary, and what share of classes may differ.
        Nulls are in the same rows.

    Examples
    --------
    >>> demand_alike(pa.table({"x": [1.0, None]}), pa.table({"x": [None, 1.0]}), "the output")
    Traceback (most recent call last):
    AssertionError: 'x' of the output differs by inf, expected at most 0.05
    """
    demand(found.schema == expected.schema, f"{what} has {_fields(found)}, expected {_fields(expected)}")
    for name in expected.schema.names:
        apart = _apart(found[name].to_pylist(), expected[name].to_pylist())
        strange = f"{name!r} of {what} is not finite in some rows: refuse what leads there, or give null"
        demand(not math.isnan(apart), strange)
        demand(apart <= share, f"{name!r} of {what} differs by {apart:.3g}, expected at most {share}")


def _apart(found: list[Any], expected: list[Any]) -> float:
    """Return how far two columns are apart; infinitely far where one is null and the other is not.

    NaN where a number is not finite.
    """
    if [value is None for value in found] != [value is None for value in expected]:
        return math.inf
    found, expected = ([value for value in each if value is not None] for each in (found, expected))
    if not expected:
        return 0.0
    if not isinstance(expected[0], float | list):
        return float(np.mean([one != other for one, other in zip(found, expected, strict=True)]))
    one, other = np.asarray(found), np.asarray(expected)
    if not np.isfinite([one, other]).all():
        return math.nan
    spread = max(np.std(other), 1e-6 * np.abs(other).max())  # a constant varies by its rounding alone
    return float(np.mean(np.abs(one - other)) / (spread or 1.0))
