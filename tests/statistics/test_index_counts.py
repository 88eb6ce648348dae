"""How often indices occur in sparse vectors, against NumPy's own counts of the elements."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock.frames import sparse
from penstock.statistics.index_counts import IndexCounts, Indices

DRAW = np.random.default_rng(8)
INDICES = [sorted(DRAW.choice(50, 6, replace=False).tolist()) for _ in range(90)]
VALUES = [DRAW.integers(-1, 3, 6).astype(float).tolist() for _ in range(90)]
KINDS = pa.schema(list(sparse.fields(["v"]).items()))


def counted(positive: bool) -> Indices:
    whole = pa.table({"v_indices": [*INDICES, None], "v_values": [*VALUES, None]}, KINDS)
    return gathered(IndexCounts(sparse.columns("v"), positive=positive), *cut(whole, 0, 40))["v"]


@pytest.mark.parametrize("positive", [True, False])
def test_an_index_counts_where_its_value_does(positive):
    found = counted(positive)
    chosen = np.array(VALUES).ravel() > 0 if positive else slice(None)
    index, count = np.unique(np.array(INDICES).ravel()[chosen], return_counts=True)
    assert found.table.to_pydict() == {"index": index.tolist(), "count": count.tolist()}
    assert (found.vectors, found.size) == (90, 50)
