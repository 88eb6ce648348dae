"""Any estimator of scikit-learn, or of cuML: fitted on one rank, scored on all partitions."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import SchemaError, UnsupportedStepError
from penstock.core.selectors import Columns, is_numeric
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, Tags, normalise_columns, with_fields
from penstock.stages.classes import MOST_CLASSES, Classes, classes_of
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.shapes import Fields, Integer, ListOf, ModelFile, TableOf, Text, by_column, is_class
from penstock.stages.stored_values import jsonable
from penstock.stages.trainer import Trainer
from penstock.stages.training._finite import finite_matrix
from penstock.stages.training.sklearn._kinds import (
    METHODS,
    Described,
    check_default,
    check_use,
    describe,
    kept,
    to_fit,
    unfitted,
)
from penstock.stages.training.sklearn._rules import rules, value_error
from penstock.statistics import Checks, RowCount, Statistic


@dataclass(frozen=True, eq=False)
class SklearnEstimator(Trainer):
    """A classifier, regressor, clusterer, outlier detector or transformer of scikit-learn or cuML.

    It is fitted on one rank, whatever the world size, on a float64 matrix of all rows, in the order of the dataset; how
    large that is, is said before it is read. It then scores every partition where it lies. Columns that `transform`
    adds, by the method that is called; a row with a null feature has null in all of them, unless the estimator takes
    missing values (`HistGradientBoostingClassifier`, or a pipeline that begins with a `SimpleImputer`):

    =================== ======================================================================
    method              columns
    =================== ======================================================================
    predict_proba       ``probability``, ``prediction``
    decision_function   ``rawPrediction``, ``prediction``
    predict             ``prediction``
    transform           ``output_columns``
    =================== ======================================================================

    ``prediction`` is the class in the label's type; float64 of a regressor, a list of float64 of several labels; int32
    of anything else: the number of a cluster, -1 for an outlier. ``probability`` is float64, of class 2, for two
    classes; a list of float64, of each class, otherwise. ``rawPrediction`` is float64, or a list, as `estimator` has
    one or more for a row.

    Parameters
    ----------
    estimator : estimator
        Unfitted: ``SVC(C=2.0)``, or a `sklearn.pipeline.Pipeline` of such. A copy is kept, and nothing that is passed
        is ever changed. It sees no column names: a `ColumnTransformer` takes positions among `features`.
    label : str or sequence of str, optional
        The column to learn: integers, booleans, strings or whole numbers of a classifier; numbers of a regressor,
        several where it learns several at once. Without null.
    features : str, sequence of str, or Selector, optional
        Numeric columns; all but label and weight, unless given.
    weight : str, optional
        Column of row weights, not negative, without null, for an estimator whose `fit` takes ``sample_weight``; those
        of a pipeline go to its last step.
    method : {"auto", "predict_proba", "decision_function", "predict", "transform"}, default="auto"
        What is called to score. Auto is the first that there is: of a classifier in this order, of others predict, then
        transform; transform of no classifier or regressor.
    memory_limit : int, optional
        The most bytes that the matrix of features, label and weight may take; a quarter of the memory that the process
        may use, unless given.
    prediction, probability, raw_prediction : str
        Names of the columns that are added.
    output_columns : str or sequence of str, default="transformed"
        Of `transform`: a name for each number that it gives, or one for a list of all of them.

    Raises
    ------
    ConfigError
        Before anything is read: the estimator has no such method, takes no weights, needs a label, or the label is
        among the features. Before the matrix is read: it is larger than the limit. Names rows, columns, bytes, limit.
    SchemaError
        Before reading: a column is missing or of the wrong type.
    DataValueError
        Before training: a label, weight or feature is null or infinite, a feature has no value at all, a label of a
        classifier has a fraction, a weight is negative, all are 0, there is one class or more than 1,000. Also when
        predicting: a feature, or what the estimator gives, is infinite. And whatever values the estimator refuses.
    UnsupportedStepError
        When saving: the estimator cannot be stored without running code, see below.
    ArtifactVersionError, UntrustedArtifactError
        When scoring with a loaded model: it was fitted by another minor version of scikit-learn, or is not to be
        trusted.

    Notes
    -----
    Learned are ``estimator`` (a skops file), ``sklearn`` (the version), ``rows``, ``classes``, ``widths`` (how many
    numbers a column has for each row, 0 for one that is no list) and ``warnings``, of convergence say.
    `fitted_estimator` returns the estimator itself, and `sklearn.base.clone` of that one can be fitted again: the stage
    of a loaded model has only a description of its estimator.

    It has no thresholds of its own: take scikit-learn's `FixedThresholdClassifier` around an estimator of two classes.

    Stored are estimators of scikit-learn, alone, in pipelines and in meta-estimators, that fitted are made of types
    that skops, or this library, trusts; no pickle, and no way for a file to name more types. Of a search that is what
    it found best. Trees that are loaded are checked node by node, as skops leaves to its users. An estimator with parts
    of your own, a function say, `Birch`, `BisectingKMeans`, and `KNeighborsClassifier` with a tree
    (``algorithm="brute"`` has none) are fitted and score in this session, but are not saved.

    The same matrix is fitted on every engine; the last digits of sums may depend on the number of threads, and where
    scikit-learn multiplies matrices, those of a row's score on the rows beside it. With ``random_state=None`` each fit
    is another.

    An estimator of cuML is fitted on the GPU of the rank, and kept as its counterpart of scikit-learn, which cuML makes
    of it (``as_sklearn()``); that one scores, on a CPU, so that a model needs neither GPU nor cuML. Among the steps of
    a `Pipeline` it is not converted, and not saved. Prefer cuML where the fit is what takes long, as that of support
    vectors or of a forest on many rows, and a few copies of the matrix have room in the memory of one GPU. Small
    matrices only wait for a GPU; and what does not fit on one rank is for stages that train on all of them, as
    `XGBoostClassifier`, `LogisticRegression` and `KMeans` of this library do, on GPUs too.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> from sklearn.svm import SVC
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0, 4.0, 5.0], "size": ["s", "s", "l", "l"]}))
    >>> model = ps.Pipeline(st.SklearnEstimator(SVC(), label="size")).fit(data)
    >>> model.transform(data).to_arrow()["prediction"].to_pylist()
    ['s', 's', 'l', 'l']
    """

    estimator: Any
    label: str | Sequence[str] | None = None
    _: KW_ONLY
    features: Columns | None = None
    weight: str | None = None
    method: str = field(default="auto", metadata=one_of("auto", *METHODS))
    memory_limit: int | None = field(default=None, metadata=in_range(least=1, whole=True))
    prediction: str = "prediction"
    probability: str = "probability"
    raw_prediction: str = "rawPrediction"
    output_columns: str | Sequence[str] = ("transformed",)

    tags: ClassVar[Tags] = Tags(accepts="numeric", single_rank=True)

    def __post_init__(self) -> None:
        if isinstance(self.estimator, Mapping):
            object.__setattr__(self, "estimator", Described(**self.estimator))
        elif not isinstance(self.estimator, Described):
            object.__setattr__(self, "estimator", unfitted(self.estimator))
            check_default(self._described, self.method, self.title)  # one that was saved stays as it was
        super().__post_init__()
        if self.label is not None and not isinstance(self.label, str):
            normalise_columns(self, "label")
        normalise_columns(self, "output_columns")
        check_use(self._described, self.method, self._labels, weighted=self.weight is not None, stage=self.title)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SklearnEstimator) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self) -> tuple[Any, ...]:
        """Return the parameters, the estimator by what is known of it: it has no equality of its own."""
        names = [field.name for field in dataclasses.fields(self)]
        return tuple(self._described if name == "estimator" else getattr(self, name) for name in names)

    @functools.cached_property
    def _described(self) -> Described:
        return self.estimator if isinstance(self.estimator, Described) else describe(self.estimator)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON values, the estimator by what is known of it.

        Raises
        ------
        UnsupportedStepError
            The estimator, even unfitted, has parts that cannot be stored without running code.
        """
        if not isinstance(self.estimator, Described):
            self._check_storable()
        names = [field.name for field in dataclasses.fields(self)]
        others = zip(names[1:], self._values()[1:], strict=True)
        values = {name: jsonable(self.title, name, value) for name, value in others}
        return {"estimator": self._described.to_json(), **values}

    def _check_storable(self) -> None:
        from penstock.stages.training.sklearn._store import InMemory, store

        stored = store(kept(self.estimator))
        if isinstance(stored, InMemory):
            raise UnsupportedStepError(
                f"{self._described.text:.500} cannot be stored without running code: it is {stored.reason}",
                hint="Use estimators of scikit-learn, without functions or classes of your own.",
                stage=self.title,
            )

    @property
    def rounds(self) -> int:
        return 1

    @property
    def _method(self) -> str:
        """What is called to score."""
        return self._described.default_method if self.method == "auto" else self.method

    @property
    def _labels(self) -> tuple[str, ...]:
        if self.label is None:
            return ()
        return (self.label,) if isinstance(self.label, str) else tuple(self.label)

    def _aside(self) -> dict[str, str]:
        single = len(self._labels) == 1
        labels = {"label" if single else f"label {place}": name for place, name in enumerate(self._labels, 1)}
        return labels | ({"weight": self.weight} if self.weight else {})

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        for name in self._labels:
            self._check_label(schema, name)
        return bound

    def _check_label(self, schema: pa.Schema, label: str) -> None:
        kind = schema.field(label).type
        regressor = self._described.kind == "regressor"
        if not (is_numeric(kind) or (pa.types.is_string(kind) and not regressor)):
            expected = "a number" if regressor else "integers, booleans, strings or whole numbers"
            raise SchemaError(f"label {label!r} is {kind}, expected {expected}", column=label, stage=self.title)

    @property
    def _column_of(self) -> dict[str, str]:
        """What the result of each method is called, of those that give one column."""
        scores = {"predict_proba": self.probability, "decision_function": self.raw_prediction}
        named = {self._method: scores[self._method]} if self._method in scores else {}
        return {**named, "predict": self.prediction}

    def outputs(self) -> tuple[str, ...]:
        return tuple(self.output_columns) if self._method == "transform" else tuple(self._column_of.values())

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        label = schema.field(self._labels[0]).type if {*self._labels} & {*schema.names} else pa.int64()
        predicted = {"classifier": label, "regressor": pa.float64()}.get(self._described.kind, pa.int32())
        of_prediction = {} if self._method == "transform" else {self.prediction: predicted}
        return with_fields(schema, dict.fromkeys(self.outputs(), pa.float64()) | of_prediction)

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        kinds = {name: pa.list_(pa.float64()) if width else pa.float64() for name, width in fitted["widths"].items()}
        if self._described.kind == "classifier":
            kinds[self.prediction] = fitted["classes"]["value"].type
        elif self._described.kind == "other":
            kinds[self.prediction] = pa.int32()
        return with_fields(schema, {name: kinds[name] for name in self.outputs()})

    def _has_classes(self, schema: pa.Schema) -> bool:
        """Return whether the label is one of classes, and not a number."""
        if self._described.kind == "regressor" or not self._labels:
            return False
        return self._described.kind == "classifier" or pa.types.is_string(schema.field(self._labels[0]).type)

    @property
    def _classes(self) -> Classes:
        hint, others = "very many are a regression.", "a regression is"
        return Classes(self._labels[0], {}, None, None, self.title, MOST_CLASSES, hint, others)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what is wrong with values, how many rows there are, and the classes."""
        checks = rules(
            schema,
            labels=self._labels,
            weight=self.weight,
            features=self.inputs(),
            classifies=self._described.kind == "classifier",
        )
        classes = self._classes.statistics() if self._has_classes(schema) else {}
        return {"checks": Checks(tuple(checks)), "rows": RowCount(), **classes}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        learned, allow_nan = {"rows": results["rows"]}, self._described.allow_nan
        refusal = functools.partial(value_error, features=self.inputs(), allow_nan=allow_nan, **learned)
        results["checks"].refuse(refusal)
        return {**learned, **(self._classes.learn(results) if "labels" in results else {})}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Fields:
        shapes = {
            "estimator": ModelFile("skops"),
            "sklearn": Text(),
            "rows": Integer(),
            "warnings": ListOf(Text()),
            "widths": by_column(self.outputs(), Integer()),
        }
        classes = TableOf({"value": is_class}, least=1, unique=("value",))
        if self._described.kind == "classifier":
            return Fields({**shapes, "classes": classes})
        return Fields(shapes, {"classes": classes})

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        from penstock.stages.training.sklearn import _fit as fit
        from penstock.stages.training.sklearn import _store as store

        estimator = to_fit(self.estimator, on_gpu=rank.kind == "gpu")
        classes = classes_of(learned)
        convert = fit.ToRows(self.inputs(), self._labels, classes, self.weight)
        rows = fit.read(rank, convert, learned["rows"], self.memory_limit)
        with fit.values_refused(self._described.text[:200], self.inputs()):
            warned = fit.fit(estimator, rows, self._described.weight_argument, rank.threads)
        stored = store.store(kept(estimator))
        fitted = {"estimator": stored, "sklearn": store.installed(), **learned, "warnings": warned}
        rank.report(1, "; ".join(warned[:3]))
        first = self._scores(rows.x[:1], fitted)
        widths = {name: 0 if values.ndim == 1 else values.shape[1] for name, values in first.items()}
        return {**fitted, "widths": widths}

    def notes(self, fitted: Fitted) -> list[str]:
        """Return the warnings of scikit-learn."""
        return list(fitted["warnings"])

    def fitted_estimator(self, fitted: Fitted) -> Any:
        """Return the fitted scikit-learn estimator; it is shared, so change nothing of it.

        Parameters
        ----------
        fitted : mapping
            What this stage learned: ``model.fitted[place]``.

        Raises
        ------
        ArtifactVersionError, UntrustedArtifactError, ArtifactError
            It was fitted by another minor version of scikit-learn, or its file is not to be trusted or read.
        """
        from penstock.stages.training.sklearn._store import fitted_estimator

        return fitted_estimator(fitted)

    def _scores(self, matrix: np.ndarray, fitted: Fitted) -> dict[str, np.ndarray]:
        """Return the results by column, for rows without a missing value that the estimator does not take."""
        from penstock.stages.training.sklearn._score import named, score

        classes = classes_of(fitted) if self._described.kind == "classifier" else None
        estimator = self.fitted_estimator(fitted)
        made = score(estimator, matrix, self._method, classes, self._described.text[:200], self.inputs())
        if self._method == "transform":
            return named(made["transform"], self.outputs(), self._described.text[:200])
        return {self._column_of[method]: values for method, values in made.items()}

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Score the rows that have all features, or all rows where the estimator takes missing values."""
        matrix = matrices.to_host(finite_matrix(frame, self.inputs(), "float64"))
        present = np.ones(len(matrix), dtype=bool) if self._described.allow_nan else ~np.isnan(matrix).any(axis=1)
        made = self._scores(matrix[present], fitted) if present.any() else self._nothing(fitted)
        return frame.with_columns(*(self._column(frame, *each, present, fitted) for each in made.items()))

    def _nothing(self, fitted: Fitted) -> dict[str, np.ndarray]:
        return {name: np.zeros((0, width) if width else 0) for name, width in fitted["widths"].items()}

    def _column(
        self, frame: nw.DataFrame, name: str, values: np.ndarray, present: np.ndarray, fitted: Fitted
    ) -> nw.Series:
        from penstock.stages.training.sklearn._score import to_classes, to_series

        if self._method == "transform" or name != self.prediction or self._described.kind == "regressor":
            return to_series(frame, name, values, present)
        if self._described.kind == "classifier":
            return to_classes(frame, name, values, present, fitted["classes"]["value"].combine_chunks())
        return to_series(frame, name, values, present).cast(nw.Int32)
