"""Hours, weekdays and other parts of dates as numbers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError, check_one_of
from penstock.stages.base import Fitted, SelectedColumns, Stage, Tags, normalise_columns, wrong_type

_OF_DATE = ("year", "month", "day", "weekday", "ordinal_day")
_OF_TIME = ("hour", "minute", "second")


@dataclass(frozen=True)
class DateParts(SelectedColumns):
    """Adds a column ``<column>_<part>`` (int32) for each part of each column; the columns themselves stay.

    ============ =================================================
    part         value
    ============ =================================================
    year         such as 2024
    month        1 to 12
    day          of the month, 1 to 31
    weekday      1 (Monday) to 7 (Sunday), as in ISO 8601
    ordinal_day  of the year, 1 to 366
    hour         0 to 23; only of timestamps, as the two below
    minute       0 to 59
    second       0 to 59, without the fraction
    ============ =================================================

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of dates or timestamps. A timestamp with a time zone gives the parts of its local time.
    parts : sequence of str, default=("hour", "weekday")
        Some of the above.

    Raises
    ------
    ConfigError
        No part, or one that is not known.
    SchemaError
        Before reading: a column is missing, holds no dates, or dates without the time of day that a part needs.

    Notes
    -----
    Every part of a null is null. Nothing is learned.

    Examples
    --------
    >>> import datetime, penstock as ps, pyarrow as pa
    >>> from penstock.stages.preprocessing.dates.date_parts import DateParts
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"at": [datetime.datetime(2024, 2, 29, 17, 30), None]}))
    >>> made = ps.Pipeline(DateParts("at", parts=("hour", "weekday"))).fit(data).transform(data)
    >>> made.select("at_hour", "at_weekday").head().rows()
    [(17, 4), (None, None)]
    """

    _: KW_ONLY
    parts: tuple[str, ...] = ("hour", "weekday")

    made_type: ClassVar[pa.DataType | None] = pa.int32()
    tags: ClassVar[Tags] = Tags(lazy=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "parts")
        known = _OF_DATE + _OF_TIME
        if not self.parts:
            raise ConfigError(f"parts of {self.title} is empty, expected some of {', '.join(known)}", stage=self.title)
        for part in self.parts:
            check_one_of(f"part of {self.title}", part, known, stage=self.title)

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        timed = [part for part in self.parts if part in _OF_TIME]
        for name in bound.inputs():
            kind = schema.field(name).type
            check_temporal(self, name, kind)
            if timed and pa.types.is_date(kind):
                raise SchemaError(
                    f"column {name!r} is {kind}, which has no {timed[0]}; {self.title} finds that in timestamps",
                    hint=f"Leave {', '.join(timed)} out of parts.",
                    column=name,
                    stage=self.title,
                )
        return bound

    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{name}_{part}" for name in self.inputs() for part in self.parts)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Take all parts of all columns in one list of expressions."""
        return frame.with_columns(
            *[
                getattr(nw.col(name).dt, part)().cast(nw.Int32).alias(f"{name}_{part}")
                for name in self.inputs()
                for part in self.parts
            ]
        )


def check_temporal(stage: Stage, name: str, kind: pa.DataType) -> None:
    """Raise SchemaError for a column that holds neither dates nor timestamps."""
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        hint = 'Declare it as "timestamp" or "date" where it is read.'
        raise wrong_type(stage.title, name, kind, "dates and timestamps", hint)
