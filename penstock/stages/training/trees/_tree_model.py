"""What all models of XGBoost's trees share: columns, checks, training on every rank, scores and contributions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ArtifactError, ConfigError, DataValueError
from penstock.core.selectors import Columns
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, RowFunction, Tags
from penstock.stages.classes import Classes, classes_of
from penstock.stages.onnx_graph import OnnxGraph, Tensor, not_in_onnx
from penstock.stages.shapes import Anything, Fields, Integer, ModelFile
from penstock.stages.target import Target, check_weights
from penstock.stages.trainer import Trainer
from penstock.stages.training._finite import bad_values
from penstock.stages.training.trees import _float32
from penstock.stages.training.trees._tree_features import TreeFeatures
from penstock.statistics.base import Statistic
from penstock.statistics.checks import Checks
from penstock.statistics.extremes import Extremes
from penstock.statistics.rules import Rule, rules_for

CONTRIBUTIONS = "contributions"
_LARGEST = "largest weight"
_IMPORTANCES = ("gain", "total_gain", "weight", "cover", "total_cover")


@dataclass(frozen=True)
class TreeModel(Trainer):
    """A stage whose model is a booster of XGBoost's.

    Parameters
    ----------
    label : str
        The column to learn; no null, NaN or infinity.
    features : str, sequence of str, or Selector, optional
        Numeric columns; all but label and weight, unless given. Null is missing; an infinity is an error.
    weight : str, optional
        Column of row weights, not negative, without null.
    seed : int
        For sampling of rows and columns.
    prediction : str
        Name of the column of predictions.
    contributions : bool
        Also write how much each feature adds to a prediction: the column ``contributions``, list of float64, one for
        each feature in their order and the bias last: SHAP values, XGBoost's ``pred_contribs``. They add up, in
        float32, to the score before any link function, which is ``rawPrediction`` where there is such a column. Where a
        row has several scores, of classes or quantiles, their lists follow one another in one list.
    """

    label: str
    _: KW_ONLY
    features: Columns | None = None
    weight: str | None = None
    seed: int = 0
    prediction: str = "prediction"
    contributions: bool = False

    tags: ClassVar[Tags] = Tags(accepts="numeric", opens_ports=True, vectors=True)

    @property
    @abstractmethod
    def target(self) -> Target:
        """What trees are grown for, and the columns that are written, `_more` among them."""

    @abstractmethod
    def _parameters(self, learned: Fitted) -> dict[str, Any]:
        """Return XGBoost's parameters by its own names."""

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        for name in bound.inputs():
            if set(name) & set("[]<"):
                problem = f"feature {name!r} has one of the characters [ ] <, which XGBoost does not take in a name"
                raise ConfigError(problem, hint="Rename the column.", column=name, stage=self.title)
        vector = TreeFeatures.of(bound.inputs(), schema, self.title).vector
        if vector is not None and self.contributions:
            raise ConfigError(
                f"contributions of {self.title} are a number for each feature, and {vector!r} is a sparse vector",
                hint="Leave contributions out.",
                stage=self.title,
            )
        return bound

    @property
    def _more(self) -> dict[str, pa.DataType]:
        """The columns that are written beside scores and predictions."""
        return {CONTRIBUTIONS: pa.list_(pa.float64())} if self.contributions else {}

    def _rules(self) -> list[tuple[str, Rule]]:
        """Return what is checked over all rows before training."""
        from penstock.stages.training.trees._matrix import training_checks

        weight = rules_for(self._weights, "infinite")
        return [*training_checks(self.label, self.weight), *weight, *self.target.rules()]

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        largest = {_LARGEST: Extremes(self._weights)} if self.weight else {}
        of_vector = TreeFeatures.of(self.inputs(), schema, self.title).statistics()
        return {"checks": Checks(tuple(self._rules())), **largest, **of_vector, **self.target.statistics()}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        results["checks"].refuse()
        if self.weight is not None:
            check_weights(self.weight, results[_LARGEST][self.weight].max)
        return {**self.target.learn(results), **TreeFeatures.learn(results)}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Fields:
        model = Fields({"booster": ModelFile("xgboost-ubj"), "rounds": Integer()}, {"history": Anything()})
        return model.beside(**self.target.shapes(), **self._features(fitted).shapes)

    def _features(self, fitted: Fitted) -> TreeFeatures:
        return TreeFeatures.learned(self.inputs(), fitted)

    def _converter(self, learned: Fitted) -> Any:
        """Return the `ToBatch` that reads what is learned from."""
        from penstock.stages.training.trees._matrix import ToBatch

        index, before = self._features(learned).index, learned.get("booster")
        return ToBatch(self.inputs(), self.label, classes_of(learned), self.weight, index=index, before=before)

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        from penstock.stages.training.trees._boosting import boost

        trained = boost(
            rank,
            self._converter(learned),
            self._parameters(learned),
            num_boost_round=self.rounds,
            early_stopping_rounds=getattr(self, "early_stopping_rounds", None),
            external_memory=getattr(self, "external_memory", False),
            before=learned.get("booster"),
        )
        return self._features(learned).without_unused({**learned, **trained})

    def notes(self, fitted: Fitted) -> list[str]:
        """Return the features that XGBoost sees rounded."""
        return _float32.notes(fitted[_float32.BEYOND])

    def kept(self, fitted: Fitted) -> Fitted:
        return {name: value for name, value in fitted.items() if name != _float32.BEYOND}

    def _scores(self, matrix: Any, fitted: Fitted, *, kind: str) -> Any:
        """Return float64 scores, a matrix where a row has several: of `kind` "margin", or "value" after the link."""
        from penstock.stages.training.trees._boosting import predict

        return predict(fitted["booster"], matrix, kind)

    def _results(self, matrix: Any, fitted: Fitted) -> dict[str, Any]:
        """Return arrays by the name of their column, of a matrix of features on any device."""
        return {self.prediction: self._scores(matrix, fitted, kind="value")}

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        results = self._results(self._features(fitted).matrix(frame), fitted)
        scored = self.target.with_columns(frame, results, fitted)
        if not self.contributions:
            return scored
        from penstock.stages.training.trees._boosting import contributions

        values = contributions(frame, self.inputs(), fitted["booster"])
        return scored.with_columns(matrices.column(scored, CONTRIBUTIONS, values))

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Score one row without a frame; contributions take one."""
        if self.contributions:
            return None
        matrix, values = self._features(fitted).row_function(schema), self.target.row_values(fitted)
        return lambda row: row.update(values(self._results(matrix(row), fitted)))

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        if self._features(fitted).index is not None or getattr(self, "thresholds", None):
            what = "thresholds" if getattr(self, "thresholds", None) else "a sparse vector among its features"
            raise not_in_onnx(self, what, "Export a model without.")
        graph.assign(self._onnx_columns(graph, fitted))

    def _onnx_columns(self, graph: OnnxGraph, fitted: Fitted) -> dict[str, Tensor]:
        """Return the columns that are written, in a graph in ONNX."""
        from penstock.stages.training.trees._onnx_trees import scores

        return {self.prediction: scores(graph, self, fitted["booster"], kind="value")}

    def importances(self, fitted: Fitted) -> dict[str, dict[str, float]]:
        """Return of each kind the importance of each feature that a tree uses, highest first.

        Kinds are XGBoost's: ``weight``, how often a feature splits; ``gain``, by how much a split lowers the loss, on
        average, and ``total_gain`` in all; ``cover`` and ``total_cover``, the sum of second derivatives in what is
        split.
        """
        from penstock.stages.training.trees._boosting import load_booster

        booster, features = load_booster(fitted["booster"]), self._features(fitted)
        scores = {kind: booster.get_score(importance_type=kind) for kind in _IMPORTANCES}
        return {kind: features.by_name(_highest_first(each)) for kind, each in scores.items()}


def _highest_first(scores: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


class TreeClasses(Classes):
    """Classes of which trees give scores."""

    def fractions(self, odd: Sequence[float], count: int) -> DataValueError:
        problem = f"not a class: {', '.join(map(repr, odd[:5]))}"
        hint = f"Classes are whole numbers; {self.others} for others."
        return bad_values(self.label, count, problem, nw.col(self.label).is_in(odd), hint)

    def of_rows(self, scores: Any, rows: int, fitted: Fitted) -> Any:
        """Return scores of shape (rows,) for two classes, and of shape (rows, classes) for more."""
        classes = fitted["classes"].num_rows
        shape = (rows,) if classes == 2 else (rows, classes)
        if scores.size != math.prod(shape) or (classes == 2 and scores.ndim > 1):
            raise ArtifactError(
                f"the booster gives {scores.size} scores for {rows} row(s) of {classes} classes",
                hint="It is not the booster that was saved with these classes: fit or copy the model again.",
                stage=self.stage,
            )
        return scores.reshape(shape)
