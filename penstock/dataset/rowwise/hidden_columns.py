"""Columns that are computed within an operation, and that no user sees."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.dataset.rowwise.with_columns import WithColumns


@dataclass(frozen=True, eq=False)
class HiddenColumns(WithColumns):
    """Adds columns under names that `hidden_name` gives."""

    @property
    def hidden(self) -> frozenset[str]:  # type: ignore[override]
        return self.names
