"""Gradient boosted trees for a number: means, quantiles, counts and times to an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.spmd import Rank
from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import in_range, one_of, wrong_parameter
from penstock.stages.training.trees._boosted import Boosted
from penstock.stages.training.trees._objectives import REGRESSION, ObjectiveTarget


@dataclass(frozen=True)
class XGBoostRegressor(Boosted):
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
        For ``reg:quantileerror``: the quantile, between 0 and 1. Of an ascending sequence, ``prediction`` is a list of
        float64 with one for each; each has its own trees, so that they may cross.
    label_upper_bound : str, optional
        For ``survival:aft``: column of the upper end of the interval in which the event lies, of which `label` is the
        lower end. Equal ends are an event that was seen, an infinite upper end is right censored, a lower end of 0 left
        censored.
    aft_loss_distribution : {"normal", "logistic", "extreme"}, optional
        For ``survival:aft``: of the logarithm of the time; normal unless given.
    aft_loss_distribution_scale : float, optional
        For ``survival:aft``: its scale; 1 unless given.
    external_memory : bool
        As of :class:`XGBoostClassifier`.

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
    external_memory: bool = False
    quantile_alpha: float | tuple[float, ...] | None = None
    label_upper_bound: str | None = None
    aft_loss_distribution: str | None = field(default=None, metadata=one_of("normal", "logistic", "extreme"))
    aft_loss_distribution_scale: float | None = field(default=None, metadata=in_range(above=0))

    _CORE: ClassVar[tuple[str, ...]] = (
        *Boosted._CORE, "quantile_alpha", "aft_loss_distribution", "aft_loss_distribution_scale",
    )  # fmt: skip
    _OBJECTIVES: ClassVar[tuple[str, ...]] = REGRESSION
    _BELONGS: ClassVar[Mapping[str, str]] = {
        "quantile_alpha": "reg:quantileerror",
        "label_upper_bound": "survival:aft",
        "aft_loss_distribution": "survival:aft",
        "aft_loss_distribution_scale": "survival:aft",
    }
    _REQUIRED: ClassVar[tuple[str, ...]] = ("quantile_alpha", "label_upper_bound")
    roles: ClassVar[tuple[str, ...]] = ("label", "weight", "label_upper_bound")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, objective in self._BELONGS.items():
            self._check_belongs(name, objective)
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
        if bad or not self._quantiles or sorted(self._quantiles) != [*self._quantiles]:
            raise wrong_parameter(self, "quantile_alpha", "numbers between 0 and 1 in ascending order")

    @property
    def _quantiles(self) -> tuple[float, ...]:
        alpha = self.quantile_alpha
        return alpha if isinstance(alpha, tuple) else () if alpha is None else (alpha,)

    @property
    def target(self) -> ObjectiveTarget:
        predicted = pa.list_(pa.float64()) if isinstance(self.quantile_alpha, tuple) else pa.float64()
        columns = {self.prediction: predicted, **self._more}
        return ObjectiveTarget(self.label, columns, self._objective, self.label_upper_bound)

    def _converter(self, learned: Fitted) -> Any:
        return replace(super()._converter(learned), objective=self._objective, upper=self.label_upper_bound)

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
