"""What the stages that learn from means and products should make of the tables of the suite, by NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats
from scipy.special import softmax
from sklearn import covariance as sk

from penstock import stages as st
from penstock.testing import Columns, Refused


def known_matrix(names: tuple[str, ...], columns: Columns, largest: float = np.inf) -> np.ndarray:
    """Return columns without nulls, and without numbers that are too large; `Refused` for the first that has some."""
    for name in names:
        if any(value is None or abs(value) > min(largest, 1e300) for value in columns[name]):
            raise Refused(name)
    return np.column_stack([np.array(columns[name], dtype=float) for name in names])


def linear_discriminants(stage: st.LinearDiscriminantAnalysis, learned: Columns, given: Columns) -> Columns:
    """Return the classes by scores of least squares in standardised features, the density's own where it has one."""
    rows = known_matrix(stage.inputs(), given)
    classes, parts = _classes(stage, learned)
    priors, means = _priors(stage, parts), np.array([np.average(x, axis=0, weights=w) for x, w in parts])
    within = sum(prior * _covariance(stage, x, w) for prior, (x, w) in zip(priors, parts, strict=True))
    units = np.sqrt(np.diag(within))
    if not units.any():
        raise Refused(stage.inputs()[0])
    inverse = np.divide(1.0, units, out=np.zeros_like(units), where=units > 0)
    precision = np.outer(inverse, inverse) * np.linalg.pinv(within * np.outer(inverse, inverse), 1e-12, hermitian=True)
    centre = priors @ means
    slopes = (means - centre) @ precision
    scores = (rows - centre) @ slopes.T - ((means - centre) * slopes).sum(axis=1) / 2 + np.log(priors)
    return _classified(stage, given, classes, scores)


def quadratic_discriminants(stage: st.QuadraticDiscriminantAnalysis, learned: Columns, given: Columns) -> Columns:
    """Return the classes by SciPy's densities of normal distributions."""
    rows = known_matrix(stage.inputs(), given)
    classes, parts = _classes(stage, learned)
    scores = []
    for prior, (x, w) in zip(_priors(stage, parts), parts, strict=True):
        covariance = (1 - stage.reg_param) * _covariance(stage, x, w) + stage.reg_param * np.eye(rows.shape[1])
        for name, variance in zip(stage.inputs(), np.diag(covariance), strict=True):
            if variance < 1e-28:
                raise Refused(name)
        units = np.sqrt(np.diag(covariance))  # SciPy takes variances apart by 1e300 for a covariance without inverse
        density = scipy.stats.multivariate_normal(cov=covariance / np.outer(units, units))
        logs = density.logpdf((rows - np.average(x, axis=0, weights=w)) / units)
        scores.append(np.log(prior) + np.atleast_1d(logs) - np.log(units).sum())
    return _classified(stage, given, classes, np.column_stack(scores))


def _classes(stage: Any, learned: Columns) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Return the classes, and features and weights of each."""
    x = known_matrix(stage.inputs(), learned, 1e150)
    classes, label = np.unique(learned[stage.label], return_inverse=True)
    if len(classes) < 2:
        raise Refused(stage.label)
    weight = np.array([1.0] * len(label) if stage.weight is None else learned[stage.weight], dtype=float)
    return classes, [(x[label == place], weight[label == place]) for place in range(len(classes))]


def _priors(stage: Any, parts: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    shares = np.array([w.sum() for _, w in parts])
    return shares / shares.sum() if stage.priors is None else np.array(stage.priors)


def _covariance(stage: Any, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return scikit-learn's shrunk covariance; of weighted rows that of a given shrinkage alone."""
    if stage.shrinkage == "auto":
        units = np.where(np.ptp(x, axis=0) > 0, x.std(axis=0), 1.0)
        return np.outer(units, units) * sk.ledoit_wolf((x - x.mean(axis=0)) / units)[0]
    if stage.shrinkage == "oas":
        return sk.oas(x)[0]
    return sk.shrunk_covariance(np.atleast_2d(np.cov(x.T, aweights=weight, ddof=0)), stage.shrinkage or 0.0)


def _classified(stage: Any, given: Columns, classes: np.ndarray, scores: np.ndarray) -> Columns:
    """Return the columns of a classifier; log scores of more than two classes as the stage centres them."""
    shares = softmax(scores, axis=1)
    ratios = shares if stage.thresholds is None else shares / np.array(stage.thresholds)
    predicted = classes[ratios.argmax(axis=1)]
    made = (scores[:, 1] - scores[:, 0], shares[:, 1]) if len(classes) == 2 else (scores, shares)
    columns = zip(stage.outputs(), (*made, predicted), strict=True)
    return {"id": given["id"], **{name: each.tolist() for name, each in columns}}


def mahalanobis(stage: st.MahalanobisDistance, learned: Columns, given: Columns) -> Columns:
    distances = _distances(stage, learned, given)
    for name in stage.inputs():
        if any(value is not None and np.isinf(value) for value in given[name]):
            raise Refused(name)
    limit = scipy.stats.chi2.ppf(stage.quantile, len(stage.inputs()))
    made = (distances, [None if each is None else each > limit for each in distances])
    return {"id": given["id"], **dict(zip(stage.outputs(), made, strict=False))}


def drop_far(stage: st.DropMahalanobisOutliers, learned: Columns, given: Columns) -> Columns:
    limit = scipy.stats.chi2.ppf(stage.quantile, len(stage.inputs()))
    distances = _distances(stage, learned, given)
    stay = [place for place, each in enumerate(distances) if each is None or each <= limit]
    return {"id": [given["id"][place] for place in stay]}


def _distances(stage: Any, learned: Columns, given: Columns) -> list[float | None]:
    """Return squared distances by the eigenvectors of standardised columns; null for rows with a null."""
    x = known_matrix(stage.inputs(), learned, 1e150)
    if len(x) < 2:
        raise Refused(stage.inputs()[0])
    covariance = _covariance(stage, x, np.ones(len(x)))
    units = np.sqrt(np.diag(covariance))
    for name, unit in zip(stage.inputs(), units, strict=True):
        if unit < 1e-14:
            raise Refused(name)
    values, vectors = np.linalg.eigh(covariance / np.outer(units, units))
    rows = np.column_stack([np.array(given[name], dtype=float) for name in stage.inputs()])
    with np.errstate(invalid="ignore"):
        made = ((((rows - x.mean(axis=0)) / units) @ vectors) ** 2 / values).sum(axis=1)
    missing = np.isnan(rows).any(axis=1)
    made[np.isnan(made)] = np.inf
    return [None if lacking else float(each) for each, lacking in zip(made, missing, strict=True)]


def select_by_inflation(stage: st.VarianceInflationSelector, learned: Columns, given: Columns) -> Columns:
    """Return the columns left by least squares of each on the others, and a column of ones."""
    x = known_matrix(stage.doubtful(), learned, 1e150)
    stay = [place for place in range(x.shape[1]) if len(x) and np.ptp(x[:, place])]
    constant = [place for place in range(x.shape[1]) if place not in stay]
    while stay:
        factors = [1 / max(_unexplained(x[:, each], x[:, [p for p in stay if p != each]]), 1e-13) for each in stay]
        if max(factors) <= stage.threshold:
            break
        stay.pop(max(place for place, each in enumerate(factors) if each >= max(factors) * (1 - 1e-9)))
    return {
        "id": given["id"],
        **{stage.doubtful()[place]: given[stage.doubtful()[place]] for place in [*stay, *constant]},
    }


def select_stepwise(stage: st.StepwiseSelector, learned: Columns, given: Columns) -> Columns:
    """Return the columns chosen by least squares, a fit for each candidate of each step."""
    names = stage.doubtful()
    x = known_matrix((*names, stage.label), learned, 1e150)
    if not len(x) or not np.ptp(x[:, -1]):
        raise Refused(stage.label)
    root = np.sqrt(np.array([1.0] * len(x) if stage.weight is None else learned[stage.weight], dtype=float))
    fits = _Fits(stage, x[:, :-1], x[:, -1], root)
    stay = fits.backward(list(range(len(names)))) if stage.direction == "backward" else fits.both([])
    return {"id": given["id"], **{names[place]: given[names[place]] for place in stay}}


class _Fits:
    """Steps by fits of least squares; of "both" and "backward" alone."""

    def __init__(self, stage: Any, x: np.ndarray, y: np.ndarray, root: np.ndarray) -> None:
        self.stage, self.y, self.root, self.x = stage, y, root, x
        self.varying = [place for place in range(x.shape[1]) if np.ptp(x[:, place])]

    def error(self, chosen: list[int]) -> float:
        return _unexplained(self.y, self.x[:, chosen], self.root) * len(self.y)

    def score(self, chosen: list[int]) -> float:
        rows = len(self.y)
        price = 2.0 if self.stage.criterion == "aic" else np.log(rows)
        return rows * np.log(max(self.error(chosen), 1e-15)) + price * len(chosen)

    def p_value(self, place: int, chosen: list[int]) -> float:
        without, freedom = [each for each in chosen if each != place], len(self.y) - len(chosen) - 1
        gain = self.error(without) - self.error(chosen)
        return float(scipy.stats.f.sf(gain / self.error(chosen) * freedom, 1, freedom))

    def both(self, chosen: list[int]) -> list[int]:
        while True:
            more = [sorted([*chosen, place]) for place in self.varying if place not in chosen]
            fewer = [[each for each in chosen if each != place] for place in chosen]
            best = min([*more, *fewer], key=self.score, default=chosen)
            if self.score(best) >= self.score(chosen):
                return chosen
            chosen = best

    def backward(self, chosen: list[int]) -> list[int]:
        chosen = [place for place in chosen if place in self.varying]
        while chosen:
            worst = max(reversed(chosen), key=lambda place: self.p_value(place, chosen))
            if self.p_value(worst, chosen) <= self.stage.p_remove:
                return chosen
            chosen = [each for each in chosen if each != worst]
        return chosen


def _unexplained(y: np.ndarray, x: np.ndarray, root: np.ndarray | None = None) -> float:
    """Return the share of the variance of y that a regression on x leaves."""
    root = np.ones(len(y)) if root is None else root
    centred = [(each - np.average(each, weights=root**2)) * root for each in (y, *x.T)]
    scaled = [each / (np.linalg.norm(each) or 1.0) for each in centred]
    design = np.column_stack([np.zeros(len(y)), *scaled[1:]])
    residual = scaled[0] - design @ np.linalg.lstsq(design, scaled[0], rcond=1e-12)[0]
    return float(residual @ residual)
