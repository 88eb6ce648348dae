"""Gradient boosted trees for classes: XGBoost trained by all ranks at once, scored anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from penstock.core.errors import ConfigError
from penstock.stages._onnx_classes import above, class_columns, likeliest
from penstock.stages.base import Fitted
from penstock.stages.class_weights import CLASS_WEIGHT, ClassWeight
from penstock.stages.classes import check_thresholds
from penstock.stages.onnx_graph import OnnxGraph, Tensor
from penstock.stages.parameter_checks import checked_by
from penstock.stages.training.trees._boosted import Boosted
from penstock.stages.training.trees._objectives import CLASSIFICATION
from penstock.stages.training.trees._tree_model import TreeClasses


@dataclass(frozen=True)
class XGBoostClassifier(Boosted):
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
    objective : str, optional
        ``binary:logistic`` for two classes, ``multi:softprob`` or, which is the same here, ``multi:softmax`` for more;
        chosen by their number unless given.
    scale_pos_weight : float, optional
        As XGBoost defines it, for two classes.
    class_weight : {"balanced"}, mapping of class to float, or None, default=None
        What a row of a class weighs, times its own weight; classes that are not named weigh 1. "balanced" gives each of
        k classes the same weight together, ``n / (k * count)`` a row, as in scikit-learn; with a `weight`, n and the
        counts are sums of it.
    external_memory : bool
        Keep what is learned from in a temporary folder (of TMPDIR, on the machine of each rank) in place of memory: two
        to three bytes for each feature of each row, about twice as much where values are missing. In memory are then a
        few fragments, of which each rank reads one at a time and XGBoost fetches a few ahead, about 16 bytes a row for
        labels and gradients, and the sample of 200,000 rows that bins are made from. The model is that of training in
        memory; each round reads the folder once for each level of a tree. It is removed whatever happens.
    thresholds : sequence of float, optional
        One for each class: predicted is the class whose probability divided by its threshold is largest; see
        :class:`LogisticRegression`.
    raw_prediction, probability : str
        Names of the columns of scores.

    Raises
    ------
    DataValueError
        Before training: a label that is null, infinite or fractional, a single class, more than 1,000 classes.
    ConfigError
        The objective is not known, or it or another parameter is not for as many classes as there are.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0] * 50, "label": [0, 1] * 50}))
    >>> model = ps.Pipeline(st.XGBoostClassifier("label", num_boost_round=5, contributions=True)).fit(data)
    >>> scored = model.transform(data).head(2)
    >>> scored["prediction"].to_list()
    [0, 1]
    >>> [round(sum(row), 4) for row in scored["contributions"]] == [round(x, 4) for x in scored["rawPrediction"]]
    True
    """

    _: KW_ONLY
    external_memory: bool = False
    thresholds: tuple[float, ...] | None = field(default=None, metadata=checked_by(check_thresholds))
    probability: str = "probability"
    raw_prediction: str = "rawPrediction"
    scale_pos_weight: float | None = None
    class_weight: ClassWeight = field(default=None, metadata=CLASS_WEIGHT)

    _CORE: ClassVar[tuple[str, ...]] = (*Boosted._CORE, "scale_pos_weight")
    _OBJECTIVES: ClassVar[tuple[str, ...]] = CLASSIFICATION

    @property
    def target(self) -> TreeClasses:
        return TreeClasses.of(self, self._more, others="use XGBoostRegressor")

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        learned = super().finish(results)
        classes = learned["classes"].num_rows
        if self.objective is not None and self.objective.startswith("binary:") != (classes == 2):
            raise ConfigError(
                f"objective {self.objective!r} is not for {classes} classes, which label {self.label!r} has",
                hint="Leave it out: the number of classes decides.",
                stage=self.title,
            )
        parameters = self._parameters(learned)
        self._try_out(parameters, (parameters["objective"],))
        return learned

    def _possible_objectives(self) -> Sequence[str]:
        return self._OBJECTIVES if self.objective is None else (self.objective,)

    def _learns(self, learned: Fitted) -> dict[str, Any]:
        classes = learned["classes"].num_rows
        return {"objective": "multi:softprob", "num_class": classes} if classes > 2 else super()._learns(learned)

    def _onnx_columns(self, graph: OnnxGraph, fitted: Fitted) -> dict[str, Tensor]:
        from penstock.stages.training.trees._onnx_trees import scores

        raw = scores(graph, self, fitted["booster"], kind="margin")
        two = fitted["classes"].num_rows == 2
        probability = graph.add("Sigmoid", raw) if two else graph.add("Softmax", raw, axis=1)
        place = above(graph, raw, 0.0) if two else likeliest(graph, raw)
        names = (self.raw_prediction, self.probability, self.prediction)
        return class_columns(graph, names, fitted, raw, probability, place)

    def _results(self, matrix: Any, fitted: Fitted) -> dict[str, Any]:
        scores = self._scores(matrix, fitted, kind="margin")
        margins = self.target.of_rows(scores, matrix.shape[0], fitted)
        winner = margins > 0 if margins.ndim == 1 else margins.argmax(axis=1)
        return self.target.results(margins, _probability(margins), winner)


def _probability(margins: Any) -> Any:
    """Return the logistic function of margins, or the softmax of each row of them."""
    if margins.ndim == 1:
        return 1.0 / (1.0 + np.exp(-margins))
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
