"""Lags, leads and differences: one window of the query engine, and its way back to the rows.

The window is the query engine's. What it sees is narrow: a row's number, its key, its place in the order and the values
to move. What it makes is read back by row number, so that a row keeps its number and its other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError, check_one_of
from penstock.core.names import check_names, column_names
from penstock.core.scheduler import relational
from penstock.core.selectors import resolve
from penstock.dataset.beside import NUMBER, RowsBeside
from penstock.dataset.lags.steps import ALONE, SECONDS, Beside, Lag, Narrow
from penstock.dataset.steps import check_numbered
from penstock.frames.transport_types import carrier
from penstock.io.fragments import row_bytes

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

Names = str | Sequence[str]


def lagged(
    dataset: Dataset,
    title: str,
    columns: Names,
    by: Names,
    order_by: Names,
    periods: int | Sequence[int],
    output_columns: Names | None,
    staging_dir: str | Path | None,
    *,
    ahead: bool = False,
    unit: str | None = None,
) -> Dataset:
    """Return a dataset with more columns; `title` is the method of `Dataset` that is called, with its parameters.

    Parameters
    ----------
    ahead : bool
        Rows are counted forwards.
    unit : str, optional
        Differences are made, in time in this unit.
    """
    check_numbered(dataset.steps, title, "Write the rows to Parquet and read them again.", stage=title)
    values = resolve(columns, dataset.schema, title)
    narrow = Narrow(dataset.schema, _keys(dataset, title, by), _keys(dataset, title, order_by), values, title)
    lags = _lags(narrow, _counts(title, periods), ahead, unit, output_columns)
    for name in (*narrow.by, *narrow.order_by, *narrow.values):
        _check_carried(dataset.schema.field(name), title)
    window = _window(dataset, narrow, lags, staging_dir)
    return dataset.with_step(Beside(lags, RowsBeside.of(window, title), title))


def _window(dataset: Dataset, narrow: Narrow, lags: Sequence[Lag], staging_dir: str | Path | None) -> Dataset:
    """Return the row numbers, in order, and the values so many rows before."""
    keys = len(narrow.by)
    order = [f"c{keys + place}" for place in range(len(narrow.order_by))]
    value = {name: f"c{keys + len(order) + place}" for place, name in enumerate(narrow.values)}
    moved = {lag.stored: nw.col(value[lag.column]).shift(lag.periods) for lag in lags}
    engine = relational(dataset.engine, "lags")

    def window(frame: nw.LazyFrame) -> nw.LazyFrame:
        by = [ALONE, *(f"c{place}" for place in range(keys))]
        result: nw.LazyFrame = engine.window(frame, moved, partition_by=by, order_by=[*order, NUMBER])
        return result.select(NUMBER, *moved)

    window.__name__ = narrow.label
    rows = max((fragment.rows for fragment in dataset.fragments), default=1)
    width = row_bytes(narrow.output_schema(dataset.schema)) * (1 + len(moved))
    narrowed = dataset.with_step(narrow)
    related: Dataset = engine.query(
        window, narrowed, order_by=NUMBER, staging_dir=staging_dir, fragment_bytes=max(1, rows) * width
    )
    return related


def _lags(
    narrow: Narrow, periods: Sequence[int], ahead: bool, unit: str | None, output_columns: Names | None
) -> tuple[Lag, ...]:
    schema, title = narrow.schema, narrow.label
    pairs = [(column, count) for column in narrow.values for count in periods]
    names = _outputs(schema, title, [f"{column}_{title}_{count}" for column, count in pairs], output_columns)
    if unit is not None:
        _check_differences(schema, title, narrow.values, unit)
    return tuple(
        Lag(column, schema.field(column).type, -count if ahead else count, name, f"v{place}", unit)
        for place, ((column, count), name) in enumerate(zip(pairs, names, strict=True))
    )


def _outputs(schema: pa.Schema, title: str, names: list[str], given: Names | None) -> list[str]:
    """Return the names of the new columns: those given, or those they have by themselves."""
    outputs = names if given is None else list(column_names(given, f"output_columns of {title}", stage=title))
    if len(outputs) != len(names):
        raise ConfigError(
            f"output_columns of {title} has {len(outputs)} name(s), expected {len(names)}: {', '.join(names)}",
            hint="Give a name for each column and period, those of the first column first.",
            stage=title,
        )
    check_names(outputs, title, stage=title)
    for place, name in enumerate(outputs):
        if name in schema.names or name in outputs[:place]:
            raise ConfigError(
                f"{title} would make column {name!r}, which is there already",
                hint="Choose other names with output_columns.",
                column=name,
                stage=title,
            )
    return outputs


def _counts(title: str, periods: int | Sequence[int]) -> list[int]:
    counts = list(periods) if isinstance(periods, Sequence) else [periods]
    if not counts or any(not isinstance(count, int) or isinstance(count, bool) or count < 1 for count in counts):
        raise ConfigError(
            f"periods of {title} is {periods!r}, expected positive integers",
            hint="For rows that come after, use lead.",
            stage=title,
        )
    return counts


def _keys(dataset: Dataset, title: str, names: Names) -> tuple[str, ...]:
    names = column_names(names, f"columns of {title}", stage=title)
    return resolve(names, dataset.schema, title) if names else ()


def _check_carried(field: pa.Field, title: str) -> None:
    if carrier(field.type) is None:
        raise SchemaError(
            f"column {field.name!r} is {field.type}, which {title} cannot take",
            hint="It takes numbers, strings, binary values, booleans, dates and times.",
            column=field.name,
            stage=title,
        )


def _check_differences(schema: pa.Schema, title: str, columns: Sequence[str], unit: str) -> None:
    check_one_of(f"unit of {title}", unit, SECONDS, stage=title)
    for name in columns:
        kind = schema.field(name).type
        whole = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
        if not (whole or pa.types.is_floating(kind) or pa.types.is_temporal(kind)):
            raise SchemaError(
                f"column {name!r} is {kind}, of which there is no difference",
                hint="It takes integers up to int64, floats, dates and times; cast the column before.",
                column=name,
                stage=title,
            )
