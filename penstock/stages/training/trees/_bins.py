"""Where features are cut into bins: from one sample of rows, the same whatever the engine and the number of ranks.

XGBoost would merge the sketches of the ranks, which depends on how rows are dealt to them; trees of one rank and of
two would differ in every split. Here a row is in the sample by its number, every rank gets the whole sample, in the
order of the rows, and cuts it by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import xgboost as xgb

from penstock import devices
from penstock.frames import matrices
from penstock.io.fragments import hash_rows
from penstock.spmd import Rank
from penstock.stages.training.trees._exchange import broadcast
from penstock.stages.training.trees._matrix import Batch, Batches

SAMPLE_ROWS = 200_000
"""About as many rows are looked at; all, where there are no more. LightGBM's default (bin_construct_sample_cnt)."""
_SEED = 0x62696E73


def sample(rank: Rank, batches: Batches) -> Batch | None:
    """Return this rank's part of the sample, on the host; None where rows have lost their numbers.

    Read before the ranks meet.
    """
    if not batches.numbered:
        return None
    share = SAMPLE_ROWS / max(rank.total_rows("train"), 1)
    parts = [_chosen(batch, share) for batch in batches.each()]
    weights = [part.weight for part in parts if part.weight is not None]
    return Batch(
        matrices.concatenated([part.features for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate(weights) if weights else None,
    )


def _chosen(batch: Batch, share: float) -> Batch:
    assert batch.rows is not None
    chosen = hash_rows(batch.rows, _SEED) < share
    weight = None if batch.weight is None else matrices.rows_of(batch.weight, chosen)
    return Batch(matrices.rows_of(batch.features, chosen), matrices.rows_of(batch.label, chosen), weight)


def cut(rank: Rank, part: Batch | None, names: Sequence[str] | None, settings: Mapping[str, Any]) -> Any | None:
    """Return a matrix whose bins all ranks use, from the parts of all; None leaves it to XGBoost's sketch.

    Called inside `Rank.collective`.
    """
    if part is None:
        return None
    parts = _exchange(rank, part)

    def build() -> Any:
        devices.use(rank.kind)
        weights = [each.weight for each in parts if each.weight is not None]
        return xgb.QuantileDMatrix(
            matrices.to_device(matrices.concatenated([each.features for each in parts]), rank.kind),
            label=matrices.to_device(np.concatenate([each.label for each in parts]), rank.kind),
            weight=matrices.to_device(np.concatenate(weights), rank.kind) if weights else None,
            feature_names=names,
            max_bin=settings.get("max_bin"),
            nthread=settings["nthread"],
        )

    # A communicator belongs to a thread: in another one the matrix is made without the other ranks.
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(build).result()


def _exchange(rank: Rank, part: Batch) -> list[Batch]:
    if rank.size == 1:
        return [part]
    return [broadcast(rank, part if rank.index == root else None, root) for root in range(rank.size)]
