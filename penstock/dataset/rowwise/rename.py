"""Columns under other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, class_name
from penstock.core.names import check_names, column_names
from penstock.core.schemas import require
from penstock.dataset.steps import RowLog, Step


@dataclass(frozen=True)
class RenameColumns(Step):
    """Gives columns other names.

    Parameters
    ----------
    old, new : tuple of str
        The names before and after, one for the other.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"rename {len(self.old)} columns"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        names = dict(zip(self.old, self.new, strict=True))
        return pa.schema([field.with_name(names.get(field.name, field.name)) for field in schema])

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        before = dict(zip(self.new, self.old, strict=True))
        return frozenset(before.get(name, name) for name in wanted) if wanted & before.keys() else None

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        """Return the frame; columns that were left out before, and have one of the names, make way."""
        names = dict(zip(self.old, self.new, strict=True))
        taken = {new for old, new in names.items() if old in frame.columns}
        return frame.select(
            [nw.col(name).alias(names.get(name, name)) for name in frame.columns if name in names or name not in taken]
        )


def checked_names(mapping: Mapping[str, str], schema: pa.Schema, *, stage: str | None = None) -> RenameColumns:
    """Return the step that gives columns of `schema` other names.

    Raises
    ------
    SchemaError
        A column is not there, or a new name is one that Penstock keeps.
    ConfigError
        There is none, or two columns would have one name.
    """
    user = stage or "rename"
    if not isinstance(mapping, Mapping) or not mapping:
        raise ConfigError(
            f"{user} takes a mapping of names to new names, found {class_name(mapping)}",
            hint='Write {"old": "new"}.',
            stage=stage,
        )
    require(schema, list(mapping), stage=user)
    column_names(mapping.values(), f"new names of {user}", stage=stage)
    names = [mapping.get(name, name) for name in schema.names]
    check_names(names, user, stage=stage)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        old = [name for name in schema.names if mapping.get(name, name) == twice]
        raise ConfigError(
            f"{user} would call {len(old)} columns {twice!r}: {', '.join(old)}",
            hint=f"Give the other a new name too, or drop it before: drop({twice!r}).",
            column=twice,
            stage=stage,
        )
    return RenameColumns(tuple(mapping), tuple(mapping.values()))
