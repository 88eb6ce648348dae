"""Columns in other types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.schemas import declared
from penstock.core.type_names import type_name
from penstock.dataset.rowwise.cast import ERRORS, CastColumns, checked_cast
from penstock.dataset.steps import RowLog
from penstock.frames.columns import arrow_schema
from penstock.stages.base import Fitted, Tags, with_fields
from penstock.stages.parameter_checks import one_of, wrong_parameter
from penstock.stages.preprocessing._dropping import FilterStage


@dataclass(frozen=True)
class Cast(FilterStage):
    """Gives columns other types; no value is changed by it unnoticed.

    Parameters
    ----------
    types : mapping of name to type
        As for a declared schema: ``{"fare": "float64", "day": "date32"}``.
    errors : {"raise", "null", "quarantine"}, default="raise"
        What becomes of a value that its type does not hold: an error, null, or its row is set aside, as by ``Expect``.
    formats : mapping of str to str, optional
        Of columns of texts that become dates or timestamps, or of these that become texts, in codes of strftime;
        ISO 8601 unless given.

    Raises
    ------
    ConfigError
        A type, `errors` or a format is not known.
    SchemaError
        Before reading: a column is missing, or there is no way from its type to the other.
    DataValueError
        When it runs, with ``errors="raise"``: names the value, and the first file and row.

    Notes
    -----
    What a type holds is as for `Dataset.cast`: numbers have to stay what they are, but for float64 that is rounded to
    float32 and decimals to floats; texts are read as in a CSV file. Rows that are set aside are counted by the reason,
    values that are made null are not. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"fare": ["12.5", "free"], "day": ["29.02.2024", None]}))
    >>> types = {"fare": "float64", "day": "date32"}
    >>> model = ps.Pipeline(st.Cast(types, errors="null", formats={"day": "%d.%m.%Y"})).fit(data)
    >>> model.transform(data).to_polars().rows()
    [(12.5, datetime.date(2024, 2, 29)), (None, None)]
    """

    types: Mapping[str, str | pa.DataType] = field(hash=False)
    _: KW_ONLY
    errors: str = field(default="raise", metadata=one_of(*ERRORS))
    formats: Mapping[str, str] | None = field(default=None, hash=False)

    tags: ClassVar[Tags] = Tags()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.types, Mapping) or not self.types:
            raise wrong_parameter(self, "types", "a mapping of names to types")
        declared(dict(self.types))
        object.__setattr__(self, "types", {name: type_name(kind) for name, kind in self.types.items()})
        if self.formats is not None:
            object.__setattr__(self, "formats", dict(self.formats))
        if self.errors == "quarantine":
            object.__setattr__(self, "tags", Tags(keeps_rows=False, numbers_rows=True))

    def bind(self, schema: pa.Schema) -> Self:
        """Check the columns and their types."""
        self._step(schema)
        return self

    def _step(self, schema: pa.Schema) -> CastColumns:
        return checked_cast(self.types, self.errors, self.formats, schema, stage=self.title)

    def inputs(self) -> tuple[str, ...]:
        """Return the columns that are cast."""
        return tuple(self.types)

    def outputs(self) -> tuple[str, ...]:
        """Return the columns that are cast."""
        return tuple(self.types)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the types."""
        wanted = declared(dict(self.types))
        return with_fields(schema, dict(zip(wanted.names, wanted.types, strict=True)))

    def filter(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        """Return the frame with the columns cast, and count what is set aside or made null."""
        given = arrow_schema(frame, self.inputs())
        return self._step(given).apply(frame, log)
