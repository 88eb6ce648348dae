"""What is known of a dataset without reading it, in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.core.sizes import show_bytes
from penstock.dataset.relations.relation import PendingSource

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


def facts_of(dataset: Dataset) -> dict[str, Any]:
    """Return rows, columns, files and engine; of a query that has not run, that it has not.

    Rows are those before steps that may drop some, and before samples.
    """
    source = dataset.reader.source
    if isinstance(source, PendingSource) and not source.pending.is_done:
        return {"rows": f"of a query ({source.pending.label}) that has not run"} | _shape(dataset)
    stored = sum(fragment.rows for fragment in dataset.fragments)
    exact = not dataset.reader.samples and all(step.keeps_rows for step in dataset.steps)
    return {"rows": stored if exact else f"at most {stored:,}"} | _shape(dataset) | _files(dataset)


def _shape(dataset: Dataset) -> dict[str, Any]:
    return {"columns": len(dataset.schema), "steps": len(dataset.steps) or None, "engine": dataset.engine.name}


def _files(dataset: Dataset) -> dict[str, Any]:
    sizes = {piece.path: piece.size for fragment in dataset.fragments for piece in fragment.pieces}
    return {
        "fragments": len(dataset.fragments),
        "files": len(sizes) if any(sizes.values()) else None,
        "size": show_bytes(sum(sizes.values())) if any(sizes.values()) else None,
    }
