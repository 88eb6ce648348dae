"""Where each value stands among the distinct ones; without sorting where whole numbers lie close together."""

from __future__ import annotations

import numpy as np

_CLOSE = 2**16


def places(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values, ascending, and the place of each value among them.

    Parameters
    ----------
    values : numpy.ndarray of shape (n,)
        Integers.

    Returns
    -------
    distinct : numpy.ndarray of shape (n_distinct,)
    place : numpy.ndarray of shape (n,), int64

    Notes
    -----
    The same as ``numpy.unique(values, return_inverse=True)``, which sorts: ten times slower for a million values of a
    few clusters.

    Examples
    --------
    >>> distinct, place = places(np.array([7, 5, 7]))
    >>> distinct.tolist(), place.tolist()
    ([5, 7], [1, 0, 1])
    """
    if not len(values) or int(values.max()) - int(values.min()) >= _CLOSE:
        distinct, place = np.unique(values, return_inverse=True)
        return distinct, place.astype(np.int64, copy=False)
    least = values.min()
    offsets = (values - least).astype(np.int64, copy=False)
    filled = np.flatnonzero(np.bincount(offsets))
    rank = np.zeros(filled[-1] + 1, dtype=np.int64)
    rank[filled] = np.arange(len(filled))
    return (filled + least).astype(values.dtype), rank[offsets]
