"""Generalised linear regression, trained by all ranks at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.core.selectors import Columns
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, RowFunction, Tags, check_choice, check_types
from penstock.stages.number_columns import with_results
from penstock.stages.onnx_graph import OnnxGraph, not_in_onnx
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.shapes import Anything, Fields, ListOf, Number, Shape, Text
from penstock.stages.target import Target, largest_weight, refuse_overflow
from penstock.stages.training._finite import finite_matrix
from penstock.stages.training.exact.binary_scaling import framing, rounded_mean, scaling_of, unscaling
from penstock.stages.training.exact.design import Scaling, ToRows, linear, one_blas_thread
from penstock.stages.training.exact.gram import GramDesign
from penstock.stages.training.linear._families import FAMILIES, SUPPORTED, Family, Gaussian, tweedie
from penstock.stages.training.linear._glm_summary import Totals, summary
from penstock.stages.training.linear._irls import Course, Likelihood, Point
from penstock.stages.training.linear._least_squares import Penalty
from penstock.stages.training.linear._linear_model import LinearModel
from penstock.stages.training.linear._links import LINKS, Link, Power
from penstock.stages.training.linear._separation import UNBOUNDED, unbounded_note
from penstock.statistics import Checks, Extremes, Moments, Statistic
from penstock.statistics.rules import Rule, rules_for


@dataclass(frozen=True)
class GeneralizedLinearRegression(LinearModel):
    """A linear model of a function of the label's mean, for labels of a family of distributions; adds ``prediction``.

    It is fitted by iteratively reweighted least squares, MLlib's only solver. Families, and their links, the default
    first:

    ========= =================================== =================================
    family    links                               labels
    ========= =================================== =================================
    gaussian  identity, log, inverse              any
    binomial  logit, probit, cloglog              0 to 1; weights count the trials
    poisson   log, identity, sqrt                 0 or more
    gamma     inverse, identity, log              above 0
    tweedie   ``mean ** link_power``, or log      by `variance_power`: 0 any, 1 to 2
              for a `link_power` of 0             0 or more, 2 and more above 0
    ========= =================================== =================================

    Parameters
    ----------
    label : str
        The column to learn: numbers.
    features : str, sequence of str, or Selector, optional
        Columns of numbers or booleans; all but label, weight and offset, unless given. Without null. An empty list fits
        the intercept alone.
    weight : str, optional
        Column of row weights, 0 or more, without null.
    offset : str, optional
        Column that is added to the linear predictor, with the coefficient 1; also needed to predict.
    family : {"gaussian", "binomial", "poisson", "gamma", "tweedie"}
    link : str, optional
        One of the family's; a tweedie family takes `link_power`.
    variance_power : float, default=0.0
        Of the tweedie family: the variance is the mean to this power, 0, or 1 and more.
    link_power : float, optional
        Of the tweedie family; ``1 - variance_power`` unless given.
    reg_param : float, default=0.0
        Strength of the L2 penalty; see the notes.
    fit_intercept : bool, default=True
    max_iter : int, default=25
    tol : float, default=1e-6
        Converged is where a step adds at most ``tol ** 2`` of the deviance to it, in either direction. It has no unit;
        MLlib compares coefficients with its `tol`, in the units that they have.
    prediction : str, default="prediction"
        Name of the float64 column of predicted means: null where a feature or the offset is null.
    link_prediction : str, optional
        Name of a float64 column of linear predictors.

    Raises
    ------
    ConfigError, SchemaError
        Before reading: a link that the family does not have, a column is missing or of the wrong type.
    DataValueError
        Before training: a value is null or infinite, a weight is negative, all are 0, or the family cannot have a
        label; column, count, first file and row are named. Or all labels are 0, or 1, where that is the end of what the
        family can have. In training: there are no coefficients to begin with,
        because the link needs positive predictors, say. When predicting: a feature is infinite.

    Notes
    -----
    As in MLlib, `reg_param` stands for half the square of the coefficients of the features as they are, against the
    mean of the log-likelihood by working weight. For the gaussian family with the identity link it stands for those of
    standardised features and label, as in :class:`LinearRegression`. With the log link of a gamma family it is the
    ``alpha`` of scikit-learn's GammaRegressor. Features that are constant get coefficient 0. Where features explain
    each other, coefficients of least norm are taken, in terms of features that are scaled.

    Predictions are moved to where means can be, as in MLlib: to 1e-16 or more unless the family is gaussian. Where the
    power that undoes the link is no whole number or 2, and the linear predictor is negative, there is no mean, and the
    prediction is null; MLlib takes the square of it for sqrt, and NaN otherwise.

    Learned are ``features``, ``coefficients`` (lists), ``intercept``, ``constant`` (names), ``converged``,
    ``iterations``, ``unbounded_features`` (names, only where coefficients grow without bound, since features separate
    classes or rows of counts 0, as R's ``detect_separation`` finds: such a fit without a penalty has not converged, and
    the fit report says so) and ``summary``, named as MLlib's training summary: ``num_instances`` (rows of a weight
    above 0), ``rank`` (coefficients, without those of constant features), ``degrees_of_freedom``,
    ``residual_degree_of_freedom_null``, ``deviance``, ``null_deviance``, ``dispersion`` (1 for binomial and poisson),
    ``aic`` (None for most tweedie families), and the lists ``coefficient_standard_errors``, ``t_values`` and
    ``p_values``, the intercept's last. They are None where they are undefined. :meth:`table` puts them side by side.
    With weights they are those of R's ``glm`` with ``weights``; a row of weight 2 adds twice to deviances, and one to
    the degrees of freedom.

    Every rank reads its rows once and keeps them in memory, 8 bytes a value. A round is two passes over them, one for
    the sizes of what is added up; so the sums are exact, and the same rows give the same model to the bit, whatever the
    engine, the fragments and the number of ranks. On a GPU a round is one pass, and the model that of a CPU to 1e-9.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"late": [0, 0, 1, 1], "claims": [1, 3, 6, 10]}))
    >>> model = ps.Pipeline(st.GeneralizedLinearRegression("claims", family="poisson")).fit(data)
    >>> [round(value, 6) for value in model.transform(data).to_arrow()["prediction"].to_pylist()]
    [2.0, 2.0, 8.0, 8.0]
    >>> round(model.fitted[0]["summary"]["coefficient_standard_errors"][0], 3)  # sqrt(1 / 4 + 1 / 16)
    0.559
    """

    label: str
    _: KW_ONLY
    features: Columns | None = None
    weight: str | None = None
    offset: str | None = None
    family: str = field(default="gaussian", metadata=one_of(*SUPPORTED, "tweedie"))
    link: str | None = None
    variance_power: float = field(default=0.0, metadata=in_range(least=0))
    link_power: float | None = field(default=None, metadata=in_range())
    reg_param: float = field(default=0.0, metadata=in_range(least=0))
    fit_intercept: bool = True
    max_iter: int = field(default=25, metadata=in_range(least=1, whole=True))
    tol: float = field(default=1e-6, metadata=in_range(above=0))
    prediction: str = "prediction"
    link_prediction: str | None = None

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)
    roles: ClassVar[tuple[str, ...]] = ("label", "weight", "offset")
    needs_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.features == () and not self.fit_intercept:
            raise ConfigError("GeneralizedLinearRegression has neither features nor an intercept", stage=self.title)
        self._check_link()

    def _check_link(self) -> None:
        of_tweedie = {"variance_power": self.variance_power or None, "link_power": self.link_power}
        for name, value in of_tweedie.items() if self.family != "tweedie" else [("link", self.link)]:
            if value is not None:
                hint = "A tweedie family has variance_power and link_power, any other has link."
                raise ConfigError(f"{name} is {value!r}, and family is {self.family!r}", hint=hint, stage=self.title)
        if self.link is not None:
            check_choice(self, "link", SUPPORTED[self.family])
        if 0 < self.variance_power < 1:
            raise ConfigError(
                f"variance_power is {self.variance_power}, expected 0, or 1 or more: between there is no distribution",
                stage=self.title,
            )

    def bind(self, schema: pa.Schema) -> Self:
        if self.offset and self.offset in (self.label, self.weight):
            raise ConfigError(f"offset {self.offset!r} is also the label or the weight", stage=self.title)
        bound = super().bind(schema)
        check_types(self, schema, (self.offset,) if self.offset else ())
        return bound

    def inputs(self) -> tuple[str, ...]:
        return (*super().inputs(), *([self.offset] if self.offset else []))

    @property
    def target(self) -> Target:
        columns = (*([self.link_prediction] if self.link_prediction else []), self.prediction)
        return Target(self.label, dict.fromkeys(columns, pa.float64()))

    def _family(self) -> Family:
        return tweedie(self.variance_power) if self.family == "tweedie" else FAMILIES[self.family]

    def _link(self) -> Link:
        if self.family == "tweedie":
            return Power(1 - self.variance_power if self.link_power is None else self.link_power)
        return LINKS[self.link or SUPPORTED[self.family][0]]

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what is wrong with values, and for means, deviations and ends of the columns."""
        columns, domain = (self.label, *self.inputs()), self._family().domain
        weight = rules_for(self._weights, "null", "infinite", "too_large", "negative")
        checks = Checks((*rules_for(columns, "null"), *weight, *([(self.label, domain)] if domain else [])))
        spread = {"moments": Moments(columns), "extremes": Extremes((*columns, *self._weights))}
        return {"checks": checks, **spread}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return how to centre and scale the columns to train with."""
        results["checks"].refuse(self._refused)
        moments, extremes = results["moments"], results["extremes"]
        self._family().require_variation(self.family, self.label, extremes[self.label])
        return {
            "rows": moments[self.label].count,
            "largest_weight": largest_weight(self.weight, extremes),
            "label_origin": rounded_mean(moments[self.label]),
            **framing(moments, extremes, self.inputs(), self.offset),
        }

    def start_from(self, learned: Fitted, before: Fitted) -> Fitted:
        """Return what to go on with from the coefficients of before."""
        return {**learned, "start": [*before["coefficients"], before["intercept"]]}

    def _refused(self, name: str, rule: Rule, count: int) -> DataValueError:
        if name == self.label and rule == self._family().domain:
            return self._family().outside(self.family, name, count)
        return super()._refused(name, rule, count)

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        names = self.inputs()[: len(self.inputs()) - bool(self.offset)]
        numbers = ListOf(Number(), len(names))
        told = dict.fromkeys(("constant", "converged", "iterations", "summary", UNBOUNDED), Anything())
        features = ListOf(Text(names), len(names))
        return Fields({"features": features, "coefficients": numbers, "intercept": Number()}, told)

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        scaling = scaling_of(learned, intercept=self.fit_intercept)
        convert = ToRows(self.inputs(), self.label, None, self.weight, scaling)
        design = GramDesign(rank, convert, learned["rows"], learned["largest_weight"])
        with one_blas_thread():
            # Of a linear model the offset, the last term, amounts to another label.
            taken = len(self.inputs()) - 1 if self.offset and self._is_linear else None
            totals = Totals.of(design, len(self.inputs()), learned["label_origin"], taken)
            penalties = self._penalties(scaling, totals)
            likelihood = Likelihood.of(design, self._family(), self._link(), scaling, penalties, bool(self.offset))
            null = likelihood.null(totals.mean, self.fit_intercept, self.tol, self.max_iter)
            begun = self._scaled(likelihood, scaling, learned["start"]) if "start" in learned else None
            course = self._iterate(rank, likelihood, null, begun)
            return self._fitted(likelihood, course, scaling, totals, null)

    @property
    def _is_linear(self) -> bool:
        return isinstance(self._family(), Gaussian) and self._link() == LINKS["identity"]

    def _penalties(self, scaling: Scaling, totals: Totals) -> np.ndarray:
        """Return the factors of half the squares of coefficients of features as they were scaled."""
        if not self._is_linear:
            return self.reg_param / scaling.divisor**2
        Penalty(self.reg_param).check(self.label, totals.deviation, fit_intercept=self.fit_intercept)
        return self.reg_param * totals.feature_variances / (totals.deviation or 1.0)

    def _scaled(self, likelihood: Likelihood, scaling: Scaling, start: Sequence[float]) -> np.ndarray:
        """Return coefficients of features as they are, the intercept last, as those of the terms that are sought."""
        count = len(start) - 1
        coefficients, scale = np.array(start[:count]), scaling.scale[:count]
        intercept = start[-1] + float((coefficients * (scale > 0) * scaling.shift[:count]).sum())
        return np.append(coefficients * scale, intercept)[np.minimum(likelihood.used, count)]

    def _iterate(self, rank: Rank, likelihood: Likelihood, null: Point | None, begun: np.ndarray | None) -> Course:
        course = likelihood.resumed(rank)
        if course is None:
            # Where means are impossible on these rows, it begins as if it had learned nothing.
            point = None if begun is None else likelihood.at(begun)
            course = Course(point or self._start(likelihood, null))
        likelihood.iterate(course, self.tol, self.max_iter, lambda course: course.report(rank))
        likelihood.look_beyond(course, null)
        if not course.converged:
            why = "not converged" if course.unbounded is None else "coefficients grow without bound"
            rank.report(course.iterations, f"deviance {course.point.deviance:.8g}, {why}")
        return course

    def _start(self, likelihood: Likelihood, null: Point | None) -> Point:
        start = likelihood.start(null)
        if start is None:
            raise DataValueError(
                f"no coefficients to begin with were found for label {self.label!r}: linear predictors near the labels"
                f" are not such as the {self.family} family with its link can have",
                hint="Take the log link, or fit an intercept.",
                column=self.label,
            )
        return start

    def _fitted(
        self, likelihood: Likelihood, course: Course, scaling: Scaling, totals: Totals, null: Point | None
    ) -> Fitted:
        count = len(self.inputs()) - bool(self.offset)
        raw = unscaling(scaling, count, likelihood.used)
        estimates = raw @ course.point.coefficients
        statistics = summary(
            likelihood, course.point, totals, null, estimates, raw,
            fit_intercept=self.fit_intercept, known_dispersion=self.family in ("binomial", "poisson"),
        )  # fmt: skip
        names = self.inputs()[:count]
        unbounded = None if course.unbounded is None else likelihood.used[course.unbounded]
        return {
            "features": list(names),
            "coefficients": estimates[:count].tolist(),
            "intercept": float(estimates[-1]) if self.fit_intercept else 0.0,
            "constant": [name for name, scale in zip(names, scaling.scale, strict=False) if not scale],
            "converged": course.converged,
            "iterations": course.iterations,
            "summary": statistics,
            **({} if unbounded is None else {UNBOUNDED: [names[place] for place in unbounded if place < count]}),
        }

    def notes(self, fitted: Fitted) -> list[str]:
        return unbounded_note(fitted.get(UNBOUNDED, ())) or super().notes(fitted)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Predict, feature by feature."""
        kind = frames.kind_of(frame)
        if not self.inputs():
            constant = self._outputs_of(np.full(len(frame), fitted["intercept"]))
            return frame.with_columns(*(matrices.column(frame, *each) for each in constant.items()))
        matrix = finite_matrix(frame, self.inputs(), "float64")
        coefficients = np.array([[*fitted["coefficients"], *([1.0] if self.offset else [])]])
        with np.errstate(all="ignore"):
            predictor = linear(matrix.T, matrices.to_device(coefficients, kind))[0] + fitted["intercept"]
        problem = "have features so large that linear predictors overflow float64"
        refuse_overflow(np.isfinite(predictor), np.isnan(matrix).any(axis=1), problem, self.inputs())
        return with_results(frame, self._outputs_of(predictor))

    def _outputs_of(self, predictor: Any) -> dict[str, Any]:
        """Return the outputs by name, on the device of the linear predictors."""
        with np.errstate(all="ignore"):
            mean = self._family().trimmed(self._link().inverse(predictor))
        return dict(zip(self.outputs(), (predictor, mean)[-len(self.outputs()) :], strict=True))

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        terms = [*fitted["coefficients"], *([1.0] if self.offset else [])]
        predictor = self._linear_predictor(graph, fitted, terms)
        mean = self._link().nodes(graph, predictor)
        if mean is None:
            link = self.link or SUPPORTED[self.family][0]
            raise not_in_onnx(self, f"link {link!r}", "Take another link, or export the stages before.")
        graph.assign(dict(zip(self.outputs(), (predictor, mean)[-len(self.outputs()) :], strict=True)))

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Return the prediction of every row where there are no features."""
        if self.inputs():
            return None
        made = {name: float(each[0]) for name, each in self._outputs_of(np.array([fitted["intercept"]])).items()}
        return lambda row: row.update(made)
