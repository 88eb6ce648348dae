"""What both discriminant analyses share: parameters, the statistic, and the columns made of scores."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.selectors import Columns
from penstock.frames import Kind, matrices
from penstock.stages.base import Fitted, Tags
from penstock.stages.classes import Classes, check_thresholds
from penstock.stages.parameter_checks import checked_by, in_range_or, is_finite_number, wrong_parameter
from penstock.stages.target import refuse_overflow
from penstock.stages.trainer import Trainer
from penstock.stages.training.linear._log_loss import sigmoid, softmax
from penstock.statistics.base import Statistic
from penstock.statistics.class_grams import ClassGrams, ProductsByClass
from penstock.statistics.rules import refuse, rules_for
from penstock.statistics.shrinkage import SHRINKAGES

_NEAR = 1e-5
"""How far the sum of priors may be from 1; they are divided by it."""


def _check_priors(stage: Any, name: str) -> None:
    """Make a tuple of the priors of a stage, where it has some; ConfigError where they are none."""
    given = getattr(stage, name)
    if given is None:
        return
    values = tuple(given) if isinstance(given, Iterable) else ()
    if not all(is_finite_number(value) and value > 0 for value in values) or abs(math.fsum(values) - 1) > _NEAR:
        raise wrong_parameter(stage, name, "a number above 0 for each class, with a sum of 1")
    object.__setattr__(stage, name, tuple(float(value) for value in values))


@dataclass(frozen=True)
class Discriminant(Trainer):
    """A classifier that takes each class for a normal distribution; subclasses say of which covariance."""

    label: str
    _: KW_ONLY
    thresholds: tuple[float, ...] | None = field(default=None, metadata=checked_by(check_thresholds))
    prediction: str = "prediction"
    probability: str = "probability"
    raw_prediction: str = "rawPrediction"
    features: Columns | None = None
    weight: str | None = None
    priors: tuple[float, ...] | None = field(default=None, metadata=checked_by(_check_priors))
    shrinkage: float | str | None = field(default=None, metadata=in_range_or(*SHRINKAGES, least=0, most=1))

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)

    @property
    def target(self) -> Classes:
        return Classes.of(self, hint="rows of weight 0 do not count.")

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the means and the products of all features, of each class."""
        columns = (self.label, *self.inputs(), *self._weights)
        return {"classes": ClassGrams(columns, weighted=bool(self.weight), fourth=self.shrinkage == "auto")}

    def _checked(self, found: ProductsByClass) -> ProductsByClass:
        """Return what was found, once there are classes to tell apart, and a prior of each."""
        classes = found.classes.to_pylist()
        self.target.check_count(classes, found.rows)
        if self.priors is not None and len(self.priors) != len(classes):
            raise ConfigError(
                f"priors of {self.title} has {len(self.priors)} numbers, and label {self.label!r} has {len(classes)}"
                f" classes: {', '.join(map(repr, classes[:10]))}",
                hint="Pass one for each class, in this order.",
                column=self.label,
                stage=self.title,
            )
        return found

    def _priors(self, found: ProductsByClass) -> np.ndarray:
        """Return the priors, which are the shares of the classes unless others are given."""
        given = np.array(found.shares if self.priors is None else self.priors)
        return given / math.fsum(given.tolist())

    @abstractmethod
    def _scores(self, columns: Any, fitted: Fitted, kind: Kind) -> Any:
        """Return the logarithm of prior times density of each class, up to a number that is the same for all of a row.

        Parameters
        ----------
        columns : array of shape (n_features, n_rows), on the device `kind`
        """

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Score all classes."""
        columns = matrices.to_rows(frame, self.inputs())
        refuse(rules_for(self.inputs(), "infinite"), matrices.count_infinite(columns.T))
        missing = np.isnan(columns).any(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._scores(columns, fitted, frames.kind_of(frame))
        problem = "have features so far from those of training that their scores overflow float64"
        refuse_overflow(np.isfinite(scores).all(axis=0), missing, problem, self.inputs())
        return self.target.with_columns(frame, self._results(scores), fitted, missing)

    def _results(self, scores: Any) -> dict[str, Any]:
        """Return the columns to write, of scores of shape (n_classes, n_rows)."""
        likeliest = scores.argmax(axis=0)
        if len(scores) == 2:
            raw = scores[1] - scores[0]
            return self.target.results(raw, sigmoid(raw), likeliest)
        return self.target.results(scores.T.copy(), softmax(scores).T.copy(), likeliest)

    def _table(self, matrix: np.ndarray) -> pa.Table:
        """Return a row a class, a column a feature."""
        return pa.table(dict(zip(self.inputs(), matrix.T, strict=True)))

    def _matrix(self, table: pa.Table) -> np.ndarray:
        """Return what `_table` was made of."""
        return np.stack([table[name].to_numpy() for name in self.inputs()], axis=1)
