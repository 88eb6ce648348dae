"""Linear regression in one scan: what the rows have to say fits into one matrix, whatever the penalty.

Of a sparse vector that matrix has a row for each index, of which there may be hundreds of thousands. So on a vector the
rows are kept, and looked at again and again, by all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.selectors import Columns
from penstock.spmd import Rank
from penstock.stages.base import Fitted, Tags
from penstock.stages.features import Features
from penstock.stages.number_columns import with_results
from penstock.stages.parameter_checks import in_range
from penstock.stages.training._vector_features import of_index_table
from penstock.stages.training.linear._least_squares import LeastSquares, Penalty
from penstock.stages.training.linear._linear_model import LinearModel, fitted_model, minimum, predicted, predicted_by
from penstock.stages.training.linear._linear_vector import VectorLeastSquares
from penstock.stages.training.linear._sparse_features import SparseFeatures
from penstock.statistics.base import Statistic
from penstock.statistics.gram import CrossProducts, Gram


@dataclass(frozen=True)
class LinearRegression(LinearModel):
    """Least squares, plain or with a penalty (ridge, lasso, elastic net); adds the float64 column ``prediction``.

    It is fitted from a :class:`~penstock.statistics.Gram` statistic: one scan, shared with the other stages, and then
    no row is looked at again, unless features name a sparse vector, see the notes. What MLlib minimises is minimised
    exactly, not to a tolerance, for rows of weight w::

        sum(w (y - x b - intercept)^2) / (2 sum(w)) + reg_param (a sum(|b|) + (1 - a) sum(b^2) / (2 s))

    where a is `elastic_net_param`, s the standard deviation of the label, and, with `standardization`, b in the two
    penalties stands for the coefficient times the standard deviation of its feature.

    Parameters
    ----------
    label : str
        The column to learn: numbers.
    features : str, sequence of str, or Selector, optional
        Columns of numbers or booleans, at most 4,999; all but label and weight, unless given. Among them, or alone,
        both columns of one sparse vector, ``<name>_indices`` and ``<name>_values``, such as :class:`HashingTF` makes:
        see the notes.
    weight : str, optional
        Column of row weights, 0 or more.
    reg_param : float, default=0.0
        How strong the penalty is.
    elastic_net_param : float, default=0.0
        From 0, squares of the coefficients (ridge), to 1, their absolute values (lasso).
    fit_intercept : bool, default=True
    standardization : bool, default=True
        Punish coefficients of standardised features, so that the units of a feature do not matter.
    max_iter : int, default=1000
        Sweeps over the coefficients, where `elastic_net_param` is not 0; on a sparse vector, steps. A warning tells
        when sweeps are too few, the fit report when steps are.
    tol : float, optional
        By how much the conditions of a minimum may be missed, for features and a label of deviation 1, where the
        minimum cannot be solved for exactly. Unless given it is 1e-6 in a lasso of features that explain each other,
        and 1e-9 on a sparse vector.
    prediction : str, default="prediction"
        Name of the column of predictions: null where a feature is null, or there is no vector.

    Raises
    ------
    SchemaError
        At fit, before reading: a column is missing or not numeric, and no column of the only sparse vector.
    DataValueError
        At fit: a feature, the label or a weight is null, infinite or beyond 1e150, a weight is negative, or none is
        positive; a vector is null, holds nulls, has indices that do not ascend, or none at all; column, file and row
        are named. At scoring: a feature is infinite, or rows hold no vectors.

    Notes
    -----
    The result is that of MLlib's solver "normal", the default up to 4,096 features. Deviations have n in the
    denominator. Its solver "l-bfgs" takes n - 1 instead: with standardization, it gives for reg_param what is given
    here for ``reg_param * sqrt(n / (n - 1))``. For scikit-learn's estimators set ``standardization=False`` and

    =================================== =====================================================================
    scikit-learn                        here
    =================================== =====================================================================
    ``Ridge(alpha)``                    ``reg_param = alpha s / sum(w)``
    ``Lasso(alpha)``                    ``reg_param = alpha``, ``elastic_net_param = 1``
    ``ElasticNet(alpha, l1_ratio=r)``   ``reg_param = alpha (r + (1 - r) s)``,
                                        ``elastic_net_param = alpha r / reg_param``
    =================================== =====================================================================

    A feature that is constant gets coefficient 0 and is listed in ``constant``, also without an intercept (as in MLlib
    and R's glmnet). Where features explain each other, up to 1e-12 of the variance of one, and no penalty decides, the
    coefficients of least norm are taken, in terms of standardised features.

    Learned are ``features``, ``coefficients`` (lists), ``intercept``, ``constant`` (names), and ``summary``, named as
    MLlib's training summary: ``num_instances`` (rows of a weight above 0), ``rmse``, ``r2``, and unless there is a
    penalty ``degrees_of_freedom`` and the lists ``coefficient_standard_errors``, ``t_values`` and ``p_values``, the
    intercept's last. They are null where they are undefined. :meth:`table` puts them side by side.

    With weights w and an intercept, ``r2`` is MLlib's: ``1 - r2`` is what R's ``lm`` and scikit-learn have, times
    ``(sum(w) - sum(w**2) / sum(w)) / (sum(w) - 1)``, which is 1 without weights. Without an intercept it is R's.
    Standard errors, t and p values are those of ``lm`` with weights. ``rmse`` is
    ``sqrt(sum(w * error**2) / sum(w))``, and not R's ``sigma``, which divides by the degrees of freedom.

    On a sparse vector the same is minimised, by steps (L-BFGS, or OWL-QN where `elastic_net_param` is not 0): after the
    scan all ranks train at once. Each reads its rows once and keeps them in memory as CSR, 12 bytes a value, on the
    host also where frames are on a GPU; no dense matrix is made, and sums are exact, so that the model is the same to
    the bit on any engine, any number of ranks and in any fragments. What a vector leaves out is zero. Features are
    divided by their standard deviations, and by the root of what the penalty makes of a second derivative of 1; in
    these units no component of the gradient is larger than `tol` at the end. So coefficients, in deviations of feature
    and label, are off by about `tol` divided by the smallest eigenvalue of the features' correlations: of features that
    are well apart eight digits are those of the closed form. Those that nearly explain each other take more steps, and
    have fewer digits.

    There is a coefficient for each index that some row has at fit, however long the vector is; those that are not 0 are
    in ``vector_coefficients``, a table of ``index`` and ``"0"``, and those of numbers beside the vector in
    ``coefficients``, by ``features``. Other indices count for nothing when predicting. Beside what is learned of
    numbers there are ``vector`` (its name), ``converged``, ``iterations`` and ``objective_history`` (for a label of
    deviation 1); ``summary`` has ``num_instances``, ``rmse`` and ``r2``, and no more, as that of MLlib's "l-bfgs".

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 2.0, 6.0, 7.0]}))
    >>> model = ps.Pipeline(st.LinearRegression("y")).fit(data)
    >>> [round(value, 2) for value in model.transform(data).to_arrow()["prediction"].to_pylist()]
    [0.7, 2.9, 5.1, 7.3]
    >>> round(model.fitted[0]["summary"]["r2"], 3)
    0.931
    """

    label: str
    _: KW_ONLY
    features: Columns | None = None
    weight: str | None = None
    reg_param: float = field(default=0.0, metadata=in_range(least=0))
    elastic_net_param: float = field(default=0.0, metadata=in_range(least=0, most=1))
    fit_intercept: bool = True
    standardization: bool = True
    max_iter: int = field(default=1000, metadata=in_range(least=1, whole=True))
    tol: float | None = field(default=None, metadata=in_range(above=0))
    prediction: str = "prediction"

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)
    takes_vectors: ClassVar[bool] = True

    @classmethod
    def from_parameters(cls, values: Mapping[str, Any]) -> Self:
        """Return the stage with these parameters; models saved before also name the sparse vector, and need not."""
        return super().from_parameters({name: value for name, value in values.items() if name != "vector"})

    def _identity(self, fitted: Fitted) -> list[Any]:
        """Return what it was when a regression on a vector had a class of its own: digests of such models stay."""
        if "vector" not in fitted:
            return super()._identity(fitted)
        return ["_LinearRegressionOnVector", {**self.parameters(), "vector": fitted["vector"]}]

    def trains(self, schema: pa.Schema) -> bool:
        return self._vector(schema) is not None

    def _vector(self, schema: pa.Schema) -> str | None:
        return Features.of(self.inputs(), schema, self.title).vector

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the products of all columns with each other; on a vector for its indices, and what is wrong."""
        vector = self._vector(schema)
        if vector is not None:
            return self._on(vector).statistics()
        return {"gram": Gram(self.training_columns(), weighted=bool(self.weight))}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return coefficients, intercept and summary; on a vector what to train with."""
        if "entries" in results:
            return self._on(results["entries"].name).learned(results)
        return fitted_model(self.inputs(), results["gram"], self._penalty(1e-6), fit_intercept=self.fit_intercept)

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        return self._on(learned["vector"]).train(rank, learned)

    def _on(self, vector: str) -> VectorLeastSquares:
        """Return the regression on a sparse vector, and on the numbers beside it."""
        numbers = Features(self.inputs(), vector).numbers
        features = SparseFeatures(numbers, self.label, self.weight, self.fit_intercept, vector)
        return VectorLeastSquares(features, self._penalty(1e-9))

    def _penalty(self, tol: float) -> Penalty:
        """Return the penalty, with this tolerance unless another was given."""
        return Penalty(self.reg_param, self.elastic_net_param, self.standardization, self.max_iter, self.tol or tol)

    def _predicted(self, frame: nw.DataFrame, fitted: Fitted) -> Any:
        if "vector" not in fitted:
            return super()._predicted(frame, fitted)
        regression = self._on(fitted["vector"])
        values, lacking = regression.values(frame, fitted)
        values += predicted(frame, regression.features.numbers, fitted)
        values[lacking] = np.nan
        return values

    def transform_by(self, frame: nw.DataFrame, states: Sequence[Fitted], place: np.ndarray) -> nw.DataFrame | None:
        if any("vector" in state for state in states):
            return None
        return with_results(frame, {self.prediction: predicted_by(frame, self.inputs(), states, place)})

    def _terms(self, fitted: Fitted) -> list[tuple[str, float]]:
        terms = super()._terms(fitted)
        if "vector" not in fitted:
            return terms
        index, coefficients = of_index_table(fitted["vector_coefficients"])
        names = (f"{fitted['vector']}[{place}]" for place in index)
        return [*terms, *zip(names, coefficients[0].tolist(), strict=True)]


def regularisation_path(
    gram: CrossProducts,
    reg_params: Sequence[float],
    elastic_net_param: float = 0.0,
    *,
    fit_intercept: bool = True,
    standardization: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> pa.Table:
    """Return the coefficients for many penalties from one scan.

    Parameters
    ----------
    gram : CrossProducts
        Of the features and, last, the label.
    reg_params : sequence of float
    elastic_net_param, fit_intercept, standardization, max_iter, tol
        As of :class:`LinearRegression`.

    Returns
    -------
    pyarrow.Table
        A row per penalty, in the order given: ``reg_param``, ``intercept``, ``coefficients`` (list of float64, in the
        order of ``gram.columns``), and ``rmse`` and ``r2`` on the rows that were learned from.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock.statistics.gram import Gram
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 2.0, 6.0, 7.0]}))
    >>> gram = Gram(("x", "y"))
    >>> (state,), _ = data.gather([gram])
    >>> path = regularisation_path(gram.finish(state), [0.0, 1.0, 10.0], elastic_net_param=1.0)
    >>> [round(value, 3) for (value,) in path["coefficients"].to_pylist()]
    [2.2, 1.306, 0.0]
    """
    problem = LeastSquares.of(gram, fit_intercept=fit_intercept)
    rows: dict[int, dict[str, Any]] = {}
    start = None
    for place in np.argsort(reg_params, kind="stable")[::-1]:  # the largest penalty is the easiest
        penalty = Penalty(float(reg_params[place]), elastic_net_param, standardization, max_iter, tol)
        start = minimum(problem, penalty, start).coefficients
        coefficients, intercept = problem.coefficients(start)
        found = {"intercept": intercept, "coefficients": coefficients.tolist(), **problem.quality(start)}
        rows[int(place)] = {"reg_param": penalty.reg_param, **found}
    kinds = {name: pa.float64() for name in ("reg_param", "intercept", "coefficients", "rmse", "r2")}
    kinds["coefficients"] = pa.list_(pa.float64())
    return pa.Table.from_pylist([rows[place] for place in range(len(reg_params))], pa.schema(list(kinds.items())))
