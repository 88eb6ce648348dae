"""What a confusion matrix says: rates of each class and of all together, agreement beyond chance, tables to draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

Label = float | str


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """Weights of the pairs of true and predicted label that occur; what is undefined is None, and a reason says why.

    Every metric is None, with :attr:`reason`, when there are no cells.

    Parameters
    ----------
    label, prediction : numpy.ndarray of shape (n_cells,)
        Each pair once: float64, or strings as objects.
    weight : numpy.ndarray of shape (n_cells,)
        Weight of the rows with that pair, above 0.

    Notes
    -----
    The definitions are those of MLlib's ``MulticlassMetrics``: weighted averages are over the true labels, by their
    weight, and the precision of a label never predicted is 0. Recall is the true positive rate too.

    Examples
    --------
    >>> matrix = ConfusionMatrix(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]), np.array([2.0, 1.0, 1.0]))
    >>> matrix.accuracy, matrix.recall(1.0), matrix.precision(1.0), matrix.cohens_kappa
    (0.75, 0.5, 1.0, 0.5)
    """

    label: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray

    @property
    def classes(self) -> np.ndarray:
        """The labels that occur as true or as predicted ones, ascending."""
        return self._coded[0]

    @property
    def reason(self) -> str | None:
        """Why everything is undefined, or None."""
        return None if len(self.weight) else "no row has a positive weight"

    @property
    def one_label_reason(self) -> str | None:
        """Why false positive rates and Cohen's kappa may be undefined: there are no two true labels."""
        return self.reason or self._only(self._actual, "label")

    @property
    def one_class_reason(self) -> str | None:
        """Why Matthews' correlation is undefined: there are no two true labels, or no two predicted ones."""
        return self.one_label_reason or self._only(self._predicted, "prediction")

    def label_reason(self, label: Label) -> str | None:
        """Return why the metrics of one label are undefined: it is no true label of any row."""
        place = self._places.get(label)
        absent = place is None or not self._actual[place]
        return self.reason or (f"no row of positive weight has label {label!r}" if absent else None)

    @property
    def accuracy(self) -> float | None:
        """Share of the rows that are predicted right."""
        return self._share(self._correct)

    @property
    def hamming_loss(self) -> float | None:
        """Share of the rows that are predicted wrong."""
        return self._share(self._mistaken)

    def recall(self, label: Label) -> float | None:
        """Return the share of the rows of a label that are predicted so."""
        return self._of(label, self._recalls)

    def precision(self, label: Label) -> float | None:
        """Return the share of the rows predicted to be of a label that are; 0 when there are none."""
        return self._of(label, self._precisions)

    def false_positive_rate(self, label: Label) -> float | None:
        """Return the share of the rows of all other labels that are predicted to be of this one."""
        return self._of(label, self._false_positive_rates)

    def f_measure(self, label: Label, beta: float = 1.0) -> float | None:
        """Return the harmonic mean of precision and recall, in which recall counts `beta` times; 0 when both are 0."""
        return self._of(label, self._f_measures(beta))

    @property
    def weighted_recall(self) -> float | None:
        """Mean recall over rows."""
        return self._mean(self._recalls)

    @property
    def weighted_precision(self) -> float | None:
        """Mean, over rows, of the precision of their true label."""
        return self._mean(self._precisions)

    @property
    def weighted_false_positive_rate(self) -> float | None:
        """Mean, over rows, of the false positive rate of their true label."""
        return self._mean(self._false_positive_rates)

    def weighted_f_measure(self, beta: float = 1.0) -> float | None:
        """Return the mean, over rows, of the F-measure of their true label."""
        return self._mean(self._f_measures(beta))

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean recall over the true labels."""
        return None if self.reason else float(self._recalls[self._actual > 0].mean())

    @property
    def cohens_kappa(self) -> float | None:
        """``1 - wrong / wrong by chance``, where chance draws label and prediction from their own distributions."""
        return 1 - self._wrong / self._wrong_by_chance if self._wrong_by_chance else None

    @property
    def matthews_correlation(self) -> float | None:
        """Correlation of label and prediction, for any number of classes: Gorodkin's R_K (2004)."""
        # Two roots: the product of two small numbers would be 0.
        spread = math.sqrt(_spread(self._shares(self._actual))) * math.sqrt(_spread(self._shares(self._predicted)))
        return (self._wrong_by_chance - self._wrong) / spread if spread else None

    def cells(self, most: int) -> pa.Table:
        """Return ``label``, ``prediction`` and ``weight`` of the heaviest cells, ordered by label and prediction."""
        kept = _heaviest(self.weight, most)
        label, prediction = (_labels(each[kept]) for each in (self.label, self.prediction))
        table = pa.table({"label": label, "prediction": prediction, "weight": self.weight[kept]})
        return table.sort_by([("label", "ascending"), ("prediction", "ascending")])

    def by_label(self, most: int, beta: float = 1.0) -> pa.Table:
        """Return the metrics of the heaviest labels, ascending; undefined ones are null.

        The columns are ``label``, ``weight`` (of the rows of that label; 0 for one that is only predicted),
        ``precision``, ``recall``, ``falsePositiveRate`` and ``fMeasure``.
        """
        kept = _heaviest(self._actual, most)
        rates = {
            "precision": self._precisions,
            "recall": self._recalls,
            "falsePositiveRate": self._false_positive_rates,
            "fMeasure": self._f_measures(beta),
        }
        columns = {name: pa.array(each[kept], from_pandas=True) for name, each in rates.items()}
        return pa.table({"label": _labels(self.classes[kept]), "weight": self._actual[kept], **columns})

    @cached_property
    def _coded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The classes, and for each cell the places of its label and of its prediction among them."""
        classes, codes = np.unique(np.concatenate([self.label, self.prediction]), return_inverse=True)
        label, prediction = np.split(codes, 2)
        return classes, label, prediction

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {label: place for place, label in enumerate(self.classes.tolist())}

    @cached_property
    def _actual(self) -> np.ndarray:
        return self._added(self._coded[1], self.weight)

    @cached_property
    def _predicted(self) -> np.ndarray:
        return self._added(self._coded[2], self.weight)

    @cached_property
    def _correct(self) -> np.ndarray:
        _, label, prediction = self._coded
        return self._added(label, np.where(label == prediction, self.weight, 0.0))

    @cached_property
    def _mistaken(self) -> np.ndarray:
        """The false positives of each class."""
        _, label, prediction = self._coded
        return self._added(prediction, np.where(label == prediction, 0.0, self.weight))

    def _added(self, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.bincount(codes, weights=weight, minlength=len(self.classes))

    @property
    def _recalls(self) -> np.ndarray:
        return _ratios(self._correct, self._actual, absent=math.nan)

    @property
    def _precisions(self) -> np.ndarray:
        return _ratios(self._correct, self._predicted, absent=0.0)

    @property
    def _false_positive_rates(self) -> np.ndarray:
        return _ratios(self._mistaken, _rest(self._actual), absent=math.nan)

    def _f_measures(self, beta: float) -> np.ndarray:
        precision, recall = self._precisions, self._recalls
        square = beta * beta
        measures = _ratios((1 + square) * precision * recall, square * precision + recall, absent=0.0)
        return np.where(np.isnan(recall), math.nan, measures)

    @property
    def _wrong(self) -> float:
        return float(self._shares(self._mistaken).sum())

    @property
    def _wrong_by_chance(self) -> float:
        return float((self._shares(self._predicted) * _rest(self._shares(self._actual))).sum())

    def _shares(self, part: np.ndarray) -> np.ndarray:
        return part / self.weight.sum() if len(self.weight) else part

    def _share(self, part: np.ndarray) -> float | None:
        return None if self.reason else float(self._shares(part).sum())

    def _mean(self, values: np.ndarray) -> float | None:
        true = self._actual > 0
        return None if self.reason else _number((values[true] * self._shares(self._actual)[true]).sum())

    def _of(self, label: Label, values: np.ndarray) -> float | None:
        return None if self.label_reason(label) else _number(values[self._places[label]])

    def _only(self, weights: np.ndarray, side: str) -> str | None:
        found = self.classes[self._shares(weights) > 0].tolist()
        return f"every {side} is {found[0]!r}" if len(found) == 1 else None


def _ratios(part: np.ndarray, whole: np.ndarray, absent: float) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), absent), where=whole > 0)


def _rest(weights: np.ndarray) -> np.ndarray:
    """Return the sum of all other weights for each one; by addition only, so that a small rest keeps its digits."""
    edge = np.zeros(min(len(weights), 1))
    before = np.concatenate([edge, np.cumsum(weights[:-1])])
    after = np.concatenate([np.cumsum(weights[:0:-1])[::-1], edge])
    return before + after


def _spread(shares: np.ndarray) -> float:
    """Return the chance that two draws differ."""
    return float((shares * _rest(shares)).sum())


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _heaviest(weights: np.ndarray, most: int) -> np.ndarray:
    """Return the places of the largest weights, ascending; of equal weights the first."""
    return np.sort(np.argsort(-weights, kind="stable")[:most])


def _labels(values: np.ndarray) -> pa.Array:
    return pa.array(values, pa.string() if values.dtype == object else pa.float64())
