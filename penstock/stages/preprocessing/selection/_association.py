"""Which features to keep by the p-values of tests of independence."""

from __future__ import annotations

from collections.abc import Sequence


def best(scores: Sequence[float], p_values: Sequence[float]) -> list[int]:
    """Return the places of the features from the smallest p-value on; of equal ones, as of 0, the larger score first.

    Examples
    --------
    >>> best([1.0, 700.0, 800.0], [0.3, 0.0, 0.0])
    [2, 1, 0]
    """
    return sorted(range(len(scores)), key=lambda place: (p_values[place], -scores[place]))


def chosen(mode: str, threshold: float, scores: Sequence[float], p_values: Sequence[float]) -> list[int]:
    """Return the places of the features to keep, ascending; `mode` and `threshold` as in `UnivariateFeatureSelector`.

    Examples
    --------
    >>> chosen("fdr", 0.05, [0.0] * 4, [0.01, 0.04, 0.03, 0.9])
    [0]
    >>> chosen("fdr", 0.08, [0.0] * 4, [0.01, 0.04, 0.03, 0.9])
    [0, 1, 2]
    """
    ranked, features = best(scores, p_values), len(scores)
    if mode in ("fpr", "fwe"):
        bound = threshold / features if mode == "fwe" else threshold
        return [place for place, p in enumerate(p_values) if p < bound]
    if mode == "fdr":  # Benjamini and Hochberg
        low = [n for n, place in enumerate(ranked, 1) if p_values[place] <= threshold / features * n]
        return sorted(ranked[: max(low, default=0)])
    return sorted(ranked[: int(threshold) if mode == "num_top_features" else int(features * threshold)])
