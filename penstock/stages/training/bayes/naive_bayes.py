"""Naive Bayes: four models of features that are independent given the class, each learned in one scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.core.selectors import Columns
from penstock.frames import matrices, sparse
from penstock.frames import matrices as arrays
from penstock.stages.base import Fitted, Tags
from penstock.stages.classes import Classes, check_thresholds
from penstock.stages.features import Features
from penstock.stages.parameter_checks import checked_by, in_range, one_of
from penstock.stages.shapes import Anything, Fields, Integer, ListOf, Number, Shape, TableOf, Text, numbers_at_indices
from penstock.stages.target import refuse_overflow
from penstock.stages.trainer import Trainer
from penstock.stages.training._coefficient_memory import refuse_too_many
from penstock.stages.training._vector_features import at_indices, index_table, of_index_table, refuse_empty
from penstock.stages.training.bayes import _bayes
from penstock.statistics.base import Statistic
from penstock.statistics.checks import Checks
from penstock.statistics.class_indices import ClassIndices, SumsByClass
from penstock.statistics.class_moments import ClassMoments, MomentsByClass
from penstock.statistics.rules import refuse, rules_for, valid_rows
from penstock.statistics.vector_faults import refuse_broken

_MOST_CLASSES = 10_000
_COPIES = 5
"""Of the sums of a sparse vector, by class and index: sums, logarithms, what these are made from and checked by."""
_DOMAIN = {"multinomial": "negative", "complement": "negative", "bernoulli": "not_binary"}


@dataclass(frozen=True)
class NaiveBayes(Trainer):
    """The class whose prior times the likelihood of its features is largest, features taken as independent.

    It is learned from sums over the rows of each class: in one scan, of any number of partitions, and yesterday's
    statistics merged with today's are the refit. Labels may be integers, booleans, strings, or floating numbers without
    a fraction; their values are the classes, in ascending order. Columns added by `transform`, named as MLlib names
    them:

    ============== ============================ ============================================
    column         two classes                  more classes
    ============== ============================ ============================================
    rawPrediction  float64: log odds of class 2 list of float64: log score of each class
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
        sparse vector, ``<name>_indices`` and ``<name>_values``, such as :class:`HashingTF` makes; not of the gaussian
        model. What it leaves out is zero.
    weight : str, optional
        Column of row weights, not negative, without null. A row of weight 0 is as if absent.
    smoothing : float, default=1.0
        Added to every count, so that what was not seen is not impossible; 0 or more. The gaussian model has none.
    model_type : {"multinomial", "complement", "bernoulli", "gaussian"}, default="multinomial"
        For counts and other amounts (0 or more); the same, learned from the rows of all other classes, for classes of
        unequal size; for 0 and 1 (or booleans); for any numbers.
    vector_size : int, optional
        How long the sparse vector is, `num_features` of :class:`HashingTF` say: indices that no row has are smoothed
        too. The largest index at fit, and one, unless given. Indices beyond count for nothing when predicting.
    thresholds : sequence of float, optional
        One for each class: predicted is the class whose probability divided by its threshold is largest; see
        :class:`LogisticRegression`.
    prediction, probability, raw_prediction : str
        Names of the columns that are added.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: a column is missing or of the wrong type, the label is among the features, or a sparse vector
        among those of the gaussian model.
    DataValueError
        At fit: a label, weight or feature is null or infinite, a label has a fraction, a weight is negative; there is
        one class, or more than 10,000; smoothing is 0 and a count too; every feature of the gaussian model is constant;
        a vector is null, or has an index of `vector_size` or more. At fit and when predicting: a feature is infinite,
        or not in the domain of the model; rows hold no vectors. Names column, count, first file and row.
    ConfigError
        At fit: there are not as many `thresholds` as classes; of a vector, so many classes times indices would take
        more memory than the process may have.

    Notes
    -----
    Learned are ``classes``, ``pi``, ``theta`` and (gaussian) ``sigma``, as MLlib defines them: the logarithms of the
    priors; those of the probabilities of features (the negative for the complement model; means for the gaussian one);
    and variances, to each of which 1e-9 of the largest variance of a feature over all rows is added. The log score is
    MLlib's ``rawPrediction``, and the log odds are the difference of its two elements.

    Of a sparse vector, learned are ``vector`` (its name), ``size``, ``vector_theta`` (a table of ``index``, those that
    some row has at fit, and a column for each class, ``"0"``, ``"1"`` and so on), and ``other_theta``, that of every
    other index below ``size`` (empty where there is none); ``theta`` has the numbers beside it, if there are any.

    scikit-learn's ``MultinomialNB``, ``BernoulliNB``, ``ComplementNB`` and ``GaussianNB`` are the same, except that
    they smooth no prior (MLlib smooths those of all but the gaussian model, by ``(n + smoothing) / (N + k *
    smoothing)`` for k classes), that the score of ``GaussianNB`` has the constant ``-log(2 * pi) / 2`` for each feature
    (the same for all classes), and that its 1e-9 is of a variance without weights. In MLlib classes of no weight count.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> words = {"goal": [3, 2, 0, 0], "vote": [0, 1, 4, 2], "topic": ["sport", "sport", "politics", "politics"]}
    >>> data = ps.LocalEngine().from_arrow(pa.table(words))
    >>> model = ps.Pipeline(st.NaiveBayes("topic")).fit(data)
    >>> model.transform(data).to_arrow()["prediction"].to_pylist()
    ['sport', 'sport', 'politics', 'politics']
    """

    label: str
    _: KW_ONLY
    thresholds: tuple[float, ...] | None = field(default=None, metadata=checked_by(check_thresholds))
    prediction: str = "prediction"
    probability: str = "probability"
    raw_prediction: str = "rawPrediction"
    features: Columns | None = None
    weight: str | None = None
    smoothing: float = field(default=1.0, metadata=in_range(least=0))
    model_type: str = field(default="multinomial", metadata=one_of(*_bayes.MODEL_TYPES))
    vector_size: int | None = field(default=None, metadata=in_range(least=1, most=2**31, whole=True))

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)
    takes_vectors: ClassVar[bool] = True

    @property
    def target(self) -> Classes:
        return Classes.of(self, most=_MOST_CLASSES, hint="rows of weight 0 do not count.")

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        vector = Features.of(bound.inputs(), schema, self.title).vector
        if vector is not None and self.model_type == "gaussian":
            raise ConfigError(
                f"model_type 'gaussian' of {self.title} is for numbers, and {vector!r} is a sparse vector",
                hint="Take 'multinomial' or 'complement' for counts, 'bernoulli' for 0 and 1.",
                stage=self.title,
            )
        if vector is None and self.vector_size is not None:
            problem = f"vector_size of {self.title} is {self.vector_size}, and no feature is a sparse vector"
            raise ConfigError(problem, hint="Leave it out.", stage=self.title)
        return bound

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the moments of each class, and for how many features are not in the domain of the model."""
        features = Features.of(self.inputs(), schema, self.title)
        vector, numbers, of_vector = features.vector, features.numbers, {}
        if vector is not None:
            of_vector["vector"] = self._vector_model(vector).statistic(self.label, self.weight, _MOST_CLASSES)
        if not numbers:
            return of_vector
        moments = ClassMoments((self.label, *numbers, *self._weights), weighted=bool(self.weight), limit=_MOST_CLASSES)
        test = _DOMAIN.get(self.model_type)
        return {**of_vector, "moments": moments} | ({"outside": Checks(rules_for(numbers, test))} if test else {})

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``classes``, ``pi``, ``theta`` and ``sigma``; the last two as tables with a column a feature."""
        if "outside" in results:
            results["outside"].refuse()
        if "vector" in results:
            return self._with_vector(results["vector"], results.get("moments"))
        moments: MomentsByClass = results["moments"]
        self.target.check_count(moments.classes.to_pylist(), moments.rows.tolist())
        pi, *matrices = _bayes.learn(self.model_type, moments, self.smoothing)
        if self.model_type != "gaussian":
            self._check_learned(moments.classes, matrices[0], lambda place: self.inputs()[place])
        elif not matrices[1].all():
            raise DataValueError(
                f"every feature is constant: {', '.join(self.inputs()[:10])}",
                hint="Check that the features are those that were meant.",
                column=self.inputs()[0],
            )
        tables = [pa.table(dict(zip(self.inputs(), matrix.T, strict=True))) for matrix in matrices]
        classes = pa.table({"value": moments.classes})
        return {"classes": classes, "pi": pi.tolist(), **dict(zip(("theta", "sigma"), tables, strict=False))}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        classes = fitted["classes"].num_rows
        shapes: dict[str, Shape] = {**self.target.shapes(), "pi": ListOf(Number(), classes)}
        vector = fitted.get("vector")
        numbers = Features(self.inputs(), vector).numbers
        plain = TableOf(dict.fromkeys(numbers, pa.types.is_floating), rows=classes)
        names = ("theta", "sigma") if self.model_type == "gaussian" else ("theta",)
        tables = dict.fromkeys(names, plain) if numbers else {}
        if vector is None:
            return Fields({**shapes, **tables})
        of_vector = {"vector": Text((vector,)), "vector_theta": numbers_at_indices(classes), "size": Integer()}
        others = ListOf(Number(), len(fitted["other_theta"]) and classes)
        return Fields({**shapes, **tables, **of_vector, "other_theta": others}, {"theta": Anything()})

    def _with_vector(self, found: SumsByClass, moments: MomentsByClass | None) -> Fitted:
        """Return what is learned of a sparse vector, and of numbers beside it if there are any."""
        self.target.check_count(found.classes.to_pylist(), found.rows.tolist())
        model = self._vector_model(found.name)
        size = model.length(found, self.vector_size)
        refuse_too_many(self.title, len(found.classes), len(model.numbers) + len(found.index), _COPIES)
        numbers = np.empty((len(found.classes), 0)) if moments is None else moments.sums
        learned = model.learned(found, numbers, self.smoothing, size)
        self._check_learned(found.classes, model.theta(learned), lambda place: model.name(place, learned))
        return {"classes": pa.table({"value": found.classes}), **learned}

    def _vector_model(self, vector: str) -> VectorBayes:
        return VectorBayes(self.model_type, Features(self.inputs(), vector).numbers, vector)

    def _check_learned(self, classes: pa.Array, theta: np.ndarray, name: Callable[[int], str]) -> None:
        """Raise DataValueError for probabilities of 0, of which no logarithm can be taken."""
        logs = theta + (_bayes.absent(theta) if self.model_type == "bernoulli" else 0.0)
        bad = np.argwhere(~np.isfinite(logs))
        if len(bad):
            value, feature = classes[bad[0][0]].as_py(), name(bad[0][1])
            raise DataValueError(
                f"column {feature!r} gives class {value!r} a probability of 0, and smoothing is {self.smoothing}",
                hint="Pass a smoothing above 0: what was not seen in training should not be impossible.",
                column=feature if feature in self.inputs() else None,
            )

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Score all classes feature by feature."""
        numbers = Features(self.inputs(), fitted.get("vector")).numbers
        matrix = arrays.to_matrix(frame, numbers, "float64")
        self._check_features(frame, numbers, matrix)
        missing = np.isnan(matrix).any(axis=1)
        if "vector" in fitted:
            scores, lacking = self._vector_model(fitted["vector"]).scores(frame, matrix, fitted)
            missing = missing | lacking
        else:
            scores = self._scores(matrix, fitted, frames.kind_of(frame))
        problem = "have features so far from those of training that their scores overflow float64"
        refuse_overflow(np.isfinite(scores).all(axis=0), missing, problem, self.inputs())
        return self.target.with_columns(frame, self._results(scores), fitted, missing)

    def _check_features(self, frame: nw.DataFrame, names: tuple[str, ...], matrix: Any) -> None:
        refuse(rules_for(names, "infinite"), arrays.count_infinite(matrix))
        test = _DOMAIN.get(self.model_type)
        if test and names:
            checks = rules_for(names, test)
            refuse(checks, valid_rows(frame, checks)[1])

    def _scores(self, matrix: Any, fitted: Fitted, kind: frames.Kind) -> Any:
        theta = self._matrix(fitted["theta"])
        sigma = self._matrix(fitted["sigma"]) if "sigma" in fitted else None
        return _bayes.scores(self.model_type, matrix, np.array(fitted["pi"]), theta, sigma, kind)

    def _matrix(self, table: pa.Table) -> np.ndarray:
        """Return the columns of the features, of shape (n_classes, n_features)."""
        return np.stack([table[name].to_numpy() for name in self.inputs()], axis=1)

    def _results(self, scores: Any) -> dict[str, Any]:
        """Return the columns to write, of scores of shape (n_classes, n_rows)."""
        probability, likeliest = _bayes.probabilities(scores), scores.argmax(axis=0)
        if len(scores) == 2:
            return self.target.results(scores[1] - scores[0], probability[1], likeliest)
        return self.target.results(scores.T.copy(), probability.T.copy(), likeliest)


_VECTOR_DOMAIN = {"multinomial": "negative", "complement": "negative", "bernoulli": "not binary"}


@dataclass(frozen=True)
class VectorBayes:
    """One of the models of amounts, of numbers and a sparse vector.

    Indices that no row has at fit are all alike: each has the same probability in a class, of smoothing alone. They
    are kept as one, which stands for as many as there are.

    Parameters
    ----------
    model_type : {"multinomial", "complement", "bernoulli"}
    numbers : tuple of str
    vector : str
    """

    model_type: str
    numbers: tuple[str, ...]
    vector: str

    def statistic(self, label: str, weight: str | None, limit: int) -> Statistic:
        """Ask for the sums of each class."""
        columns = (label, *sparse.columns(self.vector), *([weight] if weight else []))
        return ClassIndices(columns, _VECTOR_DOMAIN[self.model_type], weighted=weight is not None, limit=limit)

    def length(self, found: SumsByClass, size: int | None) -> int:
        """Return how long the vector is: `size`, or what the largest index tells.

        Raises
        ------
        DataValueError
            An index is `size` or more, or there is neither.
        """
        column, seen = sparse.columns(self.vector)[0], int(found.index[-1]) + 1 if len(found.index) else 0
        if size is not None and seen > size:
            message = f"column {column!r} has index {seen - 1}, expected less than {size}"
            raise DataValueError(message, predicate=nw.col(column).list.max() >= size, column=column)
        refuse_empty(self.vector, size or seen)
        return size or seen

    def learned(self, found: SumsByClass, of_numbers: np.ndarray, smoothing: float, size: int) -> Fitted:
        """Return ``pi`` and the thetas; `of_numbers` are the sums of the numbers, of shape (n_classes, n_numbers)."""
        others = np.zeros((len(found.classes), int(size > len(found.index))))
        counts = np.concatenate([of_numbers, found.sums, others], axis=1)
        pi, theta = _bayes.shares(self.model_type, found.weight, counts, smoothing, len(self.numbers) + size)
        numbers, indices, other = np.split(theta, [len(self.numbers), len(self.numbers) + len(found.index)], axis=1)
        plain = {"theta": pa.table(dict(zip(self.numbers, numbers.T, strict=True)))} if self.numbers else {}
        of_vector = {"vector": self.vector, "size": size, "vector_theta": index_table(found.index, indices)}
        return {"pi": pi.tolist(), **plain, **of_vector, "other_theta": other.ravel().tolist()}

    def theta(self, fitted: Fitted) -> np.ndarray:
        """Return all of them, of shape (n_classes, n_columns): of numbers, of indices, and of the other indices."""
        numbers = [fitted["theta"][name].to_numpy()[:, None] for name in self.numbers]
        others = [np.array(fitted["other_theta"])[:, None]] if fitted["other_theta"] else []
        return np.concatenate([*numbers, of_index_table(fitted["vector_theta"])[1], *others], axis=1)

    def name(self, place: int, fitted: Fitted) -> str:
        """Return what the feature in this column of `theta` is called."""
        if place < len(self.numbers):
            return self.numbers[place]
        index = fitted["vector_theta"]["index"].to_numpy()
        unseen = np.flatnonzero(np.append(index, -1) != np.arange(len(index) + 1))[0]
        return f"{self.vector}[{np.append(index, unseen)[place - len(self.numbers)]}]"

    def scores(self, frame: nw.DataFrame[Any], matrix: Any, fitted: Fitted) -> tuple[Any, Any]:
        """Return the score of each class, of shape (n_classes, n_rows), and a mask of rows without a vector.

        Parameters
        ----------
        matrix : numpy.ndarray or cupy.ndarray of shape (n_rows, n_numbers), float64
        """
        index, _ = of_index_table(fitted["vector_theta"])
        others, theta = fitted["size"] - len(index), self.theta(fitted)
        times = np.append(np.ones(len(self.numbers) + len(index)), [others] * bool(others))
        constant, slopes = _bayes.linear(self.model_type, np.array(fitted["pi"]), theta, times)
        vectors, lacking = at_indices(frame, self.vector, index, fitted["size"] if others else 0)
        refuse_broken(frame, self.vector, (_VECTOR_DOMAIN[self.model_type],))
        numbers, of_vector = np.split(slopes, [len(self.numbers)], axis=1)
        kind = frames.kind_of(frame)
        found = _bayes.products(constant, numbers, matrix, kind)
        added = np.ascontiguousarray((vectors @ np.ascontiguousarray(of_vector.T)).T)
        found += matrices.to_device(added, kind)
        found = _bayes.normalised(found) if self.model_type == "complement" else found
        return found, matrices.to_device(lacking, kind)
