"""What stages share that add columns of numbers beside those they read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.selectors import Columns, resolve
from penstock.stages.base import Stage, Tags, check_types, normalise_columns, with_fields


@dataclass(frozen=True)
class AddedColumns(Stage):
    """A stage that makes new float64 columns, named before it is fitted, of columns of numbers; these stay."""

    columns: Columns

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def __post_init__(self) -> None:
        normalise_columns(self, "columns")

    def bind(self, schema: pa.Schema) -> Self:
        bound = self.resolved(schema)
        check_types(bound, schema, bound.inputs())
        bound.check_count()
        known = set(schema.names)
        for name in bound.outputs():
            if name in known:
                raise ConfigError(
                    f"{self.title} adds {name!r}, but there is a column of that name",
                    hint="Rename that column before.",
                    column=name,
                    stage=self.title,
                )
            known.add(name)
        return bound

    def resolved(self, schema: pa.Schema) -> Self:
        """Return the stage with names for its columns."""
        return dataclasses.replace(self, columns=resolve(self.columns, schema, self.title))

    def check_count(self) -> None:
        """Raise ConfigError unless there are as many columns as the stage needs; its columns are resolved."""

    def inputs(self) -> tuple[str, ...]:
        return self.columns  # type: ignore[return-value]

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, dict.fromkeys(self.outputs(), pa.float64()))
