"""Which rows have one key: a value of a column, or a combination of values of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def plain_keys(keys: Sequence[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
    """Return the keys, those that are nothing but null as strings, which they are on a GPU."""
    return [key.cast(pa.string()) if pa.types.is_null(key.type) else key for key in keys]


def key_places(keys: Sequence[pa.ChunkedArray]) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of each key, and the number of the key of each row; null is a value like any other.

    Examples
    --------
    >>> first, place = key_places([pa.chunked_array([["b", None, "b"]]), pa.chunked_array([[1, 1, 1]])])
    >>> first.tolist(), place.tolist()
    ([0, 1], [0, 1, 0])
    """
    first = place = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        coded = key.combine_chunks().dictionary_encode(null_encoding="encode")
        joint = place * len(coded.dictionary) + coded.indices.to_numpy()
        _, first, place = np.unique(joint, return_index=True, return_inverse=True)
    return first, place
