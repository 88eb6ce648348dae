"""Columns of lists on the host, and pairs of them as sparse vectors."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

from penstock import frames
from penstock.errors import DataValueError
from penstock.frames import sparse
from penstock.frames.ragged import Ragged

SCHEMA = pa.schema(list(sparse.fields(["v"]).items()))


def held(indices, values):
    return frames.from_arrow(pa.table({"v_indices": indices, "v_values": values}, schema=SCHEMA))


def test_a_slice_of_a_column_has_its_own_lists():
    for start in (0, 1, 3):
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


def test_lists_that_are_no_vectors_are_refused(subtests):
    for indices, values, problem in [
        ([[0]], [[1.0, 2.0]], "is not as long as"), ([[0], None], [[1.0], []], "is not as long as"),
        ([[1, 1]], [[1.0, 2.0]], "not above the one before"), ([[2, 0]], [[1.0, 2.0]], "not above the one before"),
        ([[-1]], [[1.0]], "negative"), ([[None]], [[1.0]], "has nulls"), ([[1]], [[None]], "has nulls"),
        ([[5]], [[1.0]], "has index 5, expected less than 5"),
    ]:  # fmt: skip
        with subtests.test(problem, indices=indices), pytest.raises(DataValueError, match=problem):
            sparse.to_csr(held(indices, values), "v", 5)
    found = sparse.to_csr(held([[3], [], None, [1]], [[1.0], [], None, [2.0]]), "v", 4)  # lower in the next row
    assert found.toarray().tolist() == [[0, 0, 0, 1], [0] * 4, [0] * 4, [0, 2, 0, 0]]
