"""What stages that work column by column share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.stages.base import ColumnStage
from penstock.statistics import Count, Violation
from penstock.statistics.aggregates import aggregate
from penstock.statistics.rules import Rule


def output_kinds(stage: ColumnStage, frame: nw.DataFrame) -> dict[str, pa.DataType]:
    """Return, by input column, the type that `stage` declares for its result, given the types in `frame`."""
    found = frames.to_arrow(frame.select(stage.inputs()).head(0)).schema
    return {field.name: stage.output_type(field.type) for field in found}


def output_dtypes(stage: ColumnStage, frame: nw.DataFrame) -> dict[str, nw.dtypes.DType]:
    """Return the types of `output_kinds` as Narwhals has them."""
    return frames.dtypes(pa.schema(output_kinds(stage, frame)))


def cast_to(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return what turns a Python number into one that a column of a type holds; None for types that round otherwise.

    Examples
    --------
    >>> cast_to(pa.float64())(True), cast_to(pa.float32())(0.1), cast_to(pa.float16())
    (1.0, 0.10000000149011612, None)
    """
    if pa.types.is_float64(kind):
        return float
    if pa.types.is_float32(kind):
        return lambda value: float(np.float32(value))
    return int if pa.types.is_integer(kind) else None


def check_values(counts: Mapping[str, Count]) -> None:
    """Raise DataValueError for the first column without any value: nothing can be learned from it."""
    for name, count in counts.items():
        if not count.valid:
            raise DataValueError(
                f"column {name!r} has no value: all of its {count.rows} rows are null",
                hint='Leave the column out, or fill it before with Imputer(strategy="constant").',
                column=name,
                rows=count.rows,
            )


def refuse_rows(frame: nw.DataFrame, broken: Mapping[str, nw.Expr], error: Callable[[str, int], Exception]) -> None:
    """Raise what `error` makes of the first column for which a row is broken, and of how many are."""
    for name, count in aggregate(frame, {name: each.sum() for name, each in broken.items()}).items():
        if count:
            raise error(name, count)


def refuse_broken(frame: nw.DataFrame, rule: Rule, names: Iterable[str]) -> None:
    """Raise DataValueError for the first column in which a value breaks a rule."""
    refuse_rows(frame, {name: rule.broken(name) for name in names}, rule.error)


def finite(name: str, value: Any) -> float | None:
    """Return one value of a column as a float, None for None; DataValueError for an infinity."""
    number = None if value is None else float(value)
    if number is not None and math.isinf(number):
        raise Rule("infinite").error(name, 1)
    return number


def check_finite(violations: Mapping[str, Violation]) -> None:
    """Raise DataValueError for the first column with infinities; `violations` are those of the rule ``infinite``."""
    for name, violation in violations.items():
        if violation.count:
            raise Rule("infinite").error(name, violation.count)
