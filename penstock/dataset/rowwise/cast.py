"""Columns in other types, whole or not at all, or without the values that the types do not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError, check_one_of, class_name
from penstock.core.schemas import declared, require
from penstock.core.type_names import type_name
from penstock.dataset.quarantine import check_names, set_aside
from penstock.dataset.rowwise.conversions import Conversion
from penstock.dataset.steps import RowLog, Step
from penstock.frames import ROW, matrices

ERRORS = ("raise", "null", "quarantine")


@dataclass(frozen=True)
class CastColumns(Step):
    """Gives columns other types.

    Parameters
    ----------
    conversions : tuple of Conversion
    errors : {"raise", "null", "quarantine"}
        What becomes of a value that the type does not hold.
    """

    conversions: tuple[Conversion, ...]
    errors: str

    @property
    def keeps_rows(self) -> bool:  # type: ignore[override]
        return self.errors != "quarantine"

    @property
    def label(self) -> str:
        return f"cast {len(self.conversions)} columns"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        kinds = {conversion.name: conversion.wanted for conversion in self.conversions}
        return pa.schema([field.with_type(kinds.get(field.name, field.type)) for field in schema])

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        names = {conversion.name for conversion in self.conversions}
        if self.keeps_rows:
            return wanted if wanted & names else None
        return wanted | names | {ROW}  # the same rows, whatever is asked for

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        """Return the frame with those of the columns that it has cast."""
        made: dict[str, nw.Series] = {}
        failed: dict[Conversion, nw.Series] = {}
        for conversion in self.conversions:
            if conversion.name in frame.columns:
                made[conversion.name], bad = conversion.apply(frame[conversion.name])
                if bad is not None:
                    failed[conversion] = bad
        if not failed:
            return frame.with_columns(*made.values())
        if self.errors == "quarantine":
            return _without(frame, made, failed, log)
        for conversion, bad in failed.items():
            if self.errors == "raise":
                raise refused(conversion, frame, bad)
            log.null(f"cast {conversion.description}", int(bad.sum()))
        return frame.with_columns(*made.values())


def refused(conversion: Conversion, frame: nw.DataFrame, bad: nw.Series) -> DataValueError:
    """Return the error about values that a type does not hold, with the first one, and its row where that is known."""
    rows = frame.filter(bad)
    first = frames.to_arrow(rows.select(conversion.name).head(1)).column(0)[0].as_py()
    return DataValueError(
        f"column {conversion.name!r} has {len(rows)} value(s) that {type_name(conversion.wanted)} does not hold:"
        f" {_shorten(first)}",
        hint='Pass errors="null" or "quarantine" to go on without them, or compute the column by with_columns.',
        column=conversion.name,
        predicate=nw.lit(True),
        row=int(rows[ROW][0]) if ROW in frame.columns else None,
    )


def _shorten(value: Any, most: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."


def _without(
    frame: nw.DataFrame, made: Mapping[str, nw.Series], failed: Mapping[Conversion, nw.Series], log: RowLog
) -> nw.DataFrame:
    """Return the rows of which all values could be cast; others are set aside as they came in."""
    gone = None
    for conversion, bad in failed.items():
        first = bad if gone is None else bad & ~gone
        reason = f"cast {conversion.description}"
        log.quarantine(reason, set_aside(frame.filter(first), reason))
        gone = bad if gone is None else bad | gone
    assert gone is not None
    stay = matrices.column(frame, "stay", ~gone.to_numpy())
    return frame.with_columns(*made.values()).filter(stay)


def checked_cast(
    types: Mapping[str, str | pa.DataType],
    errors: str,
    formats: Mapping[str, str] | None,
    schema: pa.Schema,
    *,
    stage: str | None = None,
) -> CastColumns:
    """Return the step that gives columns of `schema` other types.

    Raises
    ------
    SchemaError
        A column is not there, or no value of its type is one of the other.
    ConfigError
        There is none, a type or `errors` is not known, or a format cannot be used.
    """
    user = stage or "cast"
    check_one_of("errors", errors, ERRORS)
    if not isinstance(types, Mapping) or not types:
        raise ConfigError(
            f"{user} takes a mapping of names to types, found {class_name(types)}",
            hint='Write {"x": "int64"}.',
            stage=stage,
        )
    formats = formats or {}
    require(schema, [*types, *formats], stage=user)
    loose = next((name for name in formats if name not in types), None)
    if loose is not None:
        raise ConfigError(f"{user} has a format for column {loose!r}, and no type", stage=stage, column=loose)
    wanted = declared(dict(types))
    conversions = tuple(
        Conversion(field.name, schema.field(field.name).type, field.type, formats.get(field.name)) for field in wanted
    )
    for conversion in conversions:
        conversion.check(user)
    if errors == "quarantine":
        check_names(schema, user)
    return CastColumns(conversions, errors)
