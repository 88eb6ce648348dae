"""What stages share that add columns of numbers beside those they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import pyarrow as pa

from penstock.stages.base import SelectedColumns, Tags, name_taken
from penstock.stages.features import is_dense


@dataclass(frozen=True)
class AddedColumns(SelectedColumns):
    """A stage that makes new float64 columns, named before it is fitted, of columns of numbers; these stay."""

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def bind(self, schema: pa.Schema) -> Self:
        bound = self.resolved(schema)
        if not any(is_dense(name, schema) for name in bound.inputs()):
            bound.check_count()
        known = set(schema.names)
        for name in bound.outputs():
            if name in known:
                raise name_taken(self.title, name, "Rename that column before.")
            known.add(name)
        return bound

    def resolved(self, schema: pa.Schema) -> Self:
        """Return the stage with names for its columns, whose types are checked."""
        return super().bind(schema)

    def check_count(self) -> None:
        """Raise ConfigError unless there are as many columns as the stage needs; its columns are resolved."""
