"""Centring and scaling that rounds nothing but once, and does not depend on how rows are cut to fragments.

Columns are divided by powers of 2, and what is taken from them are their means without the last digits, which depend on
the order in which partial results are joined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.stages.training.exact.design import Scaling
from penstock.statistics import Extreme, Moment


def framing(
    moments: Mapping[str, Moment], extremes: Mapping[str, Extreme], columns: Sequence[str], fixed: str | None
) -> dict[str, list[float]]:
    """Return what to take from each of `columns` and what to divide it by, and its ends; `fixed` is left as it is.

    Examples
    --------
    >>> moments, extremes = {"x": Moment(count=2, mean=10.3, m2=18.0)}, {"x": Extreme(min=7.3, max=13.3)}
    >>> framing(moments, extremes, ["x"], None)
    {'mean': [10.0], 'scale': [2.0], 'low': [7.3], 'high': [13.3]}
    """
    ends = [extremes[name] for name in columns]
    means = [0.0 if name == fixed else rounded_mean(moments[name]) for name in columns]
    units = [1.0 if name == fixed else _unit(moments[name]) for name in columns]
    varies = [end.min != end.max or name == fixed for name, end in zip(columns, ends, strict=True)]
    return {
        "mean": means,
        "scale": [unit if each else 0.0 for unit, each in zip(units, varies, strict=True)],
        "low": [float(end.min) for end in ends],
        "high": [float(end.max) for end in ends],
    }


def scaling_of(framed: Mapping[str, Any], *, intercept: bool) -> Scaling:
    """Return the scaling that :func:`framing` tells of, after it was stored."""
    mean, scale, low, high = (np.array(framed[name], dtype=float) for name in ("mean", "scale", "low", "high"))
    return Scaling(mean, scale, low, high, intercept)


def unscaling(scaling: Scaling, count: int, used: np.ndarray) -> np.ndarray:
    """Return the matrix that makes coefficients of columns as they are of those of scaled ones, the intercept's last.

    Parameters
    ----------
    count : int
        How many columns have a coefficient: the first of those that are scaled.
    used : numpy.ndarray of int
        Which scaled columns have one; a number of `count` or more is the intercept.
    """
    whole = np.diag(np.append(1 / scaling.divisor[:count], [1.0] * scaling.intercept))
    if scaling.intercept:
        whole[-1, :count] = -scaling.shift[:count] / scaling.divisor[:count]
    return whole[:, np.minimum(used, count)]


def rounded_mean(moment: Moment) -> float:
    """Return the mean, to a few units of the standard deviation's leading digit."""
    mean, unit = moment.mean or 0.0, _unit(moment)
    return mean if abs(mean) >= unit * 2**52 else round(mean / unit) * unit


def _unit(moment: Moment) -> float:
    """Return the largest power of 2 that is no larger than the standard deviation."""
    return math.ldexp(1.0, math.frexp(moment.std() or 1.0)[1] - 1)
