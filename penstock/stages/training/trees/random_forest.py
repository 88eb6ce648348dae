"""Random forests: trees grown by XGBoost side by side in one round, each on its own rows and columns."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa

from penstock.stages._onnx_classes import above, class_columns, likeliest
from penstock.stages.base import Fitted
from penstock.stages.class_weights import CLASS_WEIGHT, ClassWeight
from penstock.stages.classes import check_thresholds
from penstock.stages.onnx_graph import OnnxGraph, Tensor
from penstock.stages.parameter_checks import checked_by, in_range, wrong_parameter
from penstock.stages.target import NumberTarget
from penstock.stages.training.trees._tree_model import TreeClasses, TreeModel

_STRATEGIES = ("auto", "all", "sqrt", "log2", "onethird")
_MOST_DEPTH = 30


@dataclass(frozen=True)
class _Forest(TreeModel):
    """What both forests share.

    Parameters
    ----------
    num_trees : int
        Trees; for more than two classes so many for each class.
    max_depth : int
        Splits between the root and a leaf, at most; 1 to 30.
    feature_subset_strategy : str or number
        Of how many features, drawn for each split, the best is taken. As in MLlib: ``"all"``, ``"sqrt"``, ``"log2"``,
        ``"onethird"``, a share (float, above 0 and up to 1), a count (int); ``"auto"`` is all for one tree, otherwise
        the square root for classes and a third for numbers. Rounded up.
    subsampling_rate : float
        Share of the rows that each tree is grown on, above 0 and up to 1.
    min_child_weight : float
        Least sum of the weights of the rows in a leaf; without weights, least number of rows.
    max_bin : int
        Into how many bins the values of a feature are cut, at most.
    """

    _: KW_ONLY
    num_trees: int = field(default=20, metadata=in_range(least=1, whole=True))
    max_depth: int = field(default=5, metadata=in_range(least=1, most=_MOST_DEPTH, whole=True))
    feature_subset_strategy: str | float = "auto"
    subsampling_rate: float = field(default=0.632, metadata=in_range(above=0, most=1))
    min_child_weight: float = field(default=1.0, metadata=in_range(least=0))
    max_bin: int = field(default=256, metadata=in_range(least=2, whole=True))

    _AUTO: ClassVar[str]
    """The strategy that "auto" is, where there are several trees."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_strategy()

    def _check_strategy(self) -> None:
        value = self.feature_subset_strategy
        if value in _STRATEGIES:
            return
        if isinstance(value, bool) or not isinstance(value, int | float) or not self._is_amount(value):
            amount = "a share (float, above 0 and up to 1) or a count (int, 1 or more)"
            expected = f"one of {', '.join(_STRATEGIES)}, {amount}"
            raise wrong_parameter(self, "feature_subset_strategy", expected)

    @staticmethod
    def _is_amount(value: float) -> bool:
        return value >= 1 if isinstance(value, int) else 0 < value <= 1

    @property
    def rounds(self) -> int:
        return 1

    @property
    def _subset(self) -> int:
        """How many features are looked at for a split."""
        features, strategy = len(self.inputs()), self.feature_subset_strategy
        if strategy == "auto":
            strategy = "all" if self.num_trees == 1 else self._AUTO
        named = {"all": features, "sqrt": math.sqrt(features), "log2": math.log2(features), "onethird": features / 3}
        if isinstance(strategy, str):
            wanted = named[strategy]
        else:
            wanted = strategy if isinstance(strategy, int) else strategy * features
        return min(features, max(1, math.ceil(wanted)))

    def _parameters(self, learned: Fitted) -> dict[str, Any]:
        subset, features = self._subset, len(self.inputs())
        # Half a feature more than the subset: XGBoost rounds the share that it is given down to features.
        share = 1.0 if subset == features else (subset + 0.5) / features
        return {
            "objective": "reg:squarederror",
            "tree_method": "hist",
            "num_parallel_tree": self.num_trees,
            "learning_rate": 1.0,
            "reg_lambda": 0.0,
            "max_depth": self.max_depth,
            "max_bin": self.max_bin,
            "min_child_weight": self.min_child_weight,
            "subsample": self.subsampling_rate,
            "colsample_bynode": share,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class RandomForestClassifier(_Forest):
    """A forest of trees that were grown independently; a leaf holds the share of a class among its rows.

    Labels may be integers, booleans, strings, or floating numbers without a fraction; their values are the classes, in
    ascending order. Columns added by `transform`, named as MLlib names them:

    ============== ================================ ==========================================
    column         two classes                      more classes
    ============== ================================ ==========================================
    rawPrediction  float64: mean share of class 2   list of float64: mean share of each class
    probability    float64: the same, 0 to 1        list of float64: the same, of sum 1
    prediction     the class, in the label's type
    ============== ===========================================================================

    For two classes splits are those of Gini impurity and probabilities mean shares, as in MLlib: least squares of 0 and
    1 has the same gain, up to a factor, and the same leaves. It differs from MLlib in this: rows are drawn without
    replacement (of n rows, a bootstrap of MLlib's `subsampling_rate` 1 holds 63.2 % of the distinct ones); a missing
    value goes to the side that suits better instead of being refused; ``rawPrediction`` is the mean over the trees and
    not the sum; more than two classes have trees each, whose shares are made to add up to 1. Which rows and columns a
    tree draws depends on the number of ranks.

    Parameters
    ----------
    label : str
        The column of classes.
    class_weight : {"balanced"}, mapping of class to float, or None, default=None
        What a row of a class weighs, times its own weight; classes that are not named weigh 1. "balanced" gives each of
        k classes the same weight together, ``n / (k * count)`` a row, as in scikit-learn; with a `weight`, n and the
        counts are sums of it.
    thresholds : sequence of float, optional
        One for each class: predicted is the class whose probability divided by its threshold is largest; see
        :class:`LogisticRegression`.
    raw_prediction, probability : str
        Names of the columns of scores.

    Raises
    ------
    DataValueError
        Before training: a label that is null, infinite or fractional, a single class, more than 1,000 classes.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0] * 50, "label": ["no", "yes"] * 50}))
    >>> model = ps.Pipeline(st.RandomForestClassifier("label")).fit(data)
    >>> model.transform(data).head(2)["prediction"].to_list()
    ['no', 'yes']
    """

    _: KW_ONLY
    thresholds: tuple[float, ...] | None = field(default=None, metadata=checked_by(check_thresholds))
    probability: str = "probability"
    raw_prediction: str = "rawPrediction"
    class_weight: ClassWeight = field(default=None, metadata=CLASS_WEIGHT)

    _AUTO: ClassVar[str] = "sqrt"

    @property
    def target(self) -> TreeClasses:
        return TreeClasses.of(self, self._more, others="use RandomForestRegressor")

    def _converter(self, learned: Fitted) -> Any:
        return replace(super()._converter(learned), one_hot=learned["classes"].num_rows > 2)

    def _onnx_columns(self, graph: OnnxGraph, fitted: Fitted) -> dict[str, Tensor]:
        from penstock.stages.training.trees._onnx_trees import scores

        raw = scores(graph, self, fitted["booster"], kind="value")
        two = fitted["classes"].num_rows == 2
        probability = _shares_of(graph, raw) if two else _normalised_of(graph, _shares_of(graph, raw))
        place = above(graph, probability, 0.5) if two else likeliest(graph, probability)
        names = (self.raw_prediction, self.probability, self.prediction)
        return class_columns(graph, names, fitted, raw, probability, place)

    def _results(self, matrix: Any, fitted: Fitted) -> dict[str, Any]:
        raw = self.target.of_rows(self._scores(matrix, fitted, kind="value"), matrix.shape[0], fitted)
        if raw.ndim == 1:
            probability = raw.clip(0.0, 1.0)
            return self.target.results(raw, probability, probability > 0.5)
        probability = _normalised(raw.clip(0.0, 1.0))
        return self.target.results(raw, probability, probability.argmax(axis=1))


@dataclass(frozen=True)
class RandomForestRegressor(_Forest):
    """A forest of trees that were grown independently; adds the float64 column ``prediction``, the mean of their means.

    Splits are those of variance, as in MLlib. It differs from MLlib in this: rows are drawn without replacement (of n
    rows, a bootstrap of MLlib's `subsampling_rate` 1 holds 63.2 % of the distinct ones), and a missing value goes to
    the side that suits better instead of being refused. Which rows and columns a tree draws depends on the number of
    ranks.

    Parameters
    ----------
    label : str
        The column of numbers.

    Raises
    ------
    DataValueError
        Before training: a label that is null or infinite.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0] * 50, "y": [0.0, 10.0] * 50}))
    >>> model = ps.Pipeline(st.RandomForestRegressor("y")).fit(data)
    >>> [round(value, 2) for value in model.transform(data).head(2)["prediction"]]
    [0.0, 10.0]
    """

    _AUTO: ClassVar[str] = "onethird"

    @property
    def target(self) -> NumberTarget:
        return NumberTarget(self.label, {self.prediction: pa.float64(), **self._more})


def _normalised(shares: Any) -> Any:
    """Return the rows of a matrix divided by their sums; a row of zeros says nothing, and gets equal shares."""
    total = shares.sum(axis=1, keepdims=True)
    nothing = (total == 0).astype("float64")
    return (shares + nothing) / (total + nothing * shares.shape[1])


def _shares_of(graph: OnnxGraph, scores: Tensor) -> Tensor:
    """Return scores between 0 and 1 in a graph in ONNX."""
    return graph.add("Min", graph.add("Max", scores, graph.constant(0.0)), graph.constant(1.0))


def _normalised_of(graph: OnnxGraph, shares: Tensor) -> Tensor:
    """Return what `_normalised` does in a graph in ONNX, for as many classes as `shares` has columns."""
    nothing = graph.cast(graph.add("Equal", graph.sum(shares), graph.constant(0.0), dtype="bool"), "float64")
    filled = graph.add("Add", shares, nothing)
    return graph.add("Div", filled, graph.sum(filled))
