"""Kernels on two columns of lists; lists are matched on the host, to which a frame on a GPU is copied by way of Arrow.

Polars compares lists of a whole column in one call; cuDF has no intersection of lists, nor Narwhals an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.core.errors import SchemaError
from penstock.core.schemas import canonical, canonical_type, widen


def element_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type in which the elements of two types of lists are compared; None where they cannot be.

    Numbers are compared with numbers (in float64 where one of them is floating) and strings with strings.

    Examples
    --------
    >>> element_type(pa.list_(pa.int32()), pa.list_(pa.float32()))
    DataType(double)
    >>> element_type(pa.list_(pa.string()), pa.list_(pa.int64())) is None
    True
    """
    kinds = [canonical_type(kind) for kind in (left, right)]
    if not all(pa.types.is_list(kind) and _is_element(kind.value_type) for kind in kinds):
        return None
    values = [kind.value_type for kind in kinds]
    if any(pa.types.is_floating(kind) for kind in values) and not any(pa.types.is_string(kind) for kind in values):
        return pa.float64()
    common = widen(*values)
    return pa.float64() if common == pa.null() else common  # lists that are all empty


def _is_element(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_null)
    return any(test(kind) for test in tests)


def on_host(frame: nw.DataFrame, lists: tuple[str, str], others: Sequence[str] = ()) -> nw.DataFrame:
    """Return the columns in a Polars frame, both columns of lists with elements of one type.

    Raises
    ------
    SchemaError
        A column is not one of lists, or the elements cannot be compared.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"p": [[1, 2]], "l": [[2.0]]}))
    >>> on_host(frame, ("p", "l"))["p"].to_list()
    [[1.0, 2.0]]
    """
    selection = frame.select(*lists, *others)
    native = pl.DataFrame(frames.to_arrow(selection)) if frames.is_gpu(frame) else nw.to_native(selection)
    schema = canonical(native.clear().to_arrow().schema)
    kinds = [schema.field(name).type for name in lists]
    common = element_type(*kinds)
    if common is None:
        names = " and ".join(f"{name!r} ({kind})" for name, kind in zip(lists, kinds, strict=True))
        raise SchemaError(
            f"columns {names} cannot be compared, expected two of lists, both of numbers or of strings",
            hint="Cast the elements of one to the type of the other.",
        )
    wanted = pl.List(pl.Series(pa.array([], common)).dtype)
    return nw.from_native(native.with_columns(_cast(name, wanted) for name in lists), eager_only=True)


def _cast(name: str, wanted: pl.List) -> pl.Expr:
    values = pl.col(name).cast(wanted)
    # Adding zero makes 0.0 of -0.0, so that they are one element.
    return values.list.eval(pl.element() + 0.0) if wanted.inner == pl.Float64 else values


def with_intersection(frame: nw.DataFrame, left: str, right: str, made: str) -> nw.DataFrame:
    """Return a frame of :func:`on_host` with the elements that two lists have in common, as a column `made`.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"p": [[1, 2], []], "l": [[2, 3], [1]]}))
    >>> with_intersection(frame, "p", "l", "both")["both"].to_list()
    [[2], []]
    """
    native = nw.to_native(frame)
    return nw.from_native(
        native.with_columns(pl.col(left).list.set_intersection(pl.col(right)).alias(made)), eager_only=True
    )


def element_sums(frame: nw.DataFrame, lists: str, weight: str | None) -> pa.Table:
    """Return each element of a column of lists and the sum of the weights of the lists that hold it, or their number.

    The columns are ``element``, in no particular order, and ``weight`` (float64). Polars' own sum of a group is cut in
    parts, so that its last digits differ from run to run; the sum of a list is not.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"l": [[1], [], [1]], "w": [0.5, 1.0, 2.0]}))
    >>> element_sums(frame, "l", "w").to_pylist()
    [{'element': 1, 'weight': 2.5}]
    """
    weights = {} if weight is None else {"weight": pl.col(weight).cast(pl.Float64)}
    selection = nw.to_native(frame).lazy().select(element=pl.col(lists), **weights)
    whole = selection.filter(pl.col("element").list.len() > 0)
    grouped = whole.explode("element", empty_as_null=False).group_by("element")
    if weight is None:
        summed = grouped.agg(pl.len().cast(pl.Float64).alias("weight"))
    else:
        summed = grouped.agg(pl.col("weight").implode()).with_columns(pl.col("weight").list.sum())
    return frames.to_arrow(nw.from_native(summed.collect(engine="in-memory"), eager_only=True))


def distinct(frame: nw.DataFrame, lists: str) -> np.ndarray:
    """Return how many distinct elements each list has, int64 of shape (n_rows,).

    Examples
    --------
    >>> distinct(frames.from_arrow(pa.table({"l": [[1, 1, 2], []]})), "l").tolist()
    [2, 0]
    """
    counts = nw.to_native(frame).select(pl.col(lists).list.n_unique().cast(pl.Int64))
    return counts.to_series().to_numpy()


def hits(frame: nw.DataFrame, ranked: str, wanted: str) -> Iterator[np.ndarray]:
    """Yield, for each place in the longest ranked list, the rows whose element there is in their other list.

    Rows are numbers within the frame, ascending, of shape (n_hits,). Rows whose list has ended are dropped each time
    they are half of what is left, so that a few long lists cost little.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"p": [[1, 2], [3]], "l": [[2], [3]]}))
    >>> [rows.tolist() for rows in hits(frame, "p", "l")]
    [[1], [0]]
    """
    # In one chunk: of several, Polars up to 1.44 looks for an element in the lists of other rows.
    whole = nw.to_native(frame).rechunk()
    rest = whole.select(ranked, wanted, row=pl.int_range(pl.len()), length=pl.col(ranked).list.len())
    lengths = np.sort(rest["length"].to_numpy())
    for place in range(int(lengths[-1]) if len(lengths) else 0):
        if 2 * (len(lengths) - np.searchsorted(lengths, place, side="right")) <= len(rest):
            rest = rest.filter(pl.col("length") > place).rechunk()
        element = pl.col(ranked).list.get(place, null_on_oob=True)
        matches = pl.col(wanted).list.contains(element) & (pl.col("length") > place)
        yield rest.select(pl.col("row").filter(matches)).to_series().to_numpy()
