"""The matrices of a rank that XGBoost learns from and watches: made once for all trainings on the same rows.

Ranking compares the rows of a group among themselves, and a group that is cut in two is two groups to XGBoost. Rows
are dealt to ranks as they lie in the files, wherever their groups are; so the ranks show each other what they read,
one batch after the other, and each keeps the rows of its groups.

Bins are cut from one sample of rows, the same whatever the engine and the number of ranks. XGBoost would merge the
sketches of the ranks, which depends on how rows are dealt to them; trees of one rank and of two would differ in every
split. Here a row is in the sample by its number, every rank gets the whole sample, in the order of the rows, and cuts
it by itself.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xgboost as xgb

from penstock import devices
from penstock.frames import Kind
from penstock.io.row_hashes import hash_rows
from penstock.spmd import Rank
from penstock.stages.training.trees._exchange import broadcast
from penstock.stages.training.trees._matrix import Batch, Batches, ToBatch


class QuantisedInputs:
    """A rank's rows, read before the ranks meet, and the matrices that are made of them when they have met.

    Parameters
    ----------
    rank : Rank
    convert : ToBatch
    folder : str or None
        Of the files of a training from external memory.

    Attributes
    ----------
    names : list of str or None
        Of the columns of the matrices.
    beyond : mapping of str to int
        What `_float32` has to say of the features of this rank; all of it once the matrices are made.
    """

    def __init__(self, rank: Rank, convert: ToBatch, folder: str | None = None) -> None:
        converts = dict.fromkeys(rank.datasets, convert)
        converts["train"] = replace(convert, numbered=rank.numbers_rows("train"))
        caches = {name: None if folder is None else os.path.join(folder, name) for name in rank.datasets}
        self._batches = {name: Batches(rank, name, converts[name], caches[name]) for name in rank.datasets}
        self._sample = sample(rank, self._batches["train"])
        self._made: list[xgb.DMatrix] = []
        self.names = convert.names
        self.beyond: Mapping[str, int] = {}

    @classmethod
    def of(cls, rank: Rank, convert: ToBatch, settings: Mapping[str, Any], folder: str | None) -> Self:
        """Return the inputs of a training; those of an earlier one with such bins, unless files go with each."""
        if folder is not None:
            return cls(rank, convert, folder)
        key: Hashable = (cls, convert.key, settings.get("max_bin"))
        return rank.prepared(key, lambda: cls(rank, convert))

    def matrices(self, rank: Rank, settings: Mapping[str, Any]) -> list[xgb.DMatrix]:
        """Return the matrix to learn from, and after it that to watch, if any; all ranks call it at the same time."""
        if not self._made:
            self._made = self._quantised(rank, settings)
            self.beyond = self._batches["train"].beyond
            self._batches, self._sample = {}, None
        return self._made

    def _quantised(self, rank: Rank, settings: Mapping[str, Any]) -> list[xgb.DMatrix]:
        reference = cut(rank, self._sample, self.names, settings)
        for each in self._batches.values():
            if each.grouped:
                bring_together(rank, each)
        train = _matrix(self._batches["train"], settings, reference)
        watched = [_matrix(self._batches["validation"], settings, train)] if "validation" in self._batches else []
        return [train, *watched]


def _matrix(batches: Batches, settings: Mapping[str, Any], reference: Any) -> xgb.DMatrix:
    make = xgb.ExtMemQuantileDMatrix if batches.external else xgb.QuantileDMatrix
    matrix = make(batches, ref=reference, max_bin=settings.get("max_bin"), nthread=settings["nthread"])
    batches.release()
    return matrix


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
            yield own.pop(0).to_host()
        return
    for root, count in enumerate(rank.gather(len(own))):
        for _ in range(count):
            yield broadcast(rank, own.pop(0).to_host() if rank.index == root else None, root)


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
    return np.array(ranks, dtype=np.int64)[coded.indices.to_numpy()]


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


SAMPLE_ROWS = 200_000
"""About as many rows are looked at; all, where there are no more. LightGBM's default (bin_construct_sample_cnt)."""
_SEED = 0x62696E73


def sample(rank: Rank, batches: Batches) -> Batch | None:
    """Return this rank's part of the sample, where its rows are; None where rows have lost their numbers.

    None, too, where XGBoost would cut all rows as it cuts the sample of them: there they need not be gone through
    twice. Read before the ranks meet.
    """
    share = SAMPLE_ROWS / max(rank.total_rows("train"), 1)
    if not batches.numbered or (share >= 1 and _sketches_all(rank, batches)):
        return None
    parts = []
    for batch in batches.each():
        assert batch.rows is not None
        parts.append(replace(batch, margin=None).take(hash_rows(batch.rows, _SEED) < share))
    return Batch.joined(parts)


def _sketches_all(rank: Rank, batches: Batches) -> bool:
    """Return whether XGBoost sees all rows in their order: a CPU takes them one by one, whatever batches they are in.

    A GPU merges sketches of batches; and rows of groups are put in another order, and have the weights of groups.
    """
    return rank.size == 1 and rank.kind == "cpu" and not (batches.grouped or batches.external)


def cut(rank: Rank, part: Batch | None, names: Sequence[str] | None, settings: Mapping[str, Any]) -> Any | None:
    """Return a matrix whose bins all ranks use, from the parts of all; None leaves it to XGBoost's sketch.

    Called inside `Rank.collective`.
    """
    if part is None:
        return None
    roots = range(rank.size) if rank.size > 1 else ()
    parts = [broadcast(rank, part.to_host() if rank.index == root else None, root) for root in roots] or [part]

    def build() -> Any:
        devices.use(rank.kind)
        whole = Batch.joined(parts).to_device(rank.kind)
        return xgb.QuantileDMatrix(
            whole.features,
            label=whole.label,
            weight=whole.weight,
            feature_names=names,
            max_bin=settings.get("max_bin"),
            nthread=settings["nthread"],
        )

    # A communicator belongs to a thread: in another one the matrix is made without the other ranks.
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(build).result()
