"""Gradient boosted trees: XGBoost trained by all ranks at once, scored anywhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import arrays, frames
from penstock.errors import ConfigError, SchemaError
from penstock.selectors import Columns, is_numeric
from penstock.spmd import Rank
from penstock.stages.base import Fitted, Tags, Trainer, check_number, normalise_columns, with_fields
from penstock.stages.training._learner import Classifier, Learner
from penstock.statistics.base import Statistic
from penstock.statistics.rules import Checks, Rule
from penstock.statistics.value_counts import Frequencies, ValueCounts
from penstock.statistics.violations import Violations

_MOST_CLASSES = 1000
_ALIASES = {
    "eta": "learning_rate", "min_split_loss": "gamma", "alpha": "reg_alpha", "lambda": "reg_lambda",
    "random_state": "seed",
}  # fmt: skip
_DECIDED = ("device", "nthread", "n_jobs", "num_class")


@dataclass(frozen=True)
class _XGBoost(Learner, Trainer):
    """What classifier and regressor share.

    Parameters
    ----------
    label : str
        The column to learn; no null, NaN or infinity.
    features : str, sequence of str, or Selector, optional
        Numeric columns; all but label and weight, unless given. Null is missing; an infinity is an error.
    weight : str, optional
        Column of row weights, not negative, without null.
    num_boost_round : int
        Rounds of boosting, at most.
    early_stopping_rounds : int, optional
        Stop after so many rounds without a better metric on the validation data given to `fit`; the best is kept.
    learning_rate, max_depth, min_child_weight, gamma, subsample, colsample_bytree, reg_alpha, reg_lambda, max_bin, \
    objective, eval_metric : optional
        As XGBoost defines them; XGBoost decides where they are None.
    seed : int
        For sampling of rows and columns.
    params : mapping, optional
        Any other parameter of XGBoost by its own name; a name it does not know is an error.
    prediction : str
        Name of the column of predictions.
    """

    label: str
    _: KW_ONLY
    features: Columns | None = None
    weight: str | None = None
    num_boost_round: int = 100
    early_stopping_rounds: int | None = None
    learning_rate: float | None = None
    max_depth: int | None = None
    min_child_weight: float | None = None
    gamma: float | None = None
    subsample: float | None = None
    colsample_bytree: float | None = None
    reg_alpha: float | None = None
    reg_lambda: float | None = None
    max_bin: int | None = None
    objective: str | None = None
    eval_metric: str | None = None
    seed: int = 0
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    prediction: str = "prediction"

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    _CORE: ClassVar[tuple[str, ...]] = (
        "learning_rate", "max_depth", "min_child_weight", "gamma", "subsample", "colsample_bytree", "reg_alpha",
        "reg_lambda", "max_bin", "objective", "eval_metric",
    )  # fmt: skip

    def __post_init__(self) -> None:
        normalise_columns(self, "features")
        check_number(self, "num_boost_round", least=1, whole=True)
        check_number(self, "early_stopping_rounds", least=1, whole=True)
        check_number(self, "learning_rate", above=0)
        check_number(self, "max_depth", least=0, whole=True)
        for share in ("subsample", "colsample_bytree"):
            check_number(self, share, above=0, most=1)
        if self.params:
            self._check_params()

    def _check_params(self) -> None:
        from penstock.stages.training._boosting import check_parameters

        own = {name: name for name in (field.name for field in dataclasses.fields(self))} | _ALIASES
        for name in self.params:
            if name in own:
                problem = f"{name!r} in params is the parameter {own[name]!r} of {self.title} itself"
                raise ConfigError(problem, hint=f"Pass {own[name]}=... instead.", stage=self.title)
            if name in _DECIDED:
                problem = f"{name!r} in params is decided by the engine and the data"
                raise ConfigError(problem, hint="Leave it out.", stage=self.title)
        check_parameters(self.title, self.params)

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        for name in bound.inputs():
            if set(name) & set("[]<"):
                problem = f"feature {name!r} has one of the characters [ ] <, which XGBoost does not take in a name"
                raise ConfigError(problem, hint="Rename the column.", column=name, stage=self.title)
        return bound

    @property
    def rounds(self) -> int:
        return self.num_boost_round

    def _checks(self) -> Checks:
        """Return what is checked over all rows before training."""
        from penstock.stages.training._matrix import training_checks

        weight = [] if self.weight is None else [(self.weight, Rule("infinite"))]
        return [*training_checks(self.label, self.weight), *weight]

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        return {f"{rule.test} {name}": Violations((name,), rule.test) for name, rule in self._checks()}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        for name, rule in self._checks():
            if count := results[f"{rule.test} {name}"][name].count:
                raise rule.error(name, count)
        return {}

    def _booster_parameters(self, learned: Fitted) -> dict[str, Any]:
        core = {name: getattr(self, name) for name in self._CORE}
        given = {name: value for name, value in core.items() if value is not None}
        return {"tree_method": "hist", "seed": self.seed, "seed_per_iteration": True, **given, **self.params}

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        from penstock.stages.training._boosting import boost
        from penstock.stages.training._matrix import ToBatch

        classes = tuple(learned["classes"]["value"].to_pylist()) if "classes" in learned else None
        trained = boost(
            rank,
            ToBatch(self.inputs(), self.label, classes, self.weight),
            self._booster_parameters(learned),
            num_boost_round=self.num_boost_round,
            early_stopping_rounds=self.early_stopping_rounds,
        )
        return {**learned, **trained}

    def _margins(self, frame: nw.DataFrame, fitted: Fitted, *, kind: str) -> Any:
        from penstock.stages.training._boosting import device_name, load_booster
        from penstock.stages.training._matrix import finite_matrix

        matrix = finite_matrix(frame, self.inputs())
        if not len(frame):
            return matrix.ravel()  # XGBoost cannot tell the device of an array without rows
        booster = load_booster(fitted["booster"], device_name("gpu" if frames.is_gpu(frame) else "cpu"))
        return booster.inplace_predict(matrix, predict_type=kind, validate_features=False)

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
class XGBoostClassifier(Classifier, _XGBoost):
    """Boosted trees for two classes or more.

    Labels may be integers, booleans, strings, or floating numbers without a fraction; their values are the classes, in
    ascending order. Columns added by `transform`, named as MLlib names them:

    ============== =================== ==========================================
    column         two classes         more classes
    ============== =================== ==========================================
    rawPrediction  float64: margin     list of float64: margin of each class
    probability    float64: of class 2 list of float64: of each class
    prediction     the class, in the label's type
    ============== ==============================================================

    Parameters
    ----------
    raw_prediction, probability : str
        Names of those columns.
    scale_pos_weight : float, optional
        As XGBoost defines it, for two classes.

    Raises
    ------
    DataValueError
        Before training: a label that is null, infinite or fractional, a single class, more than 1,000 classes.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0] * 50, "label": [0, 1] * 50}))
    >>> model = ps.Pipeline(st.XGBoostClassifier("label", num_boost_round=5)).fit(data)
    >>> model.transform(data).head(2)["prediction"].to_list()
    [0, 1]
    """

    _: KW_ONLY
    raw_prediction: str = "rawPrediction"
    probability: str = "probability"
    scale_pos_weight: float | None = None

    _CORE: ClassVar[tuple[str, ...]] = (*_XGBoost._CORE, "scale_pos_weight")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite."""
        few = cls("label", features=("n1", "n2", "b"), num_boost_round=3, max_depth=2)
        return few, cls("class", features=("n1", "n3"), num_boost_round=2, max_depth=2, weight="w")

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        return {**super().statistics(schema), "labels": ValueCounts((self.label,))}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        super().finish(results)
        counted = results["labels"][self.label]
        self._check_classes(counted)
        return {"classes": counted.table.select(["value"]).sort_by("value").combine_chunks()}

    def _check_classes(self, counted: Frequencies) -> None:
        counts = dict(zip(*(counted.table[name].to_pylist() for name in ("value", "count")), strict=True))
        odd = [value for value in counts if isinstance(value, float) and not value.is_integer()]
        if odd:
            from penstock.stages.training._matrix import bad_values

            raise bad_values(
                self.label, sum(counts[value] for value in odd), f"not a class: {', '.join(map(repr, odd[:5]))}",
                nw.col(self.label).is_in(odd), "Classes are whole numbers; use XGBoostRegressor for others.",
            )  # fmt: skip
        self._check_count(list(counts), list(counts.values()), _MOST_CLASSES, "very many are a regression.")

    def _booster_parameters(self, learned: Fitted) -> dict[str, Any]:
        classes = learned["classes"].num_rows
        default = {"objective": "multi:softprob", "num_class": classes} if classes > 2 else {}
        return {"objective": "binary:logistic", **default, **super()._booster_parameters(learned)}

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        classes = fitted["classes"].num_rows
        margins = self._margins(frame, fitted, kind="margin").astype("float64")
        if classes > 2:
            margins = margins.reshape(len(frame), classes)
        probability = _probability(margins)
        winner = (margins > 0).astype("int32") if margins.ndim == 1 else margins.argmax(axis=1).astype("int32")
        code = arrays.column(frame, self.prediction, winner)
        return frame.with_columns(
            arrays.column(frame, self.raw_prediction, margins),
            arrays.column(frame, self.probability, probability),
            frames.decode(code, fitted["classes"]["value"].combine_chunks()),
        )


@dataclass(frozen=True)
class XGBoostRegressor(_XGBoost):
    """Boosted trees for a number; adds the float64 column ``prediction``.

    Raises
    ------
    DataValueError
        Before training: a label that is null or infinite.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0] * 50, "y": [0.0, 10.0] * 50}))
    >>> model = ps.Pipeline(st.XGBoostRegressor("y", num_boost_round=60)).fit(data)
    >>> [round(value, 2) for value in model.transform(data).head(2)["prediction"]]
    [0.0, 10.0]
    """

    def _check_label(self, schema: pa.Schema, label: str) -> None:
        kind = schema.field(label).type
        if not is_numeric(kind):
            raise SchemaError(f"label {label!r} is {kind}, expected a number", column=label, stage=self.title)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite."""
        return (cls("y", features=("n1", "n2"), num_boost_round=3, max_depth=2, weight="w"),)

    def outputs(self) -> tuple[str, ...]:
        return (self.prediction,)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, {self.prediction: pa.float64()})

    def _checks(self) -> Checks:
        return [*super()._checks(), (self.label, Rule("infinite"))]

    def _booster_parameters(self, learned: Fitted) -> dict[str, Any]:
        return {"objective": "reg:squarederror", **super()._booster_parameters(learned)}

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        values = self._margins(frame, fitted, kind="value").astype("float64")
        return frame.with_columns(arrays.column(frame, self.prediction, values))


def _probability(margins: Any) -> Any:
    """Return the logistic function of margins, or the softmax of each row of them."""
    if margins.ndim == 1:
        return 1.0 / (1.0 + np.exp(-margins))
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
