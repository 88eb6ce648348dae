"""Batches that ranks of XGBoost show each other, as plain numbers.

Whoever connects while they train may take part, see `penstock.spmd.xgboost_ports`. So nothing that comes over XGBoost's
connections is unpickled, as `xgboost.collective.broadcast` would: dtypes and shapes come from the coordinator, which
asks for a key; what XGBoost carries are bytes of known number, and those that say where others are, the places of a
sparse matrix and the ends of strings, are checked. A stranger can spoil numbers; what XGBoost
does with them is its own affair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from penstock.core.errors import ExecutionError
from penstock.spmd import Rank
from penstock.stages.training.trees._matrix import Batch

Layout = dict[str, tuple[str, tuple[int, ...]]]
"""Of each array its dtype and shape."""


def broadcast(rank: Rank, batch: Batch | None, root: int) -> Batch:
    """Return the features, labels, weights, groups and margins of the batch of rank `root`.

    Called inside `Rank.collective`.

    Parameters
    ----------
    batch : Batch or None
        On the host, its features an array or a CSR matrix; None on the other ranks.

    Raises
    ------
    ExecutionError
        What came is not what a rank sends.
    """
    own = {} if batch is None else _arrays(batch)
    layout, shape = rank.gather(None if batch is None else (_layout(own), batch.features.shape))[root]
    arrays = {name: _broadcast_array(own.get(name), *each) for name, each in layout.items()}
    try:
        features, weight, margin = _features(arrays, shape), arrays.get("weight"), arrays.get("margin")
        return Batch(features, arrays["label"], weight, group=_group(arrays), margin=margin)
    except (ValueError, pa.ArrowInvalid) as error:
        raise ExecutionError(
            f"what came from rank {root} over XGBoost's connections is not what it sent: {error}",
            hint="Keep strangers from the ports of the workers with a firewall, or train on one rank (world_size=1).",
        ) from error


def _broadcast_array(own: np.ndarray | None, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return the array that one rank gives, the others None: its bytes, and zeros of the others, joined by "or"."""
    from xgboost import collective

    array = np.zeros(shape, dtype) if own is None else np.ascontiguousarray(own)
    if not array.size:
        return array
    joined = collective.allreduce(array.reshape(-1).view(np.uint8), collective.Op.BITWISE_OR)
    return joined.view(dtype).reshape(shape)


def _layout(arrays: dict[str, np.ndarray]) -> Layout:
    return {name: (values.dtype.str, values.shape) for name, values in arrays.items()}


def _arrays(batch: Batch) -> dict[str, np.ndarray]:
    given = {"weight": batch.weight, "margin": batch.margin}
    more = {name: values for name, values in given.items() if values is not None}
    group = {} if batch.group is None else _of_group(batch.group)
    return {"label": batch.label, **more, **_of_features(batch.features), **group}


def _of_features(features: Any) -> dict[str, np.ndarray]:
    if sparse.issparse(features):
        return {"data": features.data, "indices": features.indices, "indptr": features.indptr}
    return {"features": features}


def _features(arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> Any:
    if "indptr" not in arrays:
        return arrays["features"]
    features = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    features.check_format(full_check=True)
    return features


def _of_group(group: pa.Array) -> dict[str, np.ndarray]:
    if pa.types.is_integer(group.type):
        return {"group": group.to_numpy()}
    text = group.cast(pa.large_string())
    _, ends, letters = text.buffers()
    ends = np.frombuffer(ends, np.int64)[text.offset : text.offset + len(text) + 1]
    return {"ends": ends - ends[0], "letters": np.frombuffer(letters, np.uint8)[ends[0] : ends[-1]]}


def _group(arrays: dict[str, np.ndarray]) -> pa.Array | None:
    if "ends" not in arrays:
        return pa.array(arrays["group"]) if "group" in arrays else None
    buffers = [pa.py_buffer(arrays[name]) for name in ("ends", "letters")]
    group = pa.LargeStringArray.from_buffers(len(arrays["ends"]) - 1, *buffers)
    group.validate(full=True)
    return group
