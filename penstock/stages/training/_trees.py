"""What all models of XGBoost's trees share: columns, checks, training on every rank, scores and contributions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ArtifactError, ConfigError, DataValueError, SchemaError
from penstock.core.selectors import Columns, is_numeric
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, RowFunction, Tags, Trainer, with_fields
from penstock.stages.shapes import Anything, Fields, Integer, ModelFile
from penstock.stages.training import _float32
from penstock.stages.training._learner import Classifier, Learner, check_weights
from penstock.statistics.base import Statistic
from penstock.statistics.checks import Checks
from penstock.statistics.extremes import Extremes
from penstock.statistics.rules import Rule, rules_for

CONTRIBUTIONS = "contributions"
_CHECKS = "checks"
_LARGEST = "largest weight"


@dataclass(frozen=True)
class TreeModel(Learner, Trainer):
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
        each feature in their order and the bias last (XGBoost's SHAP values). They add up, in float32, to the score
        before any link function, which is ``rawPrediction`` where there is such a column. Where a row has several
        scores, of classes or quantiles, their lists follow one another in one list.
    """

    label: str
    _: KW_ONLY
    features: Columns | None = None
    weight: str | None = None
    seed: int = 0
    prediction: str = "prediction"
    contributions: bool = False

    tags: ClassVar[Tags] = Tags(accepts="numeric", opens_ports=True)

    @abstractmethod
    def _parameters(self, learned: Fitted) -> dict[str, Any]:
        """Return XGBoost's parameters by its own names."""

    @property
    def _patience(self) -> int | None:
        """After how many rounds without a better metric to stop."""
        return None

    @property
    def _external(self) -> bool:
        """Whether to train from external memory."""
        return False

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        for name in bound.inputs():
            if set(name) & set("[]<"):
                problem = f"feature {name!r} has one of the characters [ ] <, which XGBoost does not take in a name"
                raise ConfigError(problem, hint="Rename the column.", column=name, stage=self.title)
        return bound

    @property
    def _more(self) -> dict[str, pa.DataType]:
        """The columns that are written beside scores and predictions."""
        return {CONTRIBUTIONS: pa.list_(pa.float64())} if self.contributions else {}

    def _rules(self) -> list[tuple[str, Rule]]:
        """Return what is checked over all rows before training."""
        from penstock.stages.training._matrix import training_checks

        return [*training_checks(self.label, self.weight), *rules_for(self._weights, "infinite")]

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        return {_CHECKS: Checks(tuple(self._rules())), **({_LARGEST: Extremes(self._weights)} if self.weight else {})}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        results[_CHECKS].refuse()
        if self.weight is not None:
            check_weights(self.weight, results[_LARGEST][self.weight].max)
        return {}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Fields:
        return Fields({"booster": ModelFile("xgboost-ubj"), "rounds": Integer()}, {"history": Anything()})

    def _converter(self, learned: Fitted) -> Any:
        """Return the `ToBatch` that reads what is learned from."""
        from penstock.stages.training._matrix import ToBatch

        return ToBatch(self.inputs(), self.label, None, self.weight)

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        from penstock.stages.training._boosting import boost

        trained = boost(
            rank,
            self._converter(learned),
            self._parameters(learned),
            num_boost_round=self.rounds,
            early_stopping_rounds=self._patience,
            external_memory=self._external,
        )
        return {**learned, **trained}

    def notes(self, fitted: Fitted) -> list[str]:
        """Return the features that XGBoost sees rounded."""
        return _float32.notes(fitted[_float32.BEYOND])

    def kept(self, fitted: Fitted) -> Fitted:
        return {name: value for name, value in fitted.items() if name != _float32.BEYOND}

    def _index(self, fitted: Fitted) -> np.ndarray | None:
        """Return the indices that are looked at of a sparse vector among the features; None where there is none."""
        return None

    def _matrix(self, frame: nw.DataFrame, fitted: Fitted) -> Any:
        from penstock.stages.training._matrix import finite_matrix

        return finite_matrix(frame, self.inputs(), self._index(fitted))

    def _scores(self, matrix: Any, fitted: Fitted, *, kind: str) -> Any:
        """Return float64 scores, a matrix where a row has several: of `kind` "margin", or "value" after the link."""
        from penstock.stages.training._boosting import predict

        return predict(fitted["booster"], matrix, kind)

    @abstractmethod
    def _results(self, matrix: Any, fitted: Fitted) -> dict[str, Any]:
        """Return arrays by the name of their column, of a matrix of features on any device."""

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Score one row without a frame; contributions take one."""
        if self.contributions:
            return None
        from penstock.stages.training._rows import float32_row

        features = float32_row(self.inputs(), schema, self._index(fitted))

        def call(row: dict[str, Any]) -> None:
            results = self._results(features(row), fitted)
            row.update({name: values[0].tolist() for name, values in results.items()})

        return call

    def _explained(self, frame: nw.DataFrame, fitted: Fitted, scored: nw.DataFrame) -> nw.DataFrame:
        """Return `scored`, what `transform` made of `frame`, with the contributions where they are asked for."""
        if not self.contributions:
            return scored
        from penstock.stages.training._boosting import contributions

        values = contributions(frame, self.inputs(), fitted["booster"])
        return scored.with_columns(matrices.column(scored, CONTRIBUTIONS, values))

    def feature_importances(self, fitted: Fitted, importance_type: str = "gain") -> dict[str, float]:
        """Return the importance of each feature that is used, highest first.

        Parameters
        ----------
        importance_type : {"gain", "total_gain", "weight", "cover", "total_cover"}
        """
        from penstock.stages.training._boosting import load_booster

        scores = load_booster(fitted["booster"]).get_score(importance_type=importance_type)
        return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True)
class ClassModel(Classifier, TreeModel):
    """A tree model of classes, which are the label's values in ascending order.

    Parameters
    ----------
    thresholds : sequence of float, optional
        One for each class: predicted is the class whose probability divided by its threshold is largest; see
        :class:`LogisticRegression`.
    raw_prediction, probability : str
        Names of the columns of scores.
    """

    def outputs(self) -> tuple[str, ...]:
        return (*super().outputs(), *self._more)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        if self.contributions:
            return with_fields(replace(self, contributions=False).output_schema(schema), self._more)
        return super().output_schema(schema)

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        if self.contributions:
            return with_fields(replace(self, contributions=False).learned_schema(schema, fitted), self._more)
        return super().learned_schema(schema, fitted)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        return {**super().statistics(schema), **self._label_statistics()}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        super().finish(results)
        counted = results["labels"][self.label]
        self._check_classes(counted)
        self._check_weighed(results)
        return {"classes": counted.table.select(["value"]).sort_by("value").combine_chunks()}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Fields:
        return super().fitted_shape(schema, fitted).beside(classes=self._classes_shape)

    def _fractions(self, odd: Sequence[float], count: int) -> DataValueError:
        from penstock.stages.training._matrix import bad_values

        regressor = self.title.replace("Classifier", "Regressor")
        return bad_values(
            self.label, count, f"not a class: {', '.join(map(repr, odd[:5]))}", nw.col(self.label).is_in(odd),
            f"Classes are whole numbers; use {regressor} for others.",
        )  # fmt: skip

    def _converter(self, learned: Fitted) -> Any:
        from penstock.stages.training._matrix import ToBatch

        return ToBatch(self.inputs(), self.label, tuple(learned["classes"]["value"].to_pylist()), self.weight)

    def _of_classes(self, matrix: Any, fitted: Fitted, *, kind: str) -> Any:
        """Return scores of shape (rows,) for two classes, and of shape (rows, classes) for more."""
        scores = self._scores(matrix, fitted, kind=kind)
        rows, classes = matrix.shape[0], fitted["classes"].num_rows
        shape = (rows,) if classes == 2 else (rows, classes)
        if scores.size != math.prod(shape) or (classes == 2 and scores.ndim > 1):
            raise ArtifactError(
                f"the booster gives {scores.size} scores for {rows} row(s) of {classes} classes",
                hint="It is not the booster that was saved with these classes: fit or copy the model again.",
                stage=self.title,
            )
        return scores.reshape(shape)

    @abstractmethod
    def _judged(self, matrix: Any, fitted: Fitted) -> tuple[Any, Any, Any]:
        """Return raw predictions, probabilities, and the place of the winning class, of each row of a matrix."""

    def _results(self, matrix: Any, fitted: Fitted) -> dict[str, Any]:
        raw, probability, winner = self._judged(matrix, fitted)
        names = (self.raw_prediction, self.probability, self.prediction)
        return dict(zip(names, (raw, probability, self._winners(probability, winner)), strict=True))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        results = self._results(self._matrix(frame, fitted), fitted)
        *scores, code = [matrices.column(frame, name, values) for name, values in results.items()]
        classes = fitted["classes"]["value"].combine_chunks()
        return self._explained(frame, fitted, frame.with_columns(*scores, frames.decode(code, classes)))

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        score, classes = super().row_function(schema, fitted), fitted["classes"]["value"].to_pylist()
        if score is None:
            return None

        def call(row: dict[str, Any]) -> None:
            score(row)
            row[self.prediction] = classes[row[self.prediction]]

        return call


class NumberModel(TreeModel):
    """A tree model that predicts a number, or several, from a number."""

    def outputs(self) -> tuple[str, ...]:
        return (self.prediction, *self._more)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, {self.prediction: self._predicted(), **self._more})

    def _check_label(self, schema: pa.Schema, label: str) -> None:
        kind = schema.field(label).type
        if not is_numeric(kind):
            raise SchemaError(f"label {label!r} is {kind}, expected a number", column=label, stage=self.title)

    def _predicted(self) -> pa.DataType:
        """Return the type of predictions."""
        return pa.float64()

    def _rules(self) -> list[tuple[str, Rule]]:
        return [*super()._rules(), (self.label, Rule("infinite"))]

    def _results(self, matrix: Any, fitted: Fitted) -> dict[str, Any]:
        return {self.prediction: self._scores(matrix, fitted, kind="value")}

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        results = self._results(self._matrix(frame, fitted), fitted)
        scored = frame.with_columns(*[matrices.column(frame, name, values) for name, values in results.items()])
        return self._explained(frame, fitted, scored)
