"""Linear regression whose penalty is chosen by cross-validation: all penalties, on all folds, from one scan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError, SchemaError
from penstock.core.schemas import require
from penstock.core.selectors import Columns
from penstock.stages.base import Fitted, Tags
from penstock.stages.parameter_checks import in_range, is_finite_number, wrong_parameter
from penstock.stages.training.linear._least_squares import Penalty
from penstock.stages.training.linear._linear_model import LinearModel, fitted_model
from penstock.stages.training.linear.linear_regression import regularisation_path
from penstock.statistics.base import Statistic
from penstock.statistics.gram import CrossProducts, Gram
from penstock.statistics.grouped.folds import Folded


@dataclass(frozen=True)
class LinearRegressionCV(LinearModel):
    """`LinearRegression` with the penalty that predicts rows it was not fitted on best; adds ``prediction``.

    For each fold, models of all penalties are fitted on the other folds and measured on that one. The penalty of the
    lowest mean error is then fitted on all rows. It is what MLlib's CrossValidator does with LinearRegression and the
    metric rmse; here the rows are read once, for the :class:`~penstock.statistics.Gram` matrix of each fold. A training
    set is a sum of such matrices, and the error of any model on a fold follows from the fold's own.

    Parameters
    ----------
    label : str
        The column to learn: numbers.
    features, weight, elastic_net_param, fit_intercept, standardization, max_iter, tol, prediction
        As of :class:`LinearRegression`.
    reg_params : sequence of float, default=(0.0, 0.001, 0.01, 0.1, 1.0)
        The penalties to choose from; of two with the same error, the first.
    num_folds : int, default=5
        At least 2.
    fold : str, optional
        Column of the fold of each row, from 0 to ``num_folds - 1``. Without it rows are dealt by their number: the same
        rows on every engine and partitioning, and about as many to each fold. They are those of ``Dataset.folds`` with
        the same seed; so of rows that are a training set of such folds already one has none, and it is left out.
    seed : int, default=0
        Of that deal.

    Raises
    ------
    ConfigError
        No penalty, a negative one, or fewer than 2 folds.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: as of :class:`LinearRegression`; a fold without rows of those in `fold`, or only one with rows of those
        dealt; a number in `fold` that is none.

    Notes
    -----
    Learned is what :class:`LinearRegression` learns, and ``reg_param``, ``mean_rmse`` (a number for each of
    `reg_params`), and ``rmse``, an Arrow table of ``reg_param``, ``fold`` and ``rmse`` on that fold. With weights the
    ``r2`` of ``summary`` is MLlib's and not R's, as it is there.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> rows = {"x": [float(i % 7) for i in range(40)], "y": [2.0 * (i % 7) + i % 3 for i in range(40)]}
    >>> data = ps.LocalEngine().from_arrow(pa.table(rows))
    >>> model = ps.Pipeline(st.LinearRegressionCV("y", reg_params=(0.0, 0.1, 10.0))).fit(data)
    >>> model.fitted[0]["reg_param"], [round(value, 2) for value in model.fitted[0]["mean_rmse"]]
    (0.0, [0.89, 0.9, 3.02])
    """

    label: str
    _: KW_ONLY
    features: Columns | None = None
    weight: str | None = None
    reg_params: tuple[float, ...] = (0.0, 0.001, 0.01, 0.1, 1.0)
    elastic_net_param: float = field(default=0.0, metadata=in_range(least=0, most=1))
    num_folds: int = field(default=5, metadata=in_range(least=2, whole=True))
    fold: str | None = None
    seed: int = field(default=0, metadata=in_range(whole=True))
    fit_intercept: bool = True
    standardization: bool = True
    max_iter: int = field(default=1000, metadata=in_range(least=1, whole=True))
    tol: float = field(default=1e-6, metadata=in_range(above=0))
    prediction: str = "prediction"

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)
    roles: ClassVar[tuple[str, ...]] = ("label", "weight", "fold")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "reg_params", tuple(self.reg_params))
        if not self.reg_params or not all(is_finite_number(each) and each >= 0 for each in self.reg_params):
            raise wrong_parameter(self, "reg_params", "numbers of 0 or more")

    def bind(self, schema: pa.Schema) -> Self:
        if self.fold is not None:
            require(schema, (self.fold,), stage=self.title)
            kind = schema.field(self.fold).type
            if not pa.types.is_integer(kind):
                problem = f"column {self.fold!r} of folds is {kind}, expected integers"
                raise SchemaError(problem, column=self.fold, stage=self.title)
        return super().bind(schema)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the products of all columns with each other, by fold."""
        columns = (*self.inputs(), self.label, *self._weights)
        gram = Gram(columns, weighted=bool(self.weight))
        return {"grams": Folded.of([gram], num_folds=self.num_folds, fold=self.fold, seed=self.seed)}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return the errors of each penalty, and the model of the best."""
        grams = {key: gram for key, (gram,) in results["grams"].items()}
        folds = self._folds_with_rows(grams)
        errors = np.array([self._errors(grams["held out", fold], grams["rest", fold]) for fold in folds])
        means = errors.mean(axis=0)
        best = float(self.reg_params[int(means.argmin())])
        penalty = Penalty(best, self.elastic_net_param, self.standardization, self.max_iter, self.tol)
        model = fitted_model(self.inputs(), grams["all",], penalty, fit_intercept=self.fit_intercept)
        return {**model, "reg_param": best, "mean_rmse": means.tolist(), "rmse": self._table(folds, errors)}

    def _folds_with_rows(self, grams: Mapping[Any, CrossProducts]) -> list[int]:
        """Return the folds to measure on: all of a column, or those that some of the rows were dealt to."""
        folds = [number for number in range(self.num_folds) if grams["held out", number].weight]
        if len(folds) < (2 if self.fold is None else self.num_folds):
            empty = min({*range(self.num_folds)} - {*folds})
            raise DataValueError(
                f"fold {empty} of {self.num_folds} has no row of a positive weight",
                hint="Take fewer folds.",
                column=self.fold or self.label,
            )
        return folds

    def _errors(self, held: CrossProducts, rest: CrossProducts) -> list[float]:
        path = regularisation_path(
            rest, self.reg_params, self.elastic_net_param, fit_intercept=self.fit_intercept,
            standardization=self.standardization, max_iter=self.max_iter, tol=self.tol,
        )  # fmt: skip
        origin = rest.mean if self.fit_intercept else np.zeros_like(rest.mean)
        return [_rmse(held, np.array(coefficients), origin) for coefficients in path["coefficients"].to_pylist()]

    def _table(self, folds: list[int], errors: np.ndarray) -> pa.Table:
        return pa.table(
            {
                "reg_param": pa.array(np.tile(self.reg_params, len(folds)), pa.float64()),
                "fold": pa.array(np.repeat(folds, len(self.reg_params)), pa.int64()),
                "rmse": pa.array(errors.ravel(), pa.float64()),
            }
        )


def _rmse(gram: CrossProducts, coefficients: np.ndarray, origin: np.ndarray) -> float:
    """Return the error, on the rows of `gram`, of a model through `origin`: how residuals spread, and their mean.

    An intercept would cancel large means only after they were rounded.
    """
    signs = np.append(-coefficients, 1.0)
    spread = max(float(signs @ gram.cross @ signs), 0.0) / gram.weight
    return math.sqrt(spread + float(signs @ (gram.mean - origin)) ** 2)
