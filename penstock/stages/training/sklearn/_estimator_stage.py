"""A stage around an estimator: what it asks of the data, how it is fitted on one rank, and the columns that it adds."""

from __future__ import annotations

import dataclasses
import functools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import SchemaError
from penstock.core.selectors import Columns, is_numeric
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, Tags, normalise_columns, with_fields
from penstock.stages.classes import MOST_CLASSES, Classes, classes_of
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.shapes import Fields, Integer, ListOf, ModelFile, Shape, TableOf, Text, by_column, is_class
from penstock.stages.stored_values import jsonable
from penstock.stages.trainer import Trainer
from penstock.stages.training._finite import finite_matrix
from penstock.stages.training.sklearn import _fit as fit
from penstock.stages.training.sklearn import _store
from penstock.stages.training.sklearn._kinds import METHODS, Described, check_default, check_use
from penstock.stages.training.sklearn._score import named, score, to_classes, to_series
from penstock.statistics import Checks, RowCount, Statistic


@dataclass(frozen=True, eq=False)
class EstimatorStage(Trainer):
    """Fits an estimator with the interface of scikit-learn on all rows, and scores rows by the methods that it has."""

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

    tags: ClassVar[Tags] = Tags(accepts="numeric", single_rank=True, vectors=True)

    describes: ClassVar[type[Described]] = Described
    """What is known of an estimator, and saved."""

    def __post_init__(self) -> None:
        if isinstance(self.estimator, Mapping):
            object.__setattr__(self, "estimator", self.describes(**self.estimator))
        elif not isinstance(self.estimator, Described):
            object.__setattr__(self, "estimator", self._unfitted())
            check_default(self._described, self.method, self.title)  # one that was saved stays as it was
        super().__post_init__()
        if self.label is not None and not isinstance(self.label, str):
            normalise_columns(self, "label")
        normalise_columns(self, "output_columns")
        check_use(self._described, self.method, self._labels, weighted=self.weight is not None, stage=self.title)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self) -> tuple[Any, ...]:
        """Return the parameters, the estimator by what is known of it: it has no equality of its own."""
        names = [field.name for field in dataclasses.fields(self)]
        return tuple(self._described if name == "estimator" else getattr(self, name) for name in names)

    @functools.cached_property
    def _described(self) -> Described:
        return self.estimator if isinstance(self.estimator, Described) else self._describe()

    @abstractmethod
    def _unfitted(self) -> Any:
        """Return a copy of the estimator that was passed, without what it has learned; ConfigError if it is none."""

    @abstractmethod
    def _describe(self) -> Described:
        """Return what the estimator can do."""

    def _check_storable(self) -> None:
        """Raise UnsupportedStepError where the estimator, even unfitted, cannot be stored without running code."""

    @abstractmethod
    def _to_fit(self, rank: Rank) -> Any:
        """Return a copy of the estimator, to be fitted on `rank`; ConfigError where it cannot be."""

    def _try_out(self, estimator: Any, rows: fit.Rows, threads: int) -> None:
        """Raise UnsupportedStepError for an estimator that could not be kept once it is fitted on all rows."""

    def _reader(self, learned: Fitted) -> fit.ToRows:
        """Return what makes rows of frames for the estimator."""
        return fit.ToRows(self.inputs(), self._labels, classes_of(learned), self.weight)

    def _learn(self, estimator: Any, learned: Fitted) -> Fitted:
        """Return what is kept of a fitted estimator, and of what was learned before."""
        return {"estimator": _store.store(estimator, self.title), "sklearn": _store.installed(), **learned}

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON values, the estimator by what is known of it.

        Raises
        ------
        UnsupportedStepError
            The estimator, even unfitted, has parts that cannot be stored without running code.
        """
        if not isinstance(self.estimator, Described):
            self._check_storable()
        others = [field.name for field in dataclasses.fields(self)[1:]]
        values = {name: jsonable(self.title, name, getattr(self, name)) for name in others}
        return {"estimator": self._described.to_json(), **values}

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
        checks = fit.rules(
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
        refusal = functools.partial(fit.value_error, features=self.inputs(), allow_nan=allow_nan, **learned)
        results["checks"].refuse(refusal)
        return {**learned, **(self._classes.learn(results) if "labels" in results else {})}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        shapes: dict[str, Shape] = {
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
        estimator = self._to_fit(rank)
        rows = fit.read(rank, self._reader(learned), learned["rows"], self.memory_limit)
        self._try_out(estimator, rows, rank.threads)
        with fit.values_refused(self._described.text[:200], self.inputs()):
            warned = fit.fit(estimator, rows, self._described.weight_argument, rank.threads)
            fitted = {**self._learn(estimator, learned), "warnings": warned}
        rank.report(1, "; ".join(warned[:3]))
        return {**fitted, "widths": self._widths(matrices.to_host(rows.x[:1]), fitted)}

    def _widths(self, row: np.ndarray, fitted: Fitted) -> dict[str, int]:
        """Return how many numbers each column has for a row, 0 for one that is no list."""
        made = self._scores(row, fitted)
        return {name: 0 if values.ndim == 1 else values.shape[1] for name, values in made.items()}

    def notes(self, fitted: Fitted) -> list[str]:
        """Return the warnings of the fit."""
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
        return _store.fitted_estimator(fitted)

    def _scores(self, matrix: np.ndarray, fitted: Fitted) -> dict[str, np.ndarray]:
        """Return the results by column, for rows without a missing value that the estimator does not take."""
        classes = self._predicted(fitted) if self._described.kind == "classifier" else None
        estimator = self.fitted_estimator(fitted)
        made = score(estimator, matrix, self._method, classes, self._described.text[:200], self.inputs())
        if self._method == "transform":
            return named(made["transform"], self.outputs(), self._described.text[:200])
        return {self._column_of[method]: values for method, values in made.items()}

    def _predicted(self, fitted: Fitted) -> tuple[Any, ...] | None:
        """Return what the fitted estimator predicts for each class."""
        return classes_of(fitted)

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
        if self._method == "transform" or name != self.prediction or self._described.kind == "regressor":
            return to_series(frame, name, values, present)
        if self._described.kind == "classifier":
            return to_classes(frame, name, values, present, fitted["classes"]["value"].combine_chunks())
        return to_series(frame, name, values, present).cast(nw.Int32)
