"""Rows that belong together, query and results say, brought to one rank: each group's rank is told by its value.

Ranking compares the rows of a group among themselves, and a group that is cut in two is two groups to XGBoost. Rows
are dealt to ranks as they lie in the files, wherever their groups are; so the ranks show each other what they read,
one batch after the other, and each keeps the rows of its groups.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.frames import Kind
from penstock.spmd import Rank
from penstock.stages.training.trees._exchange import broadcast
from penstock.stages.training.trees._matrix import Batch, Batches


def bring_together(rank: Rank, batches: Batches) -> None:
    """Replace the rows that a rank read by all rows of its groups, sorted by group; called inside `Rank.collective`.

    Rows of a group keep the order of the dataset. At most a rank holds the rows that it read, those of its groups
    twice, and one batch of another rank, as float32.
    """
    kept = [own for part in _shown(rank, batches.take()) if (own := _of_rank(part, rank)) is not None]
    batches.put(_sorted(kept, rank.kind) if kept else None)


def _shown(rank: Rank, own: list[Batch]) -> Iterator[Batch]:
    """Yield the batches of all ranks in their order, on the host; a rank's own are let go as they are shown."""
    if rank.size == 1:
        while own:
            yield _on_host(own.pop(0))
        return
    for root, count in enumerate(rank.gather(len(own))):
        for _ in range(count):
            yield broadcast(rank, _on_host(own.pop(0)) if rank.index == root else None, root)


def _on_host(batch: Batch) -> Batch:
    return batch.take(np.ones(len(batch.label), dtype=bool))


def _of_rank(batch: Batch, rank: Rank) -> Batch | None:
    """Return the rows whose groups are this rank's, if any."""
    assert batch.group is not None
    mine = owners(batch.group, rank.size) == rank.index
    return batch.take(mine) if mine.any() else None


def owners(group: pa.Array, size: int) -> np.ndarray:
    """Return the rank of each row: a checksum of its group, the same on every machine.

    Examples
    --------
    >>> owners(pa.array(["fig", "pear", "fig", "plum"]), 2)
    array([1, 1, 1, 0])
    """
    coded = group.dictionary_encode()
    ranks = [zlib.crc32(str(value).encode()) % size for value in coded.dictionary.to_pylist()]
    of_rows: np.ndarray = np.array(ranks, dtype=np.int64)[coded.indices.to_numpy()]
    return of_rows


def _sorted(parts: list[Batch], kind: Kind) -> Batch:
    """Join batches to one, sorted by group; groups become their places, and weights those of groups."""
    group = pa.chunked_array([part.group for part in parts])
    places = pc.rank(group, "ascending", tiebreaker="dense").to_numpy().astype(np.int64) - 1
    order = np.argsort(places, kind="stable")
    places, whole = places[order], Batch.joined(parts)
    weight = None
    if whole.weight is not None:
        weight = (np.bincount(places, whole.weight[order]) / np.bincount(places)).astype(np.float32)
    margin = None if whole.margin is None else whole.margin[order]
    return Batch(whole.features[order], whole.label[order], weight, group=pa.array(places), margin=margin).to_device(
        kind
    )
