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
from penstock.core.names import hidden_name
from penstock.frames.blocks import with_rows
from penstock.frames.columns import arrow_schema
from penstock.stages.base import ColumnStage
from penstock.statistics import Count, Violation
from penstock.statistics.aggregates import count_true
from penstock.statistics.rules import Rule

REFUSED = hidden_name("refused")
"""The column of a lazy frame that is true in rows that a stage will refuse."""


def output_kinds(stage: ColumnStage, frame: nw.DataFrame) -> dict[str, pa.DataType]:
    """Return, by input column, the type that `stage` declares for its result, given the types in `frame`."""
    names = tuple(name for name, _ in stage.pairs())
    return {field.name: stage.output_type(field.type) for field in arrow_schema(frame, names)}


def by_block(stage: ColumnStage, frame: nw.DataFrame, function: Callable[[Any], Any]) -> nw.DataFrame:
    """Return a frame on a GPU with the outputs of `stage`, computed by a function of the array of its columns."""
    kinds = output_kinds(stage, frame)
    return with_rows(frame, stage.pairs(), function, {out: kinds[name] for name, out in stage.pairs()})


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


def integer_range(kind: pa.DataType) -> tuple[int, int]:
    """Return the smallest and the largest number of a type of integers.

    Examples
    --------
    >>> integer_range(pa.int8()), integer_range(pa.uint8())
    ((-128, 127), (0, 255))
    """
    if pa.types.is_unsigned_integer(kind):
        return 0, 2**kind.bit_width - 1
    return -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1


def clipped_value(kind: pa.DataType, lower: float | None, upper: float | None) -> Callable[[Any], Any] | None:
    """Return what clips one value of a column that becomes `kind`; None where `cast_to` is."""
    cast = cast_to(kind)
    if cast is None:
        return None
    low, high = -math.inf if lower is None else cast(lower), math.inf if upper is None else cast(upper)
    return lambda value: None if value is None else min(max(cast(value), low), high)


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


def refuse_rows(
    frame: frames.Frame, broken: Mapping[str, Callable[[Any], Any]], error: Callable[[str, int], Exception]
) -> frames.Frame:
    """Return the frame; raise what `error` makes of the first column for which a row is broken, and of how many are.

    `broken` has a test by column, a function of an expression or of a block that is true in broken rows. A lazy frame,
    which has no rows yet, gets the column `REFUSED`: true in broken rows.
    """
    if isinstance(frame, nw.LazyFrame):
        found = [test(nw.col(name)) for name, test in broken.items()]
        found += [nw.col(name) for name in frame.collect_schema() if name == REFUSED]
        return frame.with_columns(nw.any_horizontal(*found, ignore_nulls=False).alias(REFUSED)) if found else frame
    for name, count in zip(broken, count_true(frame, list(broken.items())), strict=True):
        if count:
            raise error(name, count)
    return frame


def refuse_broken(frame: nw.DataFrame, rule: Rule, names: Iterable[str]) -> None:
    """Raise DataValueError for the first column in which a value breaks a rule."""
    refuse_rows(frame, dict.fromkeys(names, rule), rule.error)


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
