"""Columns of lists on the host, and pairs of them as sparse vectors, also of frames that are not on the host."""

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

from penstock import frames
from penstock.errors import DataValueError
from penstock.frames import cudf, sparse, text
from penstock.frames.ragged import Ragged, with_lists

SCHEMA = pa.schema(list(sparse.fields(["v"]).items()))


def held(indices, values):
    return frames.from_arrow(pa.table({"v_indices": indices, "v_values": values}, schema=SCHEMA))


@pytest.mark.parametrize("start", [0, 1, 3])
def test_a_slice_of_a_column_has_its_own_lists(start):
    lists = pa.table({"w": [["a", "b"], None, ["c"], [], ["d", None]]}).slice(start)
    found = Ragged.of(frames.from_arrow(lists), "w")
    assert found.to_arrow().to_pylist() == lists["w"].to_pylist()
    assert found.lengths.tolist() == [len(each or []) for each in lists["w"].to_pylist()]


def test_rows_and_places_tell_where_an_element_is():
    lists = Ragged.of(frames.from_arrow(pa.table({"w": [[7, 8], None, [9]]})), "w")
    assert (lists.rows.tolist(), lists.places.tolist()) == ([0, 0, 2], [0, 1, 0])
    assert lists.keep(np.array([False, True, True])).to_arrow().to_pylist() == [[8], None, [9]]


def test_a_matrix_becomes_vectors_and_a_matrix_again():
    matrix = scipy.sparse.random(50, 30, 0.1, format="csr", random_state=1)
    matrix.sort_indices()
    frame = frames.from_arrow(pa.table({"x": np.arange(50)}))
    made = sparse.with_vectors(frame, {"v": (matrix, np.zeros(50, bool))})
    assert (sparse.to_csr(made, "v", 30) != matrix).nnz == 0
    assert frames.to_arrow(made).schema.field("v_indices").type == pa.list_(pa.int32())


def test_counting_leaves_what_is_counted_alone():
    codes, offsets = np.array([3, 1, 3]), np.array([0, 3, 3])
    assert sparse.counts(codes, offsets, 4).toarray().tolist() == [[0, 1, 0, 2], [0, 0, 0, 0]]
    assert (codes.tolist(), offsets.tolist()) == ([3, 1, 3], [0, 3, 3])


@pytest.mark.parametrize(("indices", "values", "problem"), [
    ([[0]], [[1.0, 2.0]], "is not as long as"), ([[0], None], [[1.0], []], "is not as long as"),
    ([[1, 1]], [[1.0, 2.0]], "not above the one before"), ([[2, 0]], [[1.0, 2.0]], "not above the one before"),
    ([[-1]], [[1.0]], "negative"), ([[None]], [[1.0]], "has nulls"), ([[1]], [[None]], "has nulls"),
    ([[5]], [[1.0]], "has index 5, expected less than 5"),
])  # fmt: skip
def test_lists_that_are_no_vectors_are_refused(indices, values, problem):
    with pytest.raises(DataValueError, match=problem):
        sparse.to_csr(held(indices, values), "v", 5)


def test_indices_may_fall_from_one_row_to_the_next():
    found = sparse.to_csr(held([[3], [], None, [1]], [[1.0], [], None, [2.0]]), "v", 4)
    assert found.toarray().tolist() == [[0, 0, 0, 1], [0] * 4, [0] * 4, [0, 2, 0, 0]]


def test_a_frame_on_a_gpu_goes_by_way_of_the_host(monkeypatch):
    # pandas stands in for cuDF: a frame that is not Polars, with an index that filtering has left with gaps.
    monkeypatch.setattr(frames, "is_gpu", lambda frame: frame.implementation.is_pandas())
    monkeypatch.setattr(cudf, "to_arrow", lambda native: pa.Table.from_pandas(native, preserve_index=False))
    monkeypatch.setattr(cudf, "from_arrow", lambda table: table.to_pandas(types_mapper=pd.ArrowDtype))
    table = pa.table({"w": [["z"], ["b"], ["c", "d"]], "t": ["z", "A b", "c"], "keep": [False, True, True]})
    native = table.to_pandas(types_mapper=pd.ArrowDtype)
    device = nw.from_native(native, eager_only=True).filter(nw.col("keep"))
    made = with_lists(device, {"again": Ragged.of(device, "w")})
    assert [list(each) for each in made["again"].to_list()] == [["b"], ["c", "d"]]
    split = text.split_at_spaces(device, {"t": "words"})
    assert [list(each) for each in split["words"].to_list()] == [["a", "b"], ["c"]]
