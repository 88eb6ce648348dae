"""Lists as rows."""

from __future__ import annotations

from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import SchemaError
from penstock.core.schemas import require, with_fields
from penstock.dataset.steps import RowLog, Step


@dataclass(frozen=True)
class Explode(Step):
    """Makes a row of every value in a list.

    Parameters
    ----------
    column : str
    keep_empty : bool
        Whether a row without a value, as its list is null or empty, stays, with null.
    """

    column: str
    keep_empty: bool
    keeps_rows = False
    makes_rows = True

    @property
    def label(self) -> str:
        return f"explode({self.column})"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, {self.column: schema.field(self.column).type.value_type})

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return wanted | {self.column}

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        has_values = (nw.col(self.column).list.len() > 0).fill_null(False)
        rows = frame if self.keep_empty else frame.filter(has_values)
        log.drop(f"{self.label}: null or empty", len(frame) - len(rows))
        # Libraries differ in what they do with an empty list, not with null.
        made = rows.with_columns(nw.when(has_values).then(nw.col(self.column)).alias(self.column)).explode(self.column)
        log.drop(self.label, len(rows) - len(made))
        return made


def checked_list(column: str, keep_empty: bool, schema: pa.Schema) -> Explode:
    """Return the step that explodes a column of `schema`; SchemaError where it is not there, or has no lists."""
    (name,) = require(schema, column)
    kind = schema.field(name).type
    if not pa.types.is_list(kind):
        raise SchemaError(
            f"column {name!r} is {kind}, but explode takes a list",
            hint='A text becomes one by with_columns(x=nw.col("x").str.split(",")).',
            column=name,
        )
    return Explode(name, keep_empty)
