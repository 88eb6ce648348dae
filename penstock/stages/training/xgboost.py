"""Gradient boosted trees: XGBoost trained by all ranks at once, scored anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.spmd import Rank
from penstock.stages.base import Fitted, check_choice, check_number, check_types
from penstock.stages.training._boosted import BoostedNumber, Scalable
from penstock.stages.training._objectives import CLASSIFICATION, REGRESSION, LabelFaults
from penstock.stages.training._trees import ClassModel


@dataclass(frozen=True)
class XGBoostClassifier(ClassModel, Scalable):
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
    scale_pos_weight: float | None = None

    _CORE: ClassVar[tuple[str, ...]] = (*Scalable._CORE, "scale_pos_weight")
    _OBJECTIVES: ClassVar[tuple[str, ...]] = CLASSIFICATION

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite."""
        few = cls("label", features=("n1", "n2", "b"), num_boost_round=3, max_depth=2, contributions=True)
        more = cls("class", features=("n1", "n3"), num_boost_round=2, max_depth=2, weight="w", thresholds=(2, 1, 0))
        return few, more

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        learned = {**super().finish(results), **self._indices(results)}
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

    def _converter(self, learned: Fitted) -> Any:
        return replace(super()._converter(learned), index=self._index(learned))

    def _parameters(self, learned: Fitted) -> dict[str, Any]:
        classes = learned["classes"].num_rows
        default = {"objective": "multi:softprob", "num_class": classes} if classes > 2 else {}
        return {"objective": "binary:logistic", **default, **super()._parameters(learned)}

    def _judged(self, matrix: Any, fitted: Fitted) -> tuple[Any, Any, Any]:
        margins = self._of_classes(matrix, fitted, kind="margin")
        winner = margins > 0 if margins.ndim == 1 else margins.argmax(axis=1)
        return margins, _probability(margins), winner


@dataclass(frozen=True)
class XGBoostRegressor(BoostedNumber, Scalable):
    """Boosted trees for a number; adds the float64 column ``prediction``.

    Parameters
    ----------
    objective : str, optional
        One of these; ``reg:squarederror`` unless given.

        ======================== ========================= =========================================
        objective                labels                    prediction
        ======================== ========================= =========================================
        reg:squarederror         any                       mean
        reg:squaredlogerror      > -1                      mean on the scale of log(1 + label), about
        reg:logistic             0 to 1                    mean
        reg:pseudohubererror     any                       mean, outliers count less
        reg:absoluteerror        any                       median
        reg:quantileerror        any                       quantiles `quantile_alpha`
        reg:gamma                > 0                       mean
        reg:tweedie              >= 0                      mean
        count:poisson            >= 0                      mean
        survival:cox             not 0; negative: censored hazard ratio
        survival:aft             lower end >= 0            survival time
        ======================== ========================= =========================================

        With several ranks, leaves of ``reg:absoluteerror`` and ``reg:quantileerror`` are the mean of what each rank
        finds. ``survival:cox`` orders all rows by time and so trains on one rank.
    quantile_alpha : float or sequence of float, optional
        For ``reg:quantileerror``: the quantile, between 0 and 1. Of a sequence, ``prediction`` is a list of float64
        with one for each, in this order; each has its own trees, so that they may cross.
    label_upper_bound : str, optional
        For ``survival:aft``: column of the upper end of the interval in which the event lies, of which `label` is the
        lower end. Equal ends are an event that was seen, an infinite upper end is right censored, a lower end of 0 left
        censored.
    aft_loss_distribution : {"normal", "logistic", "extreme"}, optional
        For ``survival:aft``: of the logarithm of the time; normal unless given.
    aft_loss_distribution_scale : float, optional
        For ``survival:aft``: its scale; 1 unless given.

    Raises
    ------
    DataValueError
        Before training: a label that is null, infinite, or not for the objective.
    ConfigError
        The objective is not known, or lacks a parameter; or more than one rank for ``survival:cox``.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0] * 50, "y": [0.0, 10.0] * 50}))
    >>> model = ps.Pipeline(st.XGBoostRegressor("y", num_boost_round=60)).fit(data)
    >>> [round(value, 2) for value in model.transform(data).head(2)["prediction"]]
    [0.0, 10.0]
    """

    _: KW_ONLY
    quantile_alpha: float | tuple[float, ...] | None = None
    label_upper_bound: str | None = None
    aft_loss_distribution: str | None = None
    aft_loss_distribution_scale: float | None = None

    _CORE: ClassVar[tuple[str, ...]] = (
        *Scalable._CORE, "quantile_alpha", "aft_loss_distribution", "aft_loss_distribution_scale",
    )  # fmt: skip
    _OBJECTIVES: ClassVar[tuple[str, ...]] = REGRESSION
    _BELONGS: ClassVar[Mapping[str, str]] = {
        "quantile_alpha": "reg:quantileerror",
        "label_upper_bound": "survival:aft",
        "aft_loss_distribution": "survival:aft",
        "aft_loss_distribution_scale": "survival:aft",
    }
    _REQUIRED: ClassVar[tuple[str, ...]] = ("quantile_alpha", "label_upper_bound")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, objective in self._BELONGS.items():
            self._check_belongs(name, objective)
        if self.aft_loss_distribution is not None:
            check_choice(self, "aft_loss_distribution", ("normal", "logistic", "extreme"))
        check_number(self, "aft_loss_distribution_scale", above=0)
        self._check_quantiles()

    def _check_belongs(self, name: str, objective: str) -> None:
        given = getattr(self, name) is not None
        if given and self.objective != objective:
            problem = f"{name} of {self.title} is for objective {objective!r}, not {self.objective or 'the default'!r}"
            raise ConfigError(problem, hint=f"Leave it out, or pass objective={objective!r}.", stage=self.title)
        if not given and self.objective == objective and name in self._REQUIRED:
            raise ConfigError(f"objective {objective!r} of {self.title} needs {name}", stage=self.title)

    def _check_quantiles(self) -> None:
        if self.quantile_alpha is None:
            return
        if not isinstance(self.quantile_alpha, int | float):
            object.__setattr__(self, "quantile_alpha", tuple(self.quantile_alpha))
        bad = [each for each in self._quantiles if not (isinstance(each, int | float) and 0 < each < 1)]
        if bad or not self._quantiles:
            problem = f"quantile_alpha of {self.title} is {self.quantile_alpha!r}, expected numbers between 0 and 1"
            raise ConfigError(problem, stage=self.title)

    @property
    def _quantiles(self) -> tuple[float, ...]:
        alpha = self.quantile_alpha
        return alpha if isinstance(alpha, tuple) else () if alpha is None else (alpha,)

    @property
    def _objective(self) -> str:
        return self.objective or "reg:squarederror"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite."""
        return (cls("y", features=("n2", "v_indices", "v_values"), num_boost_round=3, max_depth=2, weight="w"),)

    def _aside(self) -> dict[str, str]:
        upper = {} if self.label_upper_bound is None else {"label_upper_bound": self.label_upper_bound}
        return {**super()._aside(), **upper}

    def _check_label(self, schema: pa.Schema, label: str) -> None:
        super()._check_label(schema, label)
        if self.label_upper_bound is not None:
            check_types(self, schema, (self.label_upper_bound,))

    def _predicted(self) -> pa.DataType:
        return pa.list_(pa.float64()) if isinstance(self.quantile_alpha, tuple) else pa.float64()

    def _faults(self) -> LabelFaults:
        columns = (self.label,) if self.label_upper_bound is None else (self.label, self.label_upper_bound)
        return LabelFaults(columns, self._objective)

    def _converter(self, learned: Fitted) -> Any:
        return replace(super()._converter(learned), upper=self.label_upper_bound)

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        if self._objective == "survival:cox" and rank.size > 1:
            raise ConfigError(
                f"objective 'survival:cox' compares every row with every other, and there are {rank.size} ranks",
                hint="Pass options=SpmdOptions(world_size=1) to fit.",
                stage=self.title,
            )
        return super().train(rank, learned)

    def _results(self, matrix: Any, fitted: Fitted) -> dict[str, Any]:
        values = self._scores(matrix, fitted, kind="value")
        if isinstance(self.quantile_alpha, tuple):
            values = values.reshape(matrix.shape[0], len(self.quantile_alpha))
        return {self.prediction: values}


def _probability(margins: Any) -> Any:
    """Return the logistic function of margins, or the softmax of each row of them."""
    if margins.ndim == 1:
        return 1.0 / (1.0 + np.exp(-margins))
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
