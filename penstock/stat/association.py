"""Whether columns have to do with a label, each by itself: statistics of tests of independence and their p-values."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from penstock.statistics.class_moments import MomentsByClass
from penstock.statistics.contingency import Contingency
from penstock.statistics.gram import CrossProducts

Tested = tuple[list[float], list[float]]
"""A score and a p-value a column, finite."""


def chi_squared(tables: Sequence[Contingency]) -> Tested:
    """Test each of several categorical features by Pearson's chi-squared, without a correction for continuity.

    Of a feature with a single value, or of a single class, the score is 0 and the p-value 1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = Contingency(pa.array(["a", "b"]), pa.array([0, 1]), np.array([[3, 1], [1, 3]]))
    >>> scores, p_values = chi_squared([table])
    >>> scores, round(p_values[0], 12)
    ([2.0], 0.15729920705)
    """
    from scipy import special

    scores, freedoms = [], []
    for table in tables:
        counts = table.counts.astype(np.float64)
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
        scores.append(float(((counts - expected) ** 2 / expected).sum()))
        freedoms.append((counts.shape[0] - 1) * (counts.shape[1] - 1))
    p_values = [float(special.chdtrc(n, score)) if n else 1.0 for n, score in zip(freedoms, scores, strict=True)]
    return scores, p_values


def analysis_of_variance(moments: MomentsByClass) -> Tested:
    """Test each feature by the F of a one-way analysis of variance, whether its means differ between classes."""
    share = (moments.weight / moments.weight.sum())[:, None]
    away = moments.means - moments.means[:1]
    away = away - (share * away).sum(axis=0)
    between = (moments.weight[:, None] * away * away).sum(axis=0)
    classes, rows = len(moments.weight), int(moments.rows.sum())
    return _f_test(between, moments.m2.sum(axis=0), classes - 1, rows - classes)


def regression(gram: CrossProducts) -> Tested:
    """Test each column but the last, the label, by the F of a regression of the label on it alone."""
    lengths = np.sqrt(np.diag(gram.cross))
    safe = np.where(lengths > 0, lengths, 1.0)
    correlation = np.clip(gram.cross[-1, :-1] / safe[:-1] / safe[-1], -1.0, 1.0)
    rest = (1 - correlation) * (1 + correlation)
    return _f_test(correlation**2, rest, 1, gram.count - 2)


def _f_test(explained: np.ndarray, rest: np.ndarray, above: int, below: int) -> Tested:
    """Return F and its p-value; 0 and 1 where nothing is explained, the largest number and 0 where nothing is left."""
    from scipy import special

    if above < 1 or below < 1:
        return [0.0] * len(explained), [1.0] * len(explained)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(explained > 0, (explained / above) / (rest / below), 0.0)
    scores = np.minimum(ratio, sys.float_info.max)
    p_values = np.where(np.isinf(ratio), 0.0, special.fdtrc(above, below, scores))
    return scores.tolist(), p_values.tolist()
