"""Many numbers of one frame; sums of floats that do not depend on how many threads added them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from penstock.frames import ROW, cudf
from penstock.frames.blocks import block, fits_block
from penstock.frames.matrices import to_host

Key = TypeVar("Key", bound=Hashable)
_AT_A_TIME = 16


def aggregate(frame: nw.DataFrame[Any], expressions: Mapping[Key, nw.Expr]) -> dict[Key, Any]:
    """Evaluate expressions that each give one value, all in one select; return Python values by the same keys.

    For counts, minima and maxima; sums of floats are for :func:`sums`.

    Examples
    --------
    >>> import polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"x": [1, 2]}), eager_only=True)
    >>> aggregate(frame, {("x", "max"): nw.col("x").max()})
    {('x', 'max'): 2}
    """
    if not expressions:
        return {}
    row = frame.select(*[expression.alias(str(i)) for i, expression in enumerate(expressions.values())])
    # By way of Arrow: a row taken from a cuDF frame would give its values one common type.
    return dict(zip(expressions, row.to_arrow().to_pylist()[0].values(), strict=True))


def count_true(frame: nw.DataFrame[Any], tests: Sequence[tuple[str, Callable[[Any], Any]]]) -> list[int]:
    """Count the true rows of each test of a column; on a GPU all columns are one block.

    A test with a true attribute ``exact`` is of integers of 64 bits themselves, and not of their float64.

    Examples
    --------
    >>> import polars as pl
    >>> count_true(nw.from_native(pl.DataFrame({"x": [1, 5, None]}), eager_only=True), [("x", lambda x: x > 2)])
    [1]
    """
    of_block = [each for each in tests if fits_block(frame, each[:1], exact=getattr(each[1], "exact", False))]
    counts: dict[tuple[str, Any], int] = {}
    if of_block:
        names, distinct = (list(dict.fromkeys(each)) for each in zip(*of_block, strict=True))
        columns = block(frame, names)
        broken = [test(columns).values for test in distinct]
        sums = to_host(np.stack(broken).sum(axis=2) if len(broken) > 1 else broken[0].sum(axis=1))
        by_test = sums.reshape(len(distinct), -1).tolist()
        counts = {(name, test): int(by_test[distinct.index(test)][names.index(name)]) for name, test in of_block}
    others = [each for each in tests if each not in of_block]
    expressions = {(name, test): test(nw.col(name)).fill_null(False).sum() for name, test in others}
    counts |= {key: int(count) for key, count in aggregate(frame, expressions).items()}
    return [counts[name, test] for name, test in tests]


def null_counts(frame: nw.DataFrame[Any], columns: Sequence[str]) -> dict[str, int]:
    """Count the nulls of each column.

    Examples
    --------
    >>> import polars as pl
    >>> null_counts(nw.from_native(pl.DataFrame({"x": [1, None]}), eager_only=True), ["x"])
    {'x': 1}
    """
    if columns and frame.implementation.is_cudf():
        return dict(zip(columns, cudf.null_counts(nw.to_native(frame), columns), strict=True))
    return aggregate(frame, {name: nw.col(name).null_count() for name in columns})


def sums(frame: nw.DataFrame[Any], expressions: Mapping[Key, nw.Expr]) -> dict[Key, float]:
    """Return the sum of each float64 expression over the rows, nulls left out; equal to the bit on any CPU engine.

    Polars' own sum of more than about 100,000 rows is cut in as many parts as there are threads, so that its last
    digits differ between a laptop and a one-core task. NumPy adds pairwise, in an order that only the length decides.
    A few expressions are evaluated at a time: one by one the calls cost more than the sums, all at once the memory of a
    wide table would. What overflows is infinite or NaN, for the caller to refuse.

    Examples
    --------
    >>> import polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"x": [0.5, None, 2.0]}), eager_only=True)
    >>> sums(frame, {"x": nw.col("x")})
    {'x': 2.5}
    """
    found: dict[Key, float] = {}
    keys = list(expressions)
    for start in range(0, len(keys), _AT_A_TIME):
        batch = keys[start : start + _AT_A_TIME]
        terms = frame.select(*[expressions[key].alias(str(i)) for i, key in enumerate(batch)])
        found |= {key: sum_of(terms[str(i)]) for i, key in enumerate(batch)}
    return found


def numbers(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    """Return a column of numbers or booleans on the host, float64 of shape (n_rows,); NaN for null.

    Examples
    --------
    >>> import polars as pl
    >>> numbers(nw.from_native(pl.DataFrame({"x": [True, False]}), eager_only=True), "x").tolist()
    [1.0, 0.0]
    """
    return frame[name].cast(nw.Float64).to_numpy()


def to_array(column: nw.Series[Any]) -> Any:
    """Return a column without nulls as an array where it is, not to be written to: NumPy's, or CuPy's on a GPU.

    Examples
    --------
    >>> import polars as pl
    >>> to_array(nw.from_native(pl.Series([1.5, 2.0]), series_only=True))
    array([1.5, 2. ])
    """
    return nw.to_native(column).to_cupy() if column.implementation.is_cudf() else column.to_numpy()


def device_numbers(frame: nw.DataFrame[Any], name: str) -> Any:
    """Return a column of numbers or booleans without nulls as a float64 array where it is, as :func:`to_array` does."""
    return to_array(frame[name].cast(nw.Float64))


def row_numbers(frame: nw.DataFrame[Any]) -> Any:
    """Return the number that each row has in the dataset as a uint64 array where it is, as :func:`to_array` does."""
    return to_array(frame[ROW].cast(nw.UInt64))


def sum_of(series: nw.Series[Any]) -> float:
    """Return the sum of a float64 series, as :func:`sums`."""
    series = series.fill_null(0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(series.sum() if series.implementation.is_cudf() else series.to_numpy().sum())
