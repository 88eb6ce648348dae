"""What models share: features, label and weight at fit, and the columns that a classifier writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, SchemaError
from penstock.core.schemas import require
from penstock.core.selectors import Columns, is_numeric, numeric, resolve
from penstock.frames import matrices, sparse
from penstock.stages.base import Fitted, Stage, check_types, normalise_columns, with_fields
from penstock.stages.shapes import CLASSES, Shape
from penstock.stages.training._thresholds import are_thresholds, winners
from penstock.statistics import Statistic, ValueCounts
from penstock.statistics.distinct.frequencies import Frequencies
from penstock.statistics.weighed_values import WeighedValues

MOST_CLASSES = 1000
"""More classes than these are a regression, or labels by mistake."""
_LABELS = "labels"
_WEIGHED = "labels of a weight above 0"


class Learner(Stage):
    """A stage that learns from features and, where it has such fields, from a label and with weights.

    Subclasses are dataclasses with the fields `features` (None for every numeric column but label and weight),
    `weight`, and for what is supervised `label`.
    """

    features: Columns | None
    weight: str | None
    _of_nothing: ClassVar[bool] = False
    """Whether there is a model of no features: an intercept."""

    def __post_init__(self) -> None:
        normalise_columns(self, "features")

    def bind(self, schema: pa.Schema) -> Self:
        aside = self._aside()
        require(schema, aside.values(), stage=self.title)
        chosen = numeric() - list(aside.values()) if self.features is None else self.features
        features = () if self._of_nothing and chosen == () else resolve(chosen, schema, self.title)
        self._check_vectors(schema, features)
        check_types(self, schema, (*features, *self._weights))
        for role, name in aside.items():
            if name in features:
                raise ConfigError(f"{role} {name!r} is among the features", column=name, stage=self.title)
        if "label" in aside:
            self._check_label(schema, aside["label"])
        return dataclasses.replace(self, features=features)  # type: ignore[type-var]

    def _check_vectors(self, schema: pa.Schema, features: Sequence[str]) -> None:
        """Raise SchemaError for the columns of a sparse vector; see `VectorLearner` for those that take one."""
        for vector in sparse.among(features):
            name = sparse.columns(vector)[0]
            if not pa.types.is_list(schema.field(name).type):
                continue
            raise SchemaError(
                f"column {name!r} is {schema.field(name).type}, of a sparse vector, which {self.title} does not take",
                hint="LinearRegression, LogisticRegression, NaiveBayes and XGBoost do.",
                column=name, stage=self.title,
            )  # fmt: skip

    def _aside(self) -> dict[str, str]:
        """Return the columns that are no features, by what they are."""
        roles = {role: getattr(self, role, None) for role in ("label", "weight")}
        return {role: name for role, name in roles.items() if name is not None}

    def _check_label(self, schema: pa.Schema, label: str) -> None:
        """Raise SchemaError for a label of a type that cannot be learned; a number, unless a subclass takes others."""
        check_types(self, schema, (label,))

    def inputs(self) -> tuple[str, ...]:
        return self.features  # type: ignore[return-value]

    @property
    def _weights(self) -> tuple[str, ...]:
        """The weight, where there is one."""
        return (self.weight,) if self.weight else ()

    def training_columns(self) -> tuple[str, ...]:
        """Return the columns that are read at fit: the features, the label, the weight."""
        return (*self.inputs(), *self._aside().values())


@dataclass(frozen=True)
class Classifier(Learner):
    """A learner of classes: the columns that it writes, for two classes and for more, and its labels."""

    label: str
    _: KW_ONLY
    thresholds: tuple[float, ...] | None = None
    prediction: str = "prediction"
    probability: str = "probability"
    raw_prediction: str = "rawPrediction"

    _OTHERS: ClassVar[str] = "a regression is"
    """What learns labels that are no classes, as an error puts it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thresholds is None:
            return
        values = tuple(self.thresholds) if isinstance(self.thresholds, Iterable) else ()
        if not are_thresholds(values):
            raise ConfigError(
                f"thresholds of {self.title} is {self.thresholds!r}, expected a number for each class, 0 or more,"
                " and at most one of them 0",
                hint="Of two classes, (1 - t, t) predicts the second where its probability is larger than t.",
                stage=self.title,
            )
        object.__setattr__(self, "thresholds", tuple(map(float, values)))

    def _check_label(self, schema: pa.Schema, label: str) -> None:
        kind = schema.field(label).type
        if not (pa.types.is_string(kind) or is_numeric(kind)):
            raise SchemaError(
                f"label {label!r} is {kind}, expected integers, booleans, strings or whole numbers",
                column=label, stage=self.title,
            )  # fmt: skip

    def outputs(self) -> tuple[str, ...]:
        return self.raw_prediction, self.probability, self.prediction

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        label = schema.field(self.label).type if self.label in schema.names else pa.int64()
        return with_fields(schema, dict(zip(self.outputs(), (pa.float64(), pa.float64(), label), strict=True)))

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        classes = fitted["classes"]["value"]
        scores = pa.float64() if len(classes) == 2 else pa.list_(pa.float64())
        return with_fields(schema, dict(zip(self.outputs(), (scores, scores, classes.type), strict=True)))

    @property
    def _classes_shape(self) -> Shape:
        """What `classes` must be, of which thresholds say the number."""
        return CLASSES if self.thresholds is None else dataclasses.replace(CLASSES, rows=len(self.thresholds))

    def _winners(self, probability: Any, likeliest: Any) -> Any:
        """Return the place of the winning class of each row, int32: that of `likeliest` unless there are thresholds."""
        places = likeliest if self.thresholds is None else winners(probability, self.thresholds)
        return places.astype("int32")

    def _label_statistics(self) -> dict[str, Statistic]:
        """Ask for the classes, and with weights for those of rows that are learned from."""
        counts: dict[str, Statistic] = {_LABELS: ValueCounts((self.label,))}
        return counts if self.weight is None else {**counts, _WEIGHED: WeighedValues((self.label, self.weight))}

    def _check_weighed(self, results: Mapping[str, Any]) -> None:
        """Raise DataValueError unless two classes have a weight above 0: one without is as if absent."""
        if self.weight is not None and len(weighed := results[_WEIGHED]) < 2:
            raise DataValueError(
                f"label {self.label!r} has {len(weighed)} class(es) of a weight above 0 in column {self.weight!r},"
                f" expected 2 or more; found: {', '.join(map(repr, weighed)) or 'none'}",
                hint="A row of weight 0 is as if absent, and one class cannot be told apart from another.",
                column=self.label,
            )

    def _check_classes(
        self, counted: Frequencies, most: int = MOST_CLASSES, hint: str = "very many are a regression."
    ) -> None:
        """Raise DataValueError for labels that are no classes, a single class, or more than `most`."""
        classes, counts = (counted.table[name].to_pylist() for name in ("value", "count"))
        odd = [value for value in classes if isinstance(value, float) and not value.is_integer()]
        if odd:
            error = self._fractions(
                odd, sum(count for value, count in zip(classes, counts, strict=True) if value in odd)
            )
            error.predicate = nw.col(self.label).is_in(odd)
            raise error
        self._check_count(classes, counts, most, hint)

    def _fractions(self, odd: Sequence[float], count: int) -> DataValueError:
        """Return the error for `count` rows whose labels have a fraction, the values `odd`."""
        return DataValueError(
            f"column {self.label!r} has values that are not a class: {odd[:5]}",
            hint=f"Classes are whole numbers; {self._OTHERS} for others.",
            column=self.label,
        )

    def _check_count(self, classes: Sequence[Any], counts: Sequence[int], most: int, hint: str) -> None:
        """Raise DataValueError unless there are 2 to `most` classes; `counts` says how many rows each has."""
        if 2 <= len(classes) <= most:
            self._check_thresholds(classes)
            return
        tally = ", ".join(f"{value!r}: {count}" for value, count in list(zip(classes, counts, strict=True))[:5])
        raise DataValueError(
            f"label {self.label!r} has {len(classes)} class(es), expected 2 to {most}; counts: {tally or 'none'}",
            hint=f"One class cannot be told apart from another; {hint}",
            column=self.label,
        )

    def _check_thresholds(self, classes: Sequence[Any]) -> None:
        """Raise ConfigError unless there are as many thresholds as classes, or none."""
        if self.thresholds is not None and len(self.thresholds) != len(classes):
            names = ", ".join(map(repr, sorted(classes)[:10]))
            raise ConfigError(
                f"thresholds of {self.title} has {len(self.thresholds)} numbers, and label {self.label!r} has"
                f" {len(classes)} classes: {names}",
                hint="Pass one for each class, in this order.",
                column=self.label,
                stage=self.title,
            )


def check_weights(name: str | None, largest: Any) -> None:
    """Raise DataValueError where the largest weight of all rows is 0, so that there is nothing to learn from."""
    if largest is not None and not largest > 0:
        raise DataValueError(
            f"all weights in column {name!r} are 0, so there is nothing to learn from",
            hint="A row of weight 0 is as if absent; name the right column, or leave the weight out.",
            column=name,
        )


def known(frame: nw.DataFrame, series: nw.Series, missing: Any) -> nw.Series:
    """Return a series for `frame` with null in the rows where `missing`, a mask on its device, is true."""
    if not bool(missing.any()):
        return series
    both = series.alias("value").to_frame().with_columns(matrices.column(frame, "known", ~missing))
    return both.select(nw.when(nw.col("known")).then(nw.col("value")).alias(series.name))[series.name]
