"""What makes two sides of `gpu.py` the same: an answer in one form, whoever gave it, and how far two may be apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from benchmarks.answers import difference
from benchmarks.contenders import CATEGORIES, COUNTS
from benchmarks.on_gpu.job import Answer


class AtMost(NamedTuple):
    """By how much a figure may differ, relative to the largest: ours on another device, and a peer's."""

    ours: float
    peers: float


_SUMS = AtMost(1e-9, 1e-6)  # sums are taken in other orders; of ours it is what docs/gpu.md promises
_SAME = AtMost(0.0, 0.0)
_SPLITS = AtMost(5e-3, 5e-3)  # trees split elsewhere where two splits are as good
_DRAWN = AtMost(0.02, 0.02)  # each side draws seeds of its own
_GROWN = AtMost(0.02, 0.03)  # and rows and columns, peers with replacement
_SCORES = AtMost(1e-4, 1e-3)  # scores are float32, and cuML counts rows in float32, which is exact to 16 million
TOLERANCES: dict[str, dict[str, AtMost]] = {
    "fit": {"means": _SUMS, "log_means": _SUMS, "log_stds": _SUMS, "categories": _SAME, "first": _SAME},
    "transform": {"rows": _SAME, "codes": _SAME, "squares": _SUMS},
    "train": {"auc": _SPLITS},
    "evaluate": {"areaUnderROC": _SCORES, "logLoss": _SCORES},
    "logistic": {"model": AtMost(1e-4, 1e-3)},  # both stop short of the minimum, by rules of their own
    "kmeans": {"inertia": _DRAWN},
    "forest": {"auc": _GROWN},
}


def compare(work: str, found: Answer, known: Answer, *, ours: bool) -> dict[str, dict[str, Any]]:
    """Return of each figure of a work by how much two answers differ, how far they may, and whether they agree.

    A figure that one of them lacks does not agree, and differs by None.
    """
    compared: dict[str, dict[str, Any]] = {}
    for name, limits in TOLERANCES[work].items():
        at_most = limits.ours if ours else limits.peers
        apart = _apart(found[name], known[name]) if name in found and name in known else None
        compared[name] = {"difference": apart, "at_most": at_most, "agrees": apart is not None and apart <= at_most}
    return compared


def _apart(found: Any, known: Any) -> float | None:
    """Return how far two figures are apart; of texts, the share that differs."""
    mine, its = np.atleast_1d(found), np.atleast_1d(known)
    if mine.shape != its.shape:
        return None
    if its.dtype.kind not in "iuf":
        return float((mine != its).mean())
    apart = difference(mine.astype(np.float64), its.astype(np.float64))
    return apart if np.isfinite(apart) else None


def area_under_roc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the share of pairs of a positive and a negative row that scores put in order; ties count a half.

    Examples
    --------
    >>> area_under_roc([0, 1, 0, 1], [0.1, 0.9, 0.9, 0.95])
    0.875
    """
    positive = np.asarray(labels).astype(bool)
    ranks: NDArray[np.float64] = rankdata(np.asarray(scores, np.float64))
    ones, zeros = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def inertia(prepared: Path, centres: ArrayLike) -> float:
    """Return the sum of the squared distances of prepared rows' counts from the nearest centre."""
    rows = pl.read_parquet(f"{prepared}/*.parquet", columns=COUNTS).to_numpy()
    return float(cdist(rows, np.asarray(centres, np.float64), "sqeuclidean").min(axis=1).sum())


def linear_model(coefficients: ArrayLike, intercept: float) -> Answer:
    """Return a model of standardised features as an answer."""
    return {"model": [*np.ravel(np.asarray(coefficients, np.float64)).tolist(), float(intercept)]}


def written(folder: Path) -> Answer:
    """Return what rows that were prepared and written add up to: mean squares of the counts, sums of the codes."""
    scan = pl.scan_parquet(f"{folder}/*.parquet")
    squares = [(pl.col(name) ** 2).mean() for name in COUNTS]
    codes = [pl.col(name).cast(pl.Int64).sum() for name in CATEGORIES]
    row = scan.select(pl.len(), *squares, *codes).collect(engine="streaming").row(0)
    return {"rows": row[0], "squares": list(row[1 : 1 + len(COUNTS)]), "codes": list(row[1 + len(COUNTS) :])}


def learned(means: Mapping[str, float], moments: Mapping[str, tuple[float, float]], known: Mapping[str, Any]) -> Answer:
    """Return what a preparation learned, in the words of `penstock_prepare.learned`; `known` are vocabularies."""
    return {
        "means": [float(means[name]) for name in COUNTS],
        "log_means": [float(moments[name][0]) for name in COUNTS],
        "log_stds": [float(moments[name][1]) for name in COUNTS],
        "categories": [len(known[name]) for name in CATEGORIES],
        "first": [str(known[name][0]) for name in CATEGORIES],
    }
