"""Logistic regression, binomial and multinomial, trained by all ranks at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.selectors import Columns
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages._onnx_classes import above, class_columns, likeliest
from penstock.stages.base import Fitted, Tags
from penstock.stages.class_weights import CLASS_WEIGHT, CLASS_WEIGHTS, ClassWeight
from penstock.stages.classes import MOST_CLASSES, Classes, check_thresholds
from penstock.stages.constant_columns import constant_note
from penstock.stages.features import Features
from penstock.stages.onnx_graph import OnnxGraph, not_in_onnx
from penstock.stages.parameter_checks import checked_by, in_range, one_of
from penstock.stages.shapes import Anything, Fields, ListOf, Number, Shape, TableOf, Text, numbers_at_indices
from penstock.stages.target import largest_weight, refuse_overflow
from penstock.stages.trainer import Trainer
from penstock.stages.training._coefficient_memory import refuse_too_many
from penstock.stages.training.exact.design import Scaling, Totals, one_blas_thread
from penstock.stages.training.linear._coefficient_table import coefficient_table
from penstock.stages.training.linear._log_loss import (
    Objective,
    binomial,
    minimise_together,
    multinomial,
    sigmoid,
    softmax,
)
from penstock.stages.training.linear._logistic_inputs import NumberInputs, VectorInputs, scaled_coefficients
from penstock.stages.training.linear._quasi_newton import COURSE, Course, Descent, Inverse, descend, look_beyond
from penstock.stages.training.linear._separation import UNBOUNDED, unbounded_note
from penstock.statistics import Checks, Statistic
from penstock.statistics.rules import rules_for

_SEPARATED = 1e-12
"""A mean log loss not above this: the classes are separable, and coefficients would grow for ever."""
_OF_A_STEP = 10
"""Vectors of the length of all coefficients that a step makes: points, gradients, penalties, the inverse."""


@dataclass(frozen=True)
class LogisticRegression(Trainer):
    """A linear model of the log odds of classes, with L1 and L2 penalties; MLlib's objective, minimised.

    Minimised is ``mean(log loss) + reg_param * (elastic_net_param * L1 + (1 - elastic_net_param) / 2 * L2)``, the mean
    weighted by the rows' weights, L1 and L2 the sums of the sizes and of the squares of the coefficients; intercepts
    are not penalised. Labels may be integers, booleans, strings, or floating numbers without a fraction; their values
    are the classes, in ascending order. Columns added by `transform`, named as MLlib names them:

    ============== ============================ ============================================
    column         two classes                  more classes
    ============== ============================ ============================================
    rawPrediction  float64: log odds of class 2 list of float64: margin of each class
    probability    float64: of class 2          list of float64: of each class
    prediction     the class, in the label's type
    ============== =========================================================================

    A row with a null feature has null in all three.

    Parameters
    ----------
    label : str
        The column of classes, without null.
    features : str, sequence of str, or Selector, optional
        Numeric columns; all but label and weight, unless given. Without null. Among them, or alone, both columns of one
        sparse vector, ``<name>_indices`` and ``<name>_values``, such as :class:`HashingTF` makes: see the notes.
    weight : str, optional
        Column of row weights, not negative, without null, at most 1e150.
    class_weight : {"balanced"}, mapping of class to float, or None, default=None
        What a row of a class weighs, times its own weight; classes that are not named weigh 1. "balanced" gives each of
        k classes the same weight together, ``n / (k * count)`` a row, as in scikit-learn; with a `weight`, n and the
        counts are sums of it.
    family : {"auto", "binomial", "multinomial"}, default="auto"
        One row of coefficients for two classes, or one for each class; auto is binomial for two classes.
    reg_param : float, default=0.0
        Strength of the penalty. ``C`` of scikit-learn is ``1 / (n * reg_param)``, n the number of rows (the sum of the
        weights), on features that were standardised before or with ``standardization=False``.
    elastic_net_param : float, default=0.0
        Share of L1 in it, 0 to 1; scikit-learn's ``l1_ratio``.
    fit_intercept : bool, default=True
    standardization : bool, default=True
        Penalise coefficients of features divided by their standard deviations; learned are those of the features as
        they are, either way. It makes no difference without a penalty. With weights w these deviations are MLlib's,
        ``sqrt(sum(w * (x - mean)**2) / (sum(w) - sum(w**2) / sum(w)))`` for the weighted mean, as those of R's
        ``cov.wt``; R's ``glmnet`` divides by ``sum(w)``, and without weights by n in place of n - 1. So a row of weight
        2 is not quite the row twice, unless there is no penalty or `standardization` is false.
    max_iter : int, default=100
        The largest number of iterations.
    tol : float, default=1e-6
        Converged is where no component of the gradient, in standardised features, is larger than `tol` times the
        objective. MLlib stops at a relative improvement of its `tol`, which may be far from the minimum.
    threshold : float, default=0.5
        Of two classes the second is predicted where its probability is larger.
    thresholds : sequence of float, optional
        One for each class, in ascending order of the classes; 0 or more, and at most one of them 0. Predicted is the
        class whose probability divided by its threshold is largest, of equal ones the first; one with the threshold 0
        wins unless its probability is 0, as in MLlib. Of two classes, ``(1 - t, t)`` is a `threshold` of t.
    prediction, probability, raw_prediction : str
        Names of the columns that are added.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: a column is missing or of the wrong type, or the label is among the features.
    DataValueError
        Before training: a label, weight or feature is null or infinite, a label has a fraction, a weight is negative,
        all weights are 0; there is one class, more than 1,000, or more than two for the binomial family; a vector is
        null, holds nulls, has indices that do not ascend, or none at all. Also when predicting: a feature is infinite,
        or rows hold no vectors.
    ConfigError
        Before training: there are not as many `thresholds` as classes, or coefficients of so many classes and features
        would take more memory than the process may have, about 94 times 8 bytes for each.

    Notes
    -----
    Learned are ``coefficients`` (a table with a column for each feature and a row for each class, or one row for the
    binomial family), ``intercepts``, ``classes``, ``family``, ``converged``, ``iterations``, ``objective_history``
    (at the start and after each iteration) and ``constant_features``, whose coefficients are 0. Multinomial intercepts
    are centred, and without a penalty coefficients too, as in MLlib. A training that has not converged says so in
    ``converged``, in the fit report, and in the last line of its progress: `max_iter` is reached, or there is no
    penalty, and features separate classes, of all rows or of some (complete or quasi-separation). Then coefficients
    grow without bound; ``unbounded_features`` has their names, as R's ``detect_separation`` has. Every rank reads its
    rows once and keeps them in memory, 8 bytes a value. The same rows in the same fragments give the same model to the
    bit, on any engine and any number of ranks; on a GPU, whose sums are not exact, to a few digits less.

    A sparse vector stays sparse: rows are CSR, 12 bytes a value, on the host also where frames are on a GPU. What it
    leaves out is zero, and the model is that of the dense columns: features are divided by their standard deviations,
    and instead of taking off means the intercept makes up for them. There is a coefficient for each index that some row
    has at fit, however long the vector is; those that are not 0 are in ``vector_coefficients``, a table of ``index``
    and a column for each row of coefficients, ``"0"``, ``"1"`` and so on, and those of numbers, if there are any, in
    ``coefficients``. Other indices count for nothing when predicting, and a row without a vector has null. Sums are
    exact, so that fragments do not matter either. A feature of a vector is called ``name[index]``.

    Where the rows fit into the memory of one GPU, and equal bits do not matter, cuML's LogisticRegression, which
    `SklearnEstimator` takes, has the same objective in scikit-learn's terms and never leaves the device.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"hours": [1.0, 2.0, 3.0, 4.0], "passed": ["no", "yes", "no", "yes"]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.LogisticRegression("passed", reg_param=0.1)).fit(data)
    >>> model.fitted[0]["converged"], model.transform(data).to_arrow()["prediction"].to_pylist()
    (True, ['no', 'no', 'yes', 'yes'])
    """

    label: str
    _: KW_ONLY
    thresholds: tuple[float, ...] | None = field(default=None, metadata=checked_by(check_thresholds))
    prediction: str = "prediction"
    probability: str = "probability"
    raw_prediction: str = "rawPrediction"
    features: Columns | None = None
    weight: str | None = None
    family: str = field(default="auto", metadata=one_of("auto", "binomial", "multinomial"))
    reg_param: float = field(default=0.0, metadata=in_range(least=0))
    elastic_net_param: float = field(default=0.0, metadata=in_range(least=0, most=1))
    fit_intercept: bool = True
    standardization: bool = True
    max_iter: int = field(default=100, metadata=in_range(least=1, whole=True))
    tol: float = field(default=1e-6, metadata=in_range(above=0))
    threshold: float = field(default=0.5, metadata=in_range(least=0, most=1))
    class_weight: ClassWeight = field(default=None, metadata=CLASS_WEIGHT)

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)
    takes_vectors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thresholds is not None and self.threshold != 0.5:
            problem = f"threshold of {self.title} is {self.threshold}, and thresholds is {self.thresholds}"
            raise ConfigError(problem, hint="Pass one of them.", stage=self.title)

    @property
    def target(self) -> Classes:
        most = 2 if self.family == "binomial" else MOST_CLASSES
        return Classes.of(self, most=most, hint="the binomial family is for two.")

    def _given(self, vector: str | None) -> NumberInputs | VectorInputs:
        """Return the features, which have columns of this sparse vector among them, or of none."""
        l1 = bool(self.reg_param * self.elastic_net_param)
        numbers = Features(self.inputs(), vector).numbers
        columns = (numbers, self.label, self.weight, self.fit_intercept)
        return NumberInputs(*columns, l1) if vector is None else VectorInputs(*columns, vector, l1)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what is wrong with values, the classes, and what there is to know of the features."""
        inputs = self._given(Features.of(self.inputs(), schema, self.title).vector)
        weight = rules_for(self._weights, "null", "infinite", "too_large", "negative")
        checks = Checks((*rules_for((self.label,), "null"), *weight, *inputs.rules()))
        return {"checks": checks, **self.target.statistics(), **inputs.statistics()}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return the classes, and what to train with."""
        inputs = self._given(results["entries"].name if "entries" in results else None)
        results["checks"].refuse()
        largest = largest_weight(self.weight, results.get("extremes", {}))
        learned = self.target.learn(results)
        return {
            "largest_weight": largest * max(learned.get(CLASS_WEIGHTS, [1.0])),
            **learned,
            "rows": results["labels"][self.label].total,
            **inputs.learned(results),
        }

    def start_from(self, learned: Fitted, before: Fitted) -> Fitted:
        """Return what to minimise with from the coefficients of before; of a vector, at indices that it had then."""
        names, values = self._given(before.get("vector")).named_coefficients(before)
        start = {"features": names, "coefficients": values.tolist(), "intercepts": before["intercepts"]}
        return {**learned, "start": start}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        rows = 1 if fitted["family"] == "binomial" else fitted["classes"].num_rows
        shapes = {
            **self.target.shapes(),
            "family": Text(("binomial", "multinomial")),
            "intercepts": ListOf(Number(), rows),
        }
        numbers = self._given(fitted.get("vector")).numbers
        plain = {"coefficients": TableOf(dict.fromkeys(numbers, pa.types.is_floating), rows=rows)} if numbers else {}
        vector = {"vector": Text(), "vector_coefficients": numbers_at_indices(rows)}
        of_vector = vector if "vector" in fitted else {}
        told = ("constant_features", "converged", "iterations", "objective_history", UNBOUNDED)
        return Fields({**shapes, **plain, **of_vector}, dict.fromkeys(told, Anything()))

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        (fitted,) = self.train_together(rank, [(self, learned)])
        return fitted

    @classmethod
    def train_together(cls, rank: Rank, trainings: Sequence[tuple[Self, Fitted]]) -> list[Fitted]:
        with one_blas_thread():
            problems = [stage._problem(rank, learned) for stage, learned in trainings]
            courses = minimise_together([(objective, descent) for _, objective, descent in problems])
        return [
            stage._learned(rank, learned, scaling, objective, course)
            for (stage, learned), (scaling, objective, _), course in zip(trainings, problems, courses, strict=True)
        ]

    def _problem(self, rank: Rank, learned: Fitted) -> tuple[Scaling, Objective, Descent[Course]]:
        """Return the scales of features, what is to be minimised, and the course; every rank calls it."""
        classes = tuple(learned["classes"]["value"].to_pylist())
        single = self.family == "binomial" or (self.family == "auto" and len(classes) == 2)
        inputs = self._given(learned.get("vector"))
        features = len(inputs.numbers) + (len(learned["indices"]) if "indices" in learned else 0)
        self._check_memory(rank, 1 if single else len(classes), features)
        design: Any = inputs.read(rank, learned, classes)
        scaling, totals = inputs.standardise(design, learned, len(classes))
        factors = np.tile(self._factors(scaling, totals), (1 if single else len(classes), 1))
        l2 = self.reg_param * (1 - self.elastic_net_param) * factors**2
        objective = Objective(design, totals.weight, binomial if single else multinomial, l2.ravel())
        inverse = inputs.inverse(learned, scaling, self._probabilities(totals), l2)
        null = start = self._start(totals, *factors.shape)
        if "start" in learned:
            named = inputs.named(learned, np.ones(len(scaling.mean), dtype=bool))
            start = scaled_coefficients(learned["start"], named, scaling)
        return scaling, objective, self._descent(rank, start, factors, inverse, null)

    def _learned(self, rank: Rank, learned: Fitted, scaling: Scaling, objective: Objective, course: Course) -> Fitted:
        """Return what is learned where a course has ended."""
        course.report_end(rank, "not converged" if course.unbounded is None else "coefficients grow without bound")
        single = objective.loss is binomial
        found = course.x.reshape(1 if single else learned["classes"].num_rows, -1)
        coefficients, intercepts = self._unscaled(found, scaling, centre=not single)
        inputs = self._given(learned.get("vector"))
        moves = np.zeros(len(course.x)) if course.unbounded is None else course.unbounded
        unbounded = moves.reshape(found.shape)[:, : len(scaling.mean)].max(axis=0) > 0
        return {
            "classes": learned["classes"],
            "family": "binomial" if single else "multinomial",
            **inputs.stored(coefficients, learned),
            "intercepts": intercepts.tolist(),
            "constant_features": inputs.named(learned, scaling.scale == 0),
            "converged": course.converged,
            "iterations": course.iterations,
            "objective_history": course.history,
            **({} if course.unbounded is None else {UNBOUNDED: inputs.named(learned, unbounded)}),
        }

    def notes(self, fitted: Fitted) -> list[str]:
        unbounded = unbounded_note(fitted.get(UNBOUNDED, ()))
        return [*constant_note(fitted["constant_features"], "of coefficient 0"), *(unbounded or super().notes(fitted))]

    def _check_memory(self, rank: Rank, outputs: int, features: int) -> None:
        """Raise ConfigError where the minimisation would not fit into memory.

        A course is held, with it three copies while it becomes a checkpoint or else two sums for each thread, and what
        a step makes.
        """
        copies = COURSE + max(3 * COURSE, 2 * (rank.threads + 1)) + _OF_A_STEP
        refuse_too_many(self.title, outputs, features + self.fit_intercept, copies)

    def _factors(self, scaling: Scaling, totals: Totals) -> np.ndarray:
        """Return by what to multiply the coefficients of standardised features to get those that are penalised."""
        factors = totals.deviations if self.standardization else 1.0 / scaling.divisor
        return np.append(factors, [0.0] * self.fit_intercept)

    def _probabilities(self, totals: Totals) -> np.ndarray:
        """Return those of the classes at the start."""
        classes = len(totals.of_classes)
        return _shares(totals) if self.fit_intercept else np.full(classes, 1.0 / classes)

    def _descent(
        self, rank: Rank, start: np.ndarray, factors: np.ndarray, inverse: Inverse | None, null: np.ndarray
    ) -> Descent[Course]:
        course = yield from descend(
            Course.of(rank, start),
            l1=self.reg_param * self.elastic_net_param * factors.ravel(),
            tol=self.tol,
            max_iter=self.max_iter,
            floor=_SEPARATED,
            inverse=inverse,
            after=lambda course: course.report(rank),
        )
        if not self.reg_param:
            yield from look_beyond(course, inverse, null)
        return course

    def _start(self, totals: Totals, outputs: int, width: int) -> np.ndarray:
        """Return no coefficients, and the intercepts of a model without features."""
        start = np.zeros((outputs, width))
        if self.fit_intercept:
            logs = np.log(_shares(totals))
            start[:, -1] = logs[1] - logs[0] if outputs == 1 else logs - logs.mean()
        return start.ravel()

    def _unscaled(self, found: np.ndarray, scaling: Scaling, *, centre: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts for features as they are."""
        width = len(scaling.mean)
        coefficients = found[:, :width] / scaling.divisor
        intercepts = found[:, width] if self.fit_intercept else np.zeros(len(found))
        intercepts = intercepts - (coefficients * scaling.shift).sum(axis=1)
        if centre and self.fit_intercept:
            intercepts = intercepts - intercepts.mean()
        if centre and not self.reg_param:
            coefficients = coefficients - coefficients.mean(axis=0)
        return coefficients, intercepts

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        if "vector" in fitted or self.thresholds is not None:
            what = "a sparse vector among its features" if "vector" in fitted else "thresholds"
            raise not_in_onnx(self, what, "Export probabilities of a model without.")
        _, coefficients = self._given(None).named_coefficients(fitted)
        intercepts, two = np.array(fitted["intercepts"]), fitted["classes"].num_rows == 2
        if two and len(intercepts) == 2:
            coefficients, intercepts = coefficients[1:] - coefficients[:1], intercepts[1:] - intercepts[:1]
        products = graph.add("MatMul", graph.numbers(self.inputs()), graph.constant(coefficients.T))
        raw = graph.add("Add", products, graph.constant(intercepts))
        probability = graph.add("Sigmoid", raw) if two else graph.add("Softmax", raw, axis=1)
        place = above(graph, probability, self.threshold) if two else likeliest(graph, raw)
        names = (self.raw_prediction, self.probability, self.prediction)
        graph.assign(class_columns(graph, names, fitted, raw, probability, place))

    def coefficients(self, fitted: Fitted) -> pa.Table:
        """Return a row per feature and one for the intercept, of each class; see `coefficient_table`.

        Of two classes there is one margin, that of the second against the first, unless the family is multinomial.
        """
        names, values = self._given(fitted.get("vector")).named_coefficients(fitted)
        classes = fitted["classes"]["value"].to_pylist()
        tables = [
            coefficient_table(
                list(zip(names, row.tolist(), strict=True)), intercept if self.fit_intercept else None, of_class=value
            )
            for row, intercept, value in zip(values, fitted["intercepts"], classes[-len(values) :], strict=True)
        ]
        return pa.concat_tables(tables)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Score all classes, feature by feature."""
        margins, missing = self._given(fitted.get("vector")).margins(frame, fitted)
        margins += matrices.to_device(np.array(fitted["intercepts"])[:, None], frames.kind_of(frame))
        problem = "have features so large that their margins overflow float64"
        refuse_overflow(np.isfinite(margins).all(axis=0), missing, problem, self.inputs())
        if fitted["classes"].num_rows == 2:
            raw = margins[0] if len(margins) == 1 else margins[1] - margins[0]
            probability = sigmoid(raw)
            likeliest = probability > self.threshold
        else:
            raw, probability = margins.T.copy(), softmax(margins).T.copy()
            likeliest = margins.argmax(axis=0)
        return self.target.with_columns(frame, self.target.results(raw, probability, likeliest), fitted, missing)


def _shares(totals: Totals) -> np.ndarray:
    """Return the share of each class in the weight; not 0, whose logarithm has no end, for a class without weight."""
    return np.maximum(totals.of_classes / totals.weight, 1e-9)
