"""Quadratic discriminant analysis: classes as normal distributions, each of its own covariance, learned in one scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.frames import Kind
from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import in_range
from penstock.stages.shapes import Fields, ListOf, Number, Shape, TableOf
from penstock.stages.training.clustering._mixture import Mixture
from penstock.stages.training.discriminant._discriminant import Discriminant
from penstock.stages.training.exact.design import in_blocks
from penstock.stages.training.linear._coordinate_descent import is_regular
from penstock.statistics.gram import CrossProducts
from penstock.statistics.shrinkage import shrunk_covariance


@dataclass(frozen=True)
class QuadraticDiscriminantAnalysis(Discriminant):
    """The likeliest class, of classes that are normal distributions, each of a mean and a covariance of its own.

    It is learned from the means and products of features by class: in one scan, without iterations, and yesterday's
    statistics merged with today's are the refit. Labels and the columns that `transform` adds are those of
    :class:`LinearDiscriminantAnalysis`. A row with a null feature has null in all of them.

    Parameters
    ----------
    label : str
        The column of classes, without null; at most 1,000 classes.
    features : str, sequence of str, or Selector, optional
        Columns of numbers or booleans (0 and 1); all but label and weight, unless given. Without null.
    weight : str, optional
        Column of row weights, not negative, without null. A row of weight 0 is as if absent.
    priors : sequence of float, optional
        The probability of each class, above 0, with a sum of 1; the shares of the classes, unless given.
    reg_param : float, default=0.0
        From 0 to 1: the covariance of a class is ``(1 - reg_param) * covariance + reg_param * identity``. Scale the
        features first.
    shrinkage : float, {"auto", "oas"} or None, default=None
        As of :class:`LinearDiscriminantAnalysis`: towards a multiple of the identity that is as large as the covariance
        of the class.
    thresholds : sequence of float, optional
        One for each class: predicted is the class whose probability divided by its threshold is largest; see
        :class:`LogisticRegression`.
    prediction, probability, raw_prediction : str
        Names of the columns that are added.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: a column is missing or of the wrong type, or the label is among the features.
    DataValueError
        At fit: a label, weight or feature is null or infinite, or beyond 1e150 (1e75 for "auto"); a label has a
        fraction, a weight is negative; there is one class, or more than 1,000; in a class a feature is constant, or
        others explain it, up to 1e-12 of its variance. At fit and when predicting: a feature is infinite. Names column,
        count, first file and row.
    ConfigError
        At fit: there are not as many `thresholds` or `priors` as classes.

    Notes
    -----
    Learned are ``classes``, ``priors``, ``means`` (a row a class, a column a feature) and ``covariances`` (a row for
    each class and feature, named in its first two columns, and a column for each feature). Covariances have n in the
    denominator, as those of scikit-learn 1.9; older versions take n - 1. The log scores of more than two classes are
    less than its ``decision_function`` by a number that is the same for all rows.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"x": [-1.0, 0.0, 1.0, -6.0, 0.5, 6.0], "near": [True, True, True, False, False, False]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.QuadraticDiscriminantAnalysis("near")).fit(data)
    >>> model.transform(data).to_arrow()["prediction"].to_pylist()
    [True, True, True, False, True, False]
    """

    _: KW_ONLY
    reg_param: float = field(default=0.0, metadata=in_range(least=0, most=1))

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return classes, priors, means and covariances."""
        found, names = self._checked(results["classes"]), self.inputs()
        classes = found.classes.to_pylist()
        rows = np.concatenate(
            [self._covariance(each, value) for each, value in zip(found.products, classes, strict=True)]
        )
        places = {"class": np.arange(len(classes)).repeat(len(names)), "feature": list(names) * len(classes)}
        columns = [pa.array(values) for values in (*places.values(), *rows.T)]
        return {
            "classes": pa.table({"value": found.classes}),
            "priors": self._priors(found).tolist(),
            "means": self._table(found.means),
            "covariances": pa.table(columns, names=[*places, *names]),
        }

    def _covariance(self, products: CrossProducts, value: Any) -> np.ndarray:
        """Return the covariance of a class; DataValueError where it has no inverse."""
        covariance = shrunk_covariance(products, self.shrinkage)
        covariance = (1 - self.reg_param) * covariance + self.reg_param * np.eye(len(covariance))
        self._refuse_flat(products, covariance, value)
        return covariance

    def _refuse_flat(self, products: CrossProducts, covariance: np.ndarray, value: Any) -> None:
        deviations = np.sqrt(np.diag(covariance))
        flat = np.flatnonzero(deviations == 0)
        if not len(flat) and is_regular(covariance / deviations[:, None] / deviations):
            return
        name = self.inputs()[flat[0]] if len(flat) else None
        problem = f"column {name!r} is constant" if name is not None else "features explain each other"
        raise DataValueError(
            f"{problem} in class {value!r} of {products.count} row(s), so that its covariance has no inverse",
            hint="Leave such features out, or pass a shrinkage or a reg_param.",
            column=name or self.label,
        )

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        classes, names = fitted["classes"].num_rows, self.inputs()
        numbers = dict.fromkeys(names, pa.types.is_floating)
        places = {"class": pa.types.is_integer, "feature": pa.types.is_string}
        return Fields(
            {
                **self.target.shapes(),
                "priors": ListOf(Number(least=0), classes),
                "means": TableOf(numbers, rows=classes),
                "covariances": TableOf({**places, **numbers}, rows=classes * len(names)),
            }
        )

    def _scores(self, columns: Any, fitted: Fitted, kind: Kind) -> Any:
        names = self.inputs()
        rows = np.column_stack([column.to_numpy() for column in fitted["covariances"].columns[-len(names) :]])
        covariances = rows.reshape(-1, len(names), len(names))
        mixture = Mixture(np.array(fitted["priors"]), self._matrix(fitted["means"]), covariances)
        return in_blocks(columns, kind, lambda block: mixture.log_densities(block, kind))
