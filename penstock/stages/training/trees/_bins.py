"""Where features are cut into bins: from one sample of rows, the same whatever the engine and the number of ranks.

XGBoost would merge the sketches of the ranks, which depends on how rows are dealt to them; trees of one rank and of
two would differ in every split. Here a row is in the sample by its number, every rank gets the whole sample, in the
order of the rows, and cuts it by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import xgboost as xgb

from penstock import devices
from penstock.io.fragments import hash_rows
from penstock.spmd import Rank
from penstock.stages.training.trees._exchange import broadcast
from penstock.stages.training.trees._matrix import Batch, Batches

SAMPLE_ROWS = 200_000
"""About as many rows are looked at; all, where there are no more. LightGBM's default (bin_construct_sample_cnt)."""
_SEED = 0x62696E73


def sample(rank: Rank, batches: Batches) -> Batch | None:
    """Return this rank's part of the sample, on the host; None where rows have lost their numbers.

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
    parts = [broadcast(rank, part if rank.index == root else None, root) for root in roots] or [part]

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
