"""What rows of a class weigh, beside weights of their own: by scikit-learn's ``class_weight``."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.names import hidden_name
from penstock.dataset.steps import RowLog, Step
from penstock.stages.base import Fitted, with_fields
from penstock.stages.parameter_checks import added_later, checked_by, is_finite_number, wrong_parameter

CLASS_WEIGHTS = "class_weights"
"""What the weights of the classes are called in what a trainer is given to train with."""
BALANCED = "balanced"
Pairs = tuple[tuple[Any, float], ...]
ClassWeight = str | Mapping[Any, float] | Pairs | None


def check_class_weight(stage: Any, name: str) -> None:
    """Make pairs of the weights of classes that a stage is given, where it is given some; ConfigError for others."""
    given = getattr(stage, name)
    if given is None or given == BALANCED:
        return
    pairs = tuple(given.items()) if isinstance(given, Mapping) else _pairs(given)
    if not pairs or not all(len(pair) == 2 and is_finite_number(pair[1]) and pair[1] > 0 for pair in pairs):
        expected = "'balanced', or a number above 0 for each class, {0: 1.0, 1: 5.0} say"
        raise wrong_parameter(stage, name, expected, "Classes that are not named weigh 1.")
    object.__setattr__(stage, name, tuple((value, float(weight)) for value, weight in pairs))


CLASS_WEIGHT = added_later(checked_by(check_class_weight))
"""The metadata of the field of a classifier."""


def _pairs(given: Any) -> tuple[tuple[Any, ...], ...]:
    """Return what JSON stores of pairs as tuples; nothing for what has none."""
    listed = isinstance(given, Iterable) and not isinstance(given, str)
    return tuple(tuple(pair) if isinstance(pair, list | tuple) else () for pair in given) if listed else ()


def weights_of(classes: Sequence[Any], sizes: Sequence[float], class_weight: str | Pairs, label: str) -> list[float]:
    """Return what a row of each class weighs.

    Parameters
    ----------
    classes : sequence
    sizes : sequence of float
        The rows of each, or their weight; for "balanced" alone.
    class_weight : {"balanced"} or tuple of (class, float)
        "balanced" gives all classes of a size above 0 the same weight together, and all rows that which they have.

    Raises
    ------
    ConfigError
        A class is named that the label has not.

    Examples
    --------
    >>> weights_of(["no", "yes"], [6, 2], "balanced", "label"), weights_of([0, 1], [6, 2], ((1, 5.0),), "label")
    ([0.6666666666666666, 2.0], [1.0, 5.0])
    """
    if isinstance(class_weight, str):
        total, filled = math.fsum(sizes), sum(size > 0 for size in sizes)
        return [total / (filled * size) if size > 0 else 1.0 for size in sizes]
    given = dict(class_weight)
    if strange := [value for value in given if value not in classes]:
        names = ", ".join(map(repr, classes[:10]))
        raise ConfigError(
            f"class_weight names {strange[0]!r}, and label {label!r} has the classes {names}",
            hint="Name the classes by the values that the label has.",
            column=label,
        )
    return [given.get(value, 1.0) for value in classes]


@dataclass(frozen=True)
class WeighClasses(Step):
    """Adds what rows weigh: the weight of their class times their own.

    Parameters
    ----------
    label : str
    weight : str or None
    classes, weights : tuple
    """

    label_column: str
    weight: str | None
    classes: tuple[Any, ...]
    weights: tuple[float, ...]

    @property
    def output(self) -> str:
        """The column added, of another name for other weights: what is kept of rows goes by the names of columns."""
        content = repr((self.label_column, self.weight, self.classes, self.weights))
        return hidden_name(f"weight_{hashlib.sha256(content.encode()).hexdigest()[:16]}")

    @property
    def hidden(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({self.output})

    @property
    def label(self) -> str:
        return "weigh classes"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, {self.output: pa.float64()})

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        if self.output not in wanted:
            return None
        return wanted - {self.output} | {self.label_column, *([] if self.weight is None else [self.weight])}

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        """Weigh the rows; those of no class as themselves, for the trainer to refuse."""
        known, column = (list(self.classes), list(self.weights)), nw.col(self.label_column)
        of_class = column.replace_strict(*known, default=1.0, return_dtype=nw.Float64)
        own = nw.lit(1.0) if self.weight is None else nw.col(self.weight).cast(nw.Float64)
        return frame.with_columns((of_class * own).alias(self.output))


def weighed(stage: Any, learned: Fitted) -> tuple[Any, Fitted, WeighClasses | None]:
    """Return a trainer that takes the weights of classes for those of rows, its state, and the step that adds them.

    Where classes weigh nothing of their own, all stays as it is.
    """
    if CLASS_WEIGHTS not in learned:
        return stage, learned, None
    classes = tuple(learned["classes"]["value"].to_pylist())
    step = WeighClasses(stage.label, stage.weight, classes, tuple(learned[CLASS_WEIGHTS]))
    state = {name: value for name, value in learned.items() if name != CLASS_WEIGHTS}
    return dataclasses.replace(stage, weight=step.output, class_weight=None), state, step
