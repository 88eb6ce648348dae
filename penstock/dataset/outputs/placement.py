"""Where the rows of a write go: which mode, which folders, which files."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError, check_one_of
from penstock.core.names import column_names
from penstock.core.schemas import require
from penstock.io.sinks.layout import Layout
from penstock.io.sinks.partitions import Partitioning

MODES = ("error", "overwrite", "append", "overwrite_partitions", "merge")
ADDING = ("append", "overwrite_partitions", "merge")
"""The modes that keep rows of the output that is there."""

_LONGEST_RUN_ID = 256


@dataclass(frozen=True)
class Placement:
    """What `Dataset.write` is told besides the format; parameters are as there, and checked when it is made."""

    mode: str = "error"
    partition_by: Sequence[str] = ()
    keys: Sequence[str] = ()
    sort_by: Sequence[str] = ()
    max_rows_per_file: int | None = None
    run_id: str | None = None

    def __post_init__(self) -> None:
        check_one_of("mode", self.mode, MODES)
        for name in ("partition_by", "keys", "sort_by"):
            object.__setattr__(self, name, column_names(getattr(self, name), f"{name} of write"))
        _check_needs(self)
        _check_rows(self.max_rows_per_file)
        _check_run_id(self.run_id)

    @property
    def adds(self) -> bool:
        """Whether rows of the output that is there may stay."""
        return self.mode in ADDING

    def partitioning(self, schema: pa.Schema) -> Partitioning | None:
        """Return how rows of a schema lie in folders; the errors are those of `Partitioning.of`."""
        return Partitioning.of(schema, self.partition_by) if self.partition_by else None

    def layout(self, schema: pa.Schema, run: str) -> Layout:
        """Return how the rows of a fragment lie in files; names have the run in them where others are there already.

        Raises
        ------
        SchemaError
            A column is not in the schema.
        ConfigError
            Values of a column make no folders, have no order, or are no keys.
        """
        _check_ordered(schema, self.sort_by, "sort_by")
        _check_ordered(schema, self.keys, "keys")
        prefix = f"part-{run}" if self.adds else "part"
        sort_by = tuple(name for name in self.sort_by if name not in self.partition_by)
        return Layout(self.partitioning(schema), sort_by, self.max_rows_per_file, prefix)


def _check_needs(placement: Placement) -> None:
    if placement.mode == "merge" and not placement.keys:
        raise ConfigError('mode="merge" needs keys', hint='Name the columns that tell rows apart: keys="id".')
    if placement.keys and placement.mode != "merge":
        raise ConfigError(f'keys are for mode="merge", and mode is {placement.mode!r}')
    if placement.mode == "overwrite_partitions" and not placement.partition_by:
        raise ConfigError(
            'mode="overwrite_partitions" needs partition_by',
            hint='Name the columns of the folders: partition_by="day".',
        )


def _check_rows(rows: Any) -> None:
    if rows is not None and (type(rows) is not int or rows < 1):
        raise ConfigError(f"max_rows_per_file is {rows!r}, expected a whole number from 1, or None")


def _check_run_id(run_id: Any) -> None:
    if run_id is None:
        return
    is_text = isinstance(run_id, str) and 1 <= len(run_id) <= _LONGEST_RUN_ID
    if not is_text or any(unicodedata.category(character) in ("Cc", "Cs") for character in run_id):
        raise ConfigError(
            f"run_id is {run_id!r:.80}, expected 1 to {_LONGEST_RUN_ID} characters of text",
            hint="Name the run as the scheduler does: scheduled__2024-01-01T00:00:00+00:00.",
        )


def _check_ordered(schema: pa.Schema, columns: Sequence[str], what: str) -> None:
    for name in require(schema, columns):
        kind = schema.field(name).type
        if pa.types.is_nested(kind):
            raise ConfigError(f"column {name!r} is {kind}, which {what} does not take", column=name)
