"""How much of each moment of a drawing stretches of time cover; the cost of any number of them is that of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def coverage(starts: Any, ends: Any, group: Any, groups: int, bins: int, *, weights: Any = 1.0) -> Floats:
    """Return for each group and each bin of width 1 how much of the bin the intervals of the group cover.

    Parameters
    ----------
    starts, ends : array of float
        In widths of a bin; what lies outside of 0 to `bins` is not counted.
    group : array of int
        The group of each interval, from 0.
    groups, bins : int
    weights : float or array of float, default 1.0
        What a bin that an interval covers whole counts.

    Returns
    -------
    array of float of shape (groups, bins)
        Overlaps count as often as they cover.

    Examples
    --------
    >>> coverage([0.5, 1.0], [2.25, 1.5], [0, 1], 2, 3).tolist()
    [[0.5, 1.0, 0.25], [0.0, 0.5, 0.0]]
    """
    places, weight = np.asarray(group, dtype=np.int64), np.asarray(weights, dtype=float)
    ramps = [
        _ramp(np.clip(np.asarray(edges, dtype=float), 0.0, bins), places, groups, bins, weight)
        for edges in (starts, ends)
    ]
    covered: Floats = np.cumsum(ramps[0] - ramps[1], axis=1)[:, :bins]
    return np.where(np.abs(covered) < 1e-9 * max(1.0, float(weight.max(initial=0.0))), 0.0, covered)


def _ramp(edges: Floats, group: npt.NDArray[np.int64], groups: int, bins: int, weight: Floats) -> Floats:
    """Return what each bin adds to the one before it, of steps that begin at edges and never end."""
    width = bins + 2
    first = np.floor(edges).astype(np.int64)
    share = (edges - first) * weight
    size, at = groups * width, group * width + first
    whole = np.bincount(at, weights=weight - share, minlength=size)
    rest = np.bincount(at + 1, weights=share, minlength=size)
    return (whole + rest).astype(float).reshape(groups, width)
