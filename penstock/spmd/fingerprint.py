"""What tells one training from another, so that none goes on from a checkpoint that is not its own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.dataset.steps import history
from penstock.io.fragments import Piece
from penstock.spmd.assignment import Body
from penstock.spmd.checkpoints import CheckpointStore
from penstock.spmd.options import SpmdOptions

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


def checkpoint_store(
    options: SpmdOptions, body: Body, datasets: Mapping[str, Dataset], size: int | None
) -> CheckpointStore:
    """Return where the checkpoints of one training are kept; those of others, in the same directory, are not seen."""
    key = "" if options.checkpoint_dir is None else fingerprint(body, datasets, size)
    return CheckpointStore(options.checkpoint_dir, key, options.storage_options)


def fingerprint(body: Body, datasets: Mapping[str, Dataset], size: int | None) -> str:
    """Return a text that differs between trainings: of what, on which rows, after which steps, on how many ranks.

    Without a size, which is that of a training whose ranks become more, it is of any number.
    """
    return repr((body, {name: _rows(dataset) for name, dataset in datasets.items()}, size))


def _rows(dataset: Dataset) -> tuple[Any, ...]:
    pieces = [_identity(piece) for fragment in dataset.fragments for piece in fragment.pieces]
    return history(dataset.steps), dataset.reader.samples, pieces


def _identity(piece: Piece) -> tuple[Any, ...]:
    """Return what tells the rows of a piece from others: the file as it was planned, or the values themselves."""
    if piece.table is None:
        deleted = hashlib.sha256(piece.left_out).hexdigest()
        return piece.path, piece.size, piece.mtime, piece.first, piece.rows, deleted
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, piece.table.schema) as writer:
        writer.write_table(piece.table)
    return hashlib.sha256(sink.getvalue()).hexdigest(), piece.first, piece.rows
