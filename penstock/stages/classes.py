"""Labels that are classes: what they must be, and the scores and predictions that a classifier writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError, SchemaError
from penstock.core.selectors import is_numeric
from penstock.frames import matrices
from penstock.stages.base import Fitted, Stage
from penstock.stages.class_weights import BALANCED, CLASS_WEIGHTS, Pairs, weights_of
from penstock.stages.parameter_checks import wrong_parameter
from penstock.stages.shapes import CLASSES, Shape
from penstock.stages.target import Target
from penstock.stages.thresholds import are_thresholds, winners
from penstock.statistics.base import Statistic
from penstock.statistics.class_moments import ClassMoments
from penstock.statistics.distinct.frequencies import Frequencies
from penstock.statistics.distinct.value_counts import ValueCounts
from penstock.statistics.labels import are_exact, class_codes
from penstock.statistics.rules import Rule, count_broken, refuse
from penstock.statistics.weighed_values import WeighedValues

MOST_CLASSES = 1000
"""More classes than these are a regression, or labels by mistake."""
_LABELS = "labels"
_WEIGHED = "labels of a weight above 0"
_SIZES = "weights of labels"


@dataclass(frozen=True)
class Classes(Target):
    """A label whose values, in ascending order, are classes; scores of each, and the one that wins.

    Learned is ``classes``, a table of them.

    Parameters
    ----------
    weight : str or None
    thresholds : tuple of float or None
        One for each class, see `winners`.
    stage : str
        What errors call the stage.
    most : int
        How many classes there may be.
    hint : str
        What to think of more.
    others : str
        What learns labels that are no classes, as an error puts it.
    class_weight : {"balanced"}, tuple of (class, float) or None
        What rows of a class weigh, see `weights_of`.
    """

    label: str
    weight: str | None
    thresholds: tuple[float, ...] | None
    stage: str
    most: int
    hint: str
    others: str
    class_weight: str | Pairs | None = None

    @classmethod
    def of(
        cls, stage: Any, more: Mapping[str, pa.DataType] | None = None, *, most: int = MOST_CLASSES,
        hint: str = "very many are a regression.", others: str = "a regression is",
    ) -> Self:  # fmt: skip
        """Return the target of a stage with the fields of a classifier.

        Parameters
        ----------
        stage : Stage
            Has ``label``, ``weight``, ``thresholds``, ``raw_prediction``, ``probability`` and ``prediction``.
        more : mapping of str to pyarrow.DataType, optional
            Columns that are written after these.
        """
        names = (stage.raw_prediction, stage.probability, stage.prediction)
        columns = {**dict.fromkeys(names, pa.float64()), **(more or {})}
        beside = (most, hint, others, getattr(stage, "class_weight", None))
        return cls(stage.label, columns, stage.weight, stage.thresholds, stage.title, *beside)

    def _columns(self, scores: pa.DataType, prediction: pa.DataType) -> Mapping[str, pa.DataType]:
        return {**self.columns, **dict(zip(self.columns, (scores, scores, prediction), strict=False))}

    def check(self, stage: Stage, schema: pa.Schema) -> None:
        kind = schema.field(self.label).type
        if not (pa.types.is_string(kind) or is_numeric(kind)):
            raise SchemaError(
                f"label {self.label!r} is {kind}, expected integers, booleans, strings or whole numbers",
                column=self.label, stage=stage.title,
            )  # fmt: skip

    def types(self, schema: pa.Schema) -> Mapping[str, pa.DataType]:
        label = schema.field(self.label).type if self.label in schema.names else pa.int64()
        return self._columns(pa.float64(), label)

    def learned_types(self, schema: pa.Schema, fitted: Fitted) -> Mapping[str, pa.DataType]:
        classes = fitted["classes"]["value"]
        return self._columns(pa.float64() if len(classes) == 2 else pa.list_(pa.float64()), classes.type)

    def statistics(self) -> dict[str, Statistic]:
        counts: dict[str, Statistic] = {_LABELS: ValueCounts((self.label,))}
        if self.weight is None:
            return counts
        sizes = {_SIZES: ClassMoments((self.label, self.weight), limit=self.most)}
        by_size = sizes if self.class_weight == BALANCED else {}
        return {**counts, _WEIGHED: WeighedValues((self.label, self.weight)), **by_size}

    def learn(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Return the classes.

        Raises
        ------
        DataValueError
            Labels have a fraction, there is a single class or too many, or one alone has a weight above 0.
        ConfigError
            There are not as many thresholds as classes.
        """
        counted = results[_LABELS][self.label]
        self._check_whole(counted)
        self.check_count(*(counted.table[name].to_pylist() for name in ("value", "count")))
        if self.weight is not None:
            self._check_weighed(results[_WEIGHED])
        ordered = counted.table.sort_by("value").combine_chunks()
        return {"classes": ordered.select(["value"]), **self._class_weights(ordered, results)}

    def _class_weights(self, counted: pa.Table, results: Mapping[str, Any]) -> dict[str, list[float]]:
        if self.class_weight is None:
            return {}
        sizes = results[_SIZES].sums[:, 0] if _SIZES in results else counted["count"].to_pylist()
        return {CLASS_WEIGHTS: weights_of(counted["value"].to_pylist(), sizes, self.class_weight, self.label)}

    def known(self, results: Mapping[str, Any], before: Fitted) -> Mapping[str, Any]:
        """Return the statistics with classes that these rows lack, and had before, in no row."""
        counted, classes = results[_LABELS][self.label], before["classes"]["value"].combine_chunks()
        self._refuse_new(counted, classes)
        counts = dict(zip(*(counted.table[name].to_pylist() for name in ("value", "count")), strict=True))
        rows = pa.array([counts.get(value, 0) for value in classes.to_pylist()], pa.int64())
        frequencies = Frequencies(pa.table({"value": classes, "count": rows}), counted.nulls)
        found = {**results, _LABELS: {**results[_LABELS], self.label: frequencies}}
        return found if self.weight is None else {**found, _WEIGHED: classes.to_pylist()}

    def _refuse_new(self, counted: Frequencies, classes: pa.Array) -> None:
        """Raise DataValueError for labels that are not among the classes before."""
        known = classes.to_pylist()
        new = {row["value"]: row["count"] for row in counted.table.to_pylist() if row["value"] not in known}
        if new:
            shown = ", ".join(f"{value!r} ({count})" for value, count in list(new.items())[:5])
            raise DataValueError(
                f"label {self.label!r} has {len(new)} class(es) that {self.stage} has not learned: {shown};"
                f" it knows {', '.join(map(repr, known[:10]))}",
                hint="Filter these rows, or train anew: refit(..., fresh=True), or fit on all rows.",
                predicate=nw.col(self.label).is_in(list(new)),
                column=self.label,
                stage=self.stage,
            )

    def shapes(self) -> dict[str, Shape]:
        rows = None if self.thresholds is None else len(self.thresholds)
        return {"classes": dataclasses.replace(CLASSES, rows=rows)}

    def results(self, raw: Any, probability: Any, likeliest: Any) -> dict[str, Any]:
        """Return the columns to write, of the prediction the place of the winning class of each row, int32.

        Parameters
        ----------
        raw, probability : numpy.ndarray or cupy.ndarray of shape (n_rows,) or (n_rows, n_classes)
            Of the second of two classes, or of each class.
        likeliest : numpy.ndarray or cupy.ndarray of shape (n_rows,)
            The place of the class that wins unless there are thresholds.
        """
        places = likeliest if self.thresholds is None else winners(probability, self.thresholds)
        return dict(zip(self.columns, (raw, probability, places.astype("int32")), strict=False))

    def with_columns(
        self, frame: nw.DataFrame, results: Mapping[str, Any], fitted: Fitted, missing: Any = None
    ) -> nw.DataFrame:
        """Return `frame` with results of `results`, null in the rows where `missing` is true."""
        (*scores, (prediction, code)) = results.items()
        if missing is not None:
            code[missing] = -1
        predicted = frames.decode(matrices.column(frame, prediction, code), fitted["classes"]["value"].combine_chunks())
        return frame.with_columns(*self._made(frame, dict(scores), missing), predicted)

    def row_values(self, fitted: Fitted) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        values, classes = super().row_values(fitted), fitted["classes"]["value"].to_pylist()
        prediction = list(self.columns)[2]

        def call(results: Mapping[str, Any]) -> dict[str, Any]:
            row = values(results)
            return {**row, prediction: classes[row[prediction]]}

        return call

    def _check_whole(self, counted: Frequencies) -> None:
        """Raise DataValueError for labels with a fraction."""
        classes, counts = (counted.table[name].to_pylist() for name in ("value", "count"))
        odd = [value for value in classes if isinstance(value, float) and not value.is_integer()]
        if odd:
            error = self.fractions(
                odd, sum(count for value, count in zip(classes, counts, strict=True) if value in odd)
            )
            error.predicate = nw.col(self.label).is_in(odd)
            raise error

    def fractions(self, odd: Sequence[float], count: int) -> DataValueError:
        """Return the error for `count` rows whose labels have a fraction, the values `odd`."""
        return DataValueError(
            f"column {self.label!r} has values that are not a class: {odd[:5]}",
            hint=f"Classes are whole numbers; {self.others} for others.",
            column=self.label,
        )

    def check_count(self, classes: Sequence[Any], counts: Sequence[int]) -> None:
        """Raise an error unless there are 2 to `most` classes, and as many thresholds; `counts` are rows of each."""
        if 2 <= len(classes) <= self.most:
            self._check_thresholds(classes)
            return
        tally = ", ".join(f"{value!r}: {count}" for value, count in list(zip(classes, counts, strict=True))[:5])
        raise DataValueError(
            f"label {self.label!r} has {len(classes)} class(es), expected 2 to {self.most}; counts: {tally or 'none'}",
            hint=f"One class cannot be told apart from another; {self.hint}",
            column=self.label,
        )

    def _check_thresholds(self, classes: Sequence[Any]) -> None:
        if self.thresholds is not None and len(self.thresholds) != len(classes):
            names = ", ".join(map(repr, sorted(classes)[:10]))
            raise ConfigError(
                f"thresholds of {self.stage} has {len(self.thresholds)} numbers, and label {self.label!r} has"
                f" {len(classes)} classes: {names}",
                hint="Pass one for each class, in this order.",
                column=self.label,
                stage=self.stage,
            )

    def _check_weighed(self, weighed: Sequence[Any]) -> None:
        """Raise DataValueError unless two classes have a weight above 0: one without is as if absent."""
        if len(weighed) < 2:
            raise DataValueError(
                f"label {self.label!r} has {len(weighed)} class(es) of a weight above 0 in column {self.weight!r},"
                f" expected 2 or more; found: {', '.join(map(repr, weighed)) or 'none'}",
                hint="A row of weight 0 is as if absent, and one class cannot be told apart from another.",
                column=self.label,
            )


def classes_of(learned: Fitted) -> tuple[Any, ...] | None:
    """Return the classes that were learned, in ascending order; None where labels are numbers."""
    known = {**learned, **learned.get("learned", {})}.get("classes")  # an estimator of cuML's may have become a stage
    return None if known is None else tuple(known["value"].to_pylist())


def label_codes(frame: nw.DataFrame, label: str, classes: tuple[Any, ...]) -> Any:
    """Return the codes of labels, indices of the classes of a model, as a float64 array on the device of the frame.

    Raises
    ------
    DataValueError
        A label is null or none of the classes.

    Examples
    --------
    >>> label_codes(frames.from_arrow(pa.table({"label": ["b", "a"]})), "label", ("a", "b")).tolist()
    [1.0, 0.0]
    """
    codes = class_codes(frame, label, classes)
    if (codes == len(classes)).any():
        among = Rule("not_a_class" if are_exact(classes) else "not_in", classes)
        checks = [(label, Rule("null")), (label, among)]
        refuse(checks, count_broken(frame, checks))
    return codes


def check_thresholds(stage: Any, name: str) -> None:
    """Make a tuple of the thresholds of a stage, where it has some; ConfigError where they are none."""
    given = getattr(stage, name)
    if given is None:
        return
    values = tuple(given) if isinstance(given, Iterable) else ()
    if not are_thresholds(values):
        expected = "a number for each class, 0 or more, and at most one of them 0"
        hint = "Of two classes, (1 - t, t) predicts the second where its probability is larger than t."
        raise wrong_parameter(stage, name, expected, hint)
    object.__setattr__(stage, name, tuple(map(float, values)))
