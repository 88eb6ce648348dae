"""Time between two dates as a number."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.schemas import require
from penstock.stages.base import Fitted, Stage, Tags, with_fields
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing.dates.date_parts import check_temporal

_MICROSECONDS = {"seconds": 10**6, "minutes": 60 * 10**6, "hours": 3600 * 10**6, "days": 86400 * 10**6}


@dataclass(frozen=True)
class DateDifference(Stage):
    """Adds a column (float64) with the time from `start` to `end`, negative where `end` is earlier.

    Parameters
    ----------
    start, end : str
        Columns of dates (at midnight) or timestamps; both with a time zone or both without.
    unit : {"seconds", "minutes", "hours", "days"}, default="minutes"
        A day is 24 hours.
    output_column : str, optional
        Name of the new column; ``<start>_to_<end>`` unless given.

    Raises
    ------
    ConfigError
        The unit is not known, or the output has no name.
    SchemaError
        Before reading: a column is missing, holds no dates, or only one of the two has a time zone.

    Notes
    -----
    Times count to the microsecond; fractions of one are cut off. Between time zones it is the time that passes. Null
    where either is null. Nothing is learned.

    Examples
    --------
    >>> import datetime, penstock as ps, pyarrow as pa
    >>> from penstock.stages.preprocessing.dates.date_difference import DateDifference
    >>> noon = datetime.datetime(2024, 2, 29, 12)
    >>> table = pa.table({"a": [noon, noon], "b": [noon + datetime.timedelta(seconds=90), None]})
    >>> data = ps.LocalEngine(device="cpu").from_arrow(table)
    >>> ps.Pipeline(DateDifference("a", "b")).fit(data).transform(data).head()["a_to_b"].to_list()
    [1.5, None]
    """

    start: str
    end: str
    _: KW_ONLY
    unit: str = field(default="minutes", metadata=one_of(*_MICROSECONDS))
    output_column: str | None = None

    tags: ClassVar[Tags] = Tags(lazy=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output_column == "":
            raise ConfigError(f"output_column of {self.title} is '', expected a name", stage=self.title)

    def bind(self, schema: pa.Schema) -> Self:
        require(schema, self.inputs(), stage=self.title)
        for name in self.inputs():
            check_temporal(self, name, schema.field(name).type)
        zones = [getattr(schema.field(name).type, "tz", None) for name in self.inputs()]
        if (zones[0] is None) != (zones[1] is None):
            raise SchemaError(
                f"{self.start!r} has time zone {zones[0]}, {self.end!r} has {zones[1]}: no time lies between them",
                hint="Convert one of them before.",
                column=self.start,
                stage=self.title,
            )
        return self

    def inputs(self) -> tuple[str, ...]:
        return self.start, self.end

    def outputs(self) -> tuple[str, ...]:
        return (self.output_column or f"{self.start}_to_{self.end}",)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, dict.fromkeys(self.outputs(), pa.float64()))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Subtract microseconds as integers, so that the difference is exact before it is divided."""
        start, end = (nw.col(name).dt.timestamp("us") for name in self.inputs())
        # Polars divides by a constant through its reciprocal, unless the frame has one row; said here, it always does.
        passed = (end - start).cast(nw.Float64) * (1.0 / _MICROSECONDS[self.unit])
        return frame.with_columns(passed.alias(self.outputs()[0]))
