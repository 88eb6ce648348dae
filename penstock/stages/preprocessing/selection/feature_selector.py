"""A stage that leaves columns out; which, is known when it is fitted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import narwhals as nw
import pyarrow as pa

from penstock.stages.base import Fitted, RowFunction, SelectedColumns, Tags


@dataclass(frozen=True)
class FeatureSelector(SelectedColumns):
    """A stage that leaves out some of its columns, as it learns of them, and changes nothing else.

    Stages after it are bound once it is fitted, to the columns that are left. It reads nothing when it is used, so that
    data without the columns left out can be scored. A subclass says what it learns, and `left_out` by that.
    """

    tags: ClassVar[Tags] = Tags(accepts="numeric", lazy=True)

    def inputs(self) -> tuple[str, ...]:
        return ()

    def doubtful(self) -> tuple[str, ...]:
        """Return the columns that it chooses from, in their order."""
        return self.columns  # type: ignore[return-value]

    @abstractmethod
    def left_out(self, fitted: Fitted) -> Mapping[str, str]:
        """Return the columns that are left out, each with the reason in words; as the stage's `finish` learned."""

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        """Return the schema without what is left out."""
        left = self.left_out(fitted)
        return pa.schema([field for field in schema if field.name not in left])

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Drop what is left out, as far as it is there."""
        left = self.left_out(fitted)
        return frame.drop([name for name in frame.collect_schema() if name in left])

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Leave the row alone: nobody asks for the columns that are left out."""
        return lambda row: None
