"""Values as places in a list of categories, and back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import narwhals as nw
import polars as pl
import pyarrow as pa

from penstock.frames import coded, cudf

Frame = TypeVar("Frame", nw.DataFrame, nw.LazyFrame)
_MOST = 256


def encode(
    frame: Frame,
    categories: Mapping[str, pa.Array],
    unseen: Mapping[str, int],
    missing: Mapping[str, int] | None = None,
) -> Frame:
    """Return a frame, or a lazy one of Polars, with int32 codes in place of texts: their positions in `categories`.

    A value that is not among the categories gets ``unseen[column]``, null ``missing[column]`` or null. Kernel: a cast
    to an enumeration, three times faster than a join or a replacement on Polars; categorical codes on cuDF.

    Examples
    --------
    >>> frame = nw.from_native(pl.DataFrame({"c": ["b", None, "z"]}))
    >>> encode(frame, {"c": pa.array(["a", "b"])}, {"c": 2})["c"].to_list()
    [1, None, 2]
    """
    native = nw.to_native(frame)
    known = {name: _Memory(values) for name, values in categories.items()}
    if isinstance(native, pl.DataFrame | pl.LazyFrame):
        made = _encode_polars(native, known, unseen, missing or {})
    else:
        kinds = {name: _category(values) for name, values in known.items()}
        made = cudf.encode(native, kinds, unseen, missing or {})
    return nw.from_native(made)


def _encode_polars(
    native: Any, categories: Mapping[str, _Memory], unseen: Mapping[str, int], missing: Mapping[str, int]
) -> Any:
    codes: dict[str, Any] = {
        name: _code(name, values, unseen[name], missing.get(name)) for name, values in categories.items()
    }
    for name in codes if isinstance(native, pl.DataFrame) else ():
        if (column := coded.codes(native[name])) is not None:
            spread = column.spread(column.values.to_frame().select(codes[name]).to_series())
            codes[name] = spread.fill_null(missing[name]) if name in missing else spread
    return native.with_columns(list(codes.values()))


class _Memory:
    """An Arrow array as a key of a cache, equal to others over the same memory.

    A cache saves the hashing of categories, which for a large vocabulary costs as much as encoding a fragment.
    """

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        addresses = (buffer.address for buffer in array.buffers() if buffer is not None)
        self._key = (len(array), array.offset, *addresses)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Memory) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(_MOST)
def _code(name: str, values: _Memory, unseen: int, missing: int | None) -> pl.Expr:
    known = pl.col(name).cast(pl.Enum(pl.Series(values.array, dtype=pl.String)), strict=False)
    seen = pl.col(name).is_not_null()
    other = pl.when(seen).then(pl.lit(unseen, pl.Int32)).otherwise(pl.lit(missing, pl.Int32))
    return known.to_physical().cast(pl.Int32).fill_null(other).alias(name)


@lru_cache(_MOST)
def _category(values: _Memory) -> Any:
    return cudf.category(values.array)


def decode(series: nw.Series, categories: pa.Array) -> nw.Series:
    """Return the category at each code; a code outside the categories, or null, becomes null.

    Examples
    --------
    >>> frame = nw.from_native(pl.DataFrame({"c": [1, None, 9]}))
    >>> decode(frame["c"], pa.array(["a", "b"])).to_list()
    ['b', None, None]
    """
    native = nw.to_native(series)
    if not isinstance(native, pl.Series):
        return nw.from_native(cudf.decode(native, categories).rename(series.name), series_only=True)
    values, code = pl.Series(categories), pl.col(series.name)
    inside = native.to_frame().select(pl.when((code >= 0) & (code < len(values))).then(code).cast(pl.UInt32))
    decoded = values.gather(inside.to_series()) if len(values) else pl.Series([None] * len(native), dtype=values.dtype)
    return nw.from_native(decoded.alias(series.name), series_only=True)
