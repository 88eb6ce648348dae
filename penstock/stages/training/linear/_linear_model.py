"""What linear regressions share: the fit of one penalty, and predictions from coefficients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.notices import warn
from penstock.frames import matrices
from penstock.stages.base import Fitted
from penstock.stages.constant_columns import constant_note
from penstock.stages.features import Features
from penstock.stages.number_columns import with_results
from penstock.stages.onnx_graph import OnnxGraph, Tensor, not_in_onnx
from penstock.stages.shapes import Anything, Fields, ListOf, Number, Shape, Text, numbers_at_indices
from penstock.stages.target import Target
from penstock.stages.trainer import Trainer
from penstock.stages.training.linear._coefficient_table import coefficient_table
from penstock.stages.training.linear._coordinate_descent import Descent
from penstock.stages.training.linear._least_squares import LeastSquares, Penalty
from penstock.statistics.gram import CrossProducts
from penstock.statistics.rules import Rule, refuse


class LinearModel(Trainer):
    """What linear regressions share once they have coefficients; the column that they add is `prediction`, float64."""

    label: str
    fit_intercept: bool
    prediction: str

    @property
    def target(self) -> Target:
        return Target(self.label, {self.prediction: pa.float64()})

    @abstractmethod
    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return at least ``features``, ``coefficients``, ``intercept`` and ``summary``."""

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        features = Features.of(self.inputs(), schema, self.title)
        names, vector = features.numbers, features.vector
        coefficients = ListOf(Number(), len(names))
        shapes = {"features": ListOf(Text(names), len(names)), "coefficients": coefficients, "intercept": Number()}
        if vector is None:
            return Fields(shapes, dict.fromkeys(("constant", "summary", "reg_param", "mean_rmse", "rmse"), Anything()))
        told = ("constant", "summary", "converged", "iterations", "objective_history")
        of_vector = {"vector": Text((vector,)), "vector_coefficients": numbers_at_indices(1)}
        return Fields({**shapes, **of_vector}, dict.fromkeys(told, Anything()))

    def notes(self, fitted: Fitted) -> list[str]:
        """Name the features that take no part."""
        return [*constant_note(fitted["constant"], "of coefficient 0"), *super().notes(fitted)]

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Predict.

        Raises
        ------
        DataValueError
            A feature is infinite.
        """
        return with_results(frame, {self.prediction: self._predicted(frame, fitted)})

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        graph.assign({self.prediction: self._linear_predictor(graph, fitted, fitted["coefficients"])})

    def _linear_predictor(self, graph: OnnxGraph, fitted: Fitted, coefficients: Sequence[float]) -> Tensor:
        """Return the sum of the inputs, times numbers, and of the intercept, in a graph in ONNX."""
        if "vector" in fitted or not coefficients:
            what = "a sparse vector among its features" if "vector" in fitted else "no features"
            raise not_in_onnx(self, what, "Train on columns of numbers.")
        column = graph.constant(np.array(coefficients)[:, None])
        summed = graph.add("MatMul", graph.numbers(self.inputs()), column)
        return graph.add("Add", summed, graph.constant(fitted["intercept"]))

    def _predicted(self, frame: nw.DataFrame, fitted: Fitted) -> Any:
        """Return predictions, NaN where a feature is null."""
        return predicted(frame, self.inputs(), fitted)

    def coefficients(self, fitted: Fitted) -> pa.Table:
        """Return a row per feature, and one for the intercept; see `coefficient_table`.

        What was inferred of each is null after a penalised fit.
        """
        intercept = fitted["intercept"] if self.fit_intercept else None
        return coefficient_table(self._terms(fitted), intercept, fitted["summary"])

    def _terms(self, fitted: Fitted) -> list[tuple[str, float]]:
        """Return features and their coefficients."""
        return list(zip(fitted["features"], fitted["coefficients"], strict=True))


def predicted(frame: nw.DataFrame, numbers: tuple[str, ...], fitted: Fitted) -> Any:
    """Return what columns of numbers predict, NaN where one is null; DataValueError where one is infinite."""
    matrix = matrices.to_matrix(frame, numbers, "float64")
    refuse([(name, Rule("infinite")) for name in numbers], matrices.count_infinite(matrix))
    coefficients = matrices.to_device(np.array(fitted["coefficients"]), frames.kind_of(frame))
    # Not a product of matrices: in BLAS a row's last digits may depend on where in the matrix it stands.
    return (matrix * coefficients).sum(axis=1) + fitted["intercept"]


def predicted_by(frame: nw.DataFrame, numbers: tuple[str, ...], states: Sequence[Fitted], place: np.ndarray) -> Any:
    """Return what `predicted` returns of each row by the state at its place, NaN where there is none."""
    kind, known = frames.kind_of(frame), place < len(states)
    matrix = matrices.to_matrix(frame, numbers, "float64")
    scored = matrix if known.all() else matrix[matrices.to_device(known, kind)]
    refuse([(name, Rule("infinite")) for name in numbers], matrices.count_infinite(scored))
    coefficients = np.array([*(state["coefficients"] for state in states), [np.nan] * len(numbers)])
    intercepts = np.array([*(state["intercept"] for state in states), np.nan])
    factors, constants = (matrices.to_device(each[place], kind) for each in (coefficients, intercepts))
    return (matrix * factors).sum(axis=1) + constants


def fitted_model(features: Sequence[str], gram: CrossProducts, penalty: Penalty, *, fit_intercept: bool) -> Fitted:
    """Return coefficients, intercept and summary of a regression on `features` of the last column of `gram`."""
    problem = LeastSquares.of(gram, fit_intercept=fit_intercept)
    descent = minimum(problem, penalty)
    coefficients, intercept = problem.coefficients(descent.coefficients)
    return {
        "features": list(features),
        "coefficients": coefficients.tolist(),
        "intercept": intercept,
        "constant": [name for name, constant in zip(features, gram.constant[:-1], strict=True) if constant],
        "summary": {
            "num_instances": gram.count,
            **problem.quality(descent.coefficients),
            **({} if penalty.reg_param else problem.inference(descent.coefficients)),
        },
    }


def minimum(problem: LeastSquares, penalty: Penalty, start: np.ndarray | None = None) -> Descent:
    """Return the minimum, and warn where the search for it ended early."""
    descent = problem.minimise(penalty, start)
    if not descent.converged:
        warn(
            f"coefficients for reg_param {penalty.reg_param} have not converged after {descent.sweeps} sweeps;"
            " raise max_iter or tol",
            stacklevel=4,
        )
    return descent
