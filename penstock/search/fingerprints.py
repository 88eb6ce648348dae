"""What tells one search from another, so that none goes on with the trials of a different one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from penstock.core.errors import ConfigError
from penstock.dataset.dataset import Dataset
from penstock.dataset.folds.folds import Folds
from penstock.dataset.steps import history
from penstock.io.fragments import Piece
from penstock.pipeline.pipeline import Pipeline
from penstock.search.descriptions import label
from penstock.spmd.checkpoints import table_digest
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.evaluation.shared_scan import named_evaluators


def fingerprint(pipeline: Pipeline, folds: Folds, evaluators: Evaluators, metric: str) -> dict[str, str]:
    """Return texts, by what they are of, that differ between searches whose trials cannot be compared.

    Files go by their names, sizes, partitions and rows, without those that are deleted, so that a copy of them in
    another folder is the same data; tables in memory by their values.
    """
    stages = zip(pipeline.names, pipeline.stages, strict=True)
    return {
        "pipeline": _digest({name: label(stage) for name, stage in stages}),
        "data": _digest(_rows(folds.dataset)),
        "folds": _digest((folds.dealer, folds.splits)),
        "evaluators": _digest({name: label(each) for name, each in named_evaluators(evaluators).items()}),
        "metric": metric,
    }


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _rows(dataset: Dataset) -> Mapping[str, Any]:
    pieces = [_identity(piece) for fragment in dataset.fragments for piece in fragment.pieces]
    steps = [step.label for step in history(dataset.steps)]
    return {"schema": str(dataset.schema), "samples": dataset.reader.samples, "steps": steps, "rows": pieces}


def _identity(piece: Piece) -> tuple[Any, ...]:
    if piece.table is None:
        name = piece.path.replace("\\", "/").rpartition("/")[2]
        return name, piece.size, piece.first, piece.rows, piece.keys, _digest(piece.left_out)
    return table_digest(piece.table), piece.first, piece.rows


def check_same_study(shown: str, stored: Mapping[str, str], fingerprint: Mapping[str, str]) -> None:
    """Raise ConfigError for a stored study of another fingerprint; tells all that differs."""
    names = dict.fromkeys([*stored, *fingerprint])
    differing = [_difference(name, stored.get(name), fingerprint.get(name)) for name in names]
    if any(differing):
        raise ConfigError(
            f"the study {shown} is another one; what differs: {', '.join(filter(None, differing))}",
            hint="Go on with it as it was begun, or give another place for this study.",
        )


def _difference(name: str, there: str | None, here: str | None) -> str:
    if there == here:
        return ""
    return f"{name} ({there} there, {here} here)" if len(f"{there}{here}") < 60 else name
