"""Values as places in a list of categories, and back."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TypeVar

import narwhals as nw
import polars as pl
import pyarrow as pa

from penstock.frames import coded, cudf

Frame = TypeVar("Frame", nw.DataFrame, nw.LazyFrame)
_MOST_CODES = 256


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
    build = _encode_polars if isinstance(native, pl.DataFrame | pl.LazyFrame) else cudf.encode
    encoded: Frame = nw.from_native(build(native, categories, unseen, missing or {}))
    return encoded


def _encode_polars(
    native: Any, categories: Mapping[str, pa.Array], unseen: Mapping[str, int], missing: Mapping[str, int]
) -> Any:
    codes: dict[str, Any] = {
        name: _code(name, values, unseen[name], missing.get(name)) for name, values in categories.items()
    }
    for name in codes if isinstance(native, pl.DataFrame) else ():
        if (column := coded.codes(native[name])) is not None:
            spread = column.spread(column.values.to_frame().select(codes[name]).to_series())
            codes[name] = spread.fill_null(missing[name]) if name in missing else spread
    return native.with_columns(list(codes.values()))


_codes: OrderedDict[tuple[Any, ...], tuple[pa.Array, pl.Expr]] = OrderedDict()
_codes_lock = threading.Lock()


def _code(name: str, values: pa.Array, unseen: int, missing: int | None) -> pl.Expr:
    """Return the expression that encodes a column, built once for as long as the same memory holds its categories.

    Building one hashes every category, which for a large vocabulary costs as much as encoding a fragment.
    """
    addresses = tuple(buffer.address for buffer in values.buffers() if buffer is not None)
    key = (name, unseen, missing, len(values), values.offset, addresses)
    with _codes_lock:
        if key not in _codes:
            known = pl.col(name).cast(pl.Enum(pl.Series(values, dtype=pl.String)), strict=False)
            seen = pl.col(name).is_not_null()
            other = pl.when(seen).then(pl.lit(unseen, pl.Int32)).otherwise(pl.lit(missing, pl.Int32))
            _codes[key] = values, known.to_physical().cast(pl.Int32).fill_null(other).alias(name)
        _codes.move_to_end(key)
        while len(_codes) > _MOST_CODES:
            _codes.popitem(last=False)
        return _codes[key][1]


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
