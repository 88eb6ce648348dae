"""Statistics of sparse vectors: bounds and sums by index, whatever the partitions, and rows that hold no vector."""

from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from penstock import frames
from penstock.errors import DataValueError
from penstock.frames import sparse
from penstock.statistics.class_indices import ClassIndices
from penstock.statistics.index_extremes import IndexExtremes
from penstock.statistics.vector_faults import BROKEN, count_faults, refuse_faults

ROWS, SIZE = 200, 12
VECTOR = sparse.columns("v")
DRAW = np.random.default_rng(1)
MATRIX = scipy.sparse.random(ROWS, SIZE, 0.4, format="csr", random_state=3, data_rvs=lambda n: DRAW.normal(size=n))
MATRIX.sort_indices()
LABEL = DRAW.integers(0, 3, ROWS).astype(str)
WEIGHT = DRAW.integers(0, 3, ROWS).astype(float)


def frame(matrix: Any = MATRIX) -> nw.DataFrame[Any]:
    rows = np.split(matrix.indices, matrix.indptr[1:-1]), np.split(matrix.data, matrix.indptr[1:-1])
    lists = {name: pa.array(each, kind) for each, (name, kind) in zip(rows, sparse.fields(["v"]).items(), strict=True)}
    return frames.from_arrow(pa.table({**lists, "label": LABEL, "w": WEIGHT}))


def parts(whole: nw.DataFrame[Any]) -> list[nw.DataFrame[Any]]:
    return [whole[:0], whole[:50], whole[50:51], whole[51:]]


def gathered(statistic: Any, whole: nw.DataFrame[Any]) -> Any:
    return statistic.finish(statistic.merge([statistic.summarise(part) for part in parts(whole)]))


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes_are_those_of_the_dense_columns(weighted: bool) -> None:
    columns = (*VECTOR, "w") if weighted else VECTOR
    found = gathered(IndexExtremes(columns, weighted=weighted), frame())
    dense = MATRIX.toarray()[WEIGHT > 0] if weighted else MATRIX.toarray()
    np.testing.assert_array_equal(found.index, np.arange(SIZE))
    np.testing.assert_array_equal(found.low, dense.min(axis=0))
    np.testing.assert_array_equal(found.high, dense.max(axis=0))
    assert found.rows == len(dense)


def test_zero_is_no_extreme_of_an_index_that_all_rows_have() -> None:
    full = scipy.sparse.csr_matrix(np.full((ROWS, 1), 2.5))
    found = gathered(IndexExtremes(VECTOR), frame(full))
    assert (found.low.tolist(), found.high.tolist()) == ([2.5], [2.5])


def test_states_grow_with_the_indices_there_are_and_not_with_the_largest() -> None:
    far = scipy.sparse.csr_matrix((np.ones(ROWS), np.full(ROWS, 2**31 - 2), np.arange(ROWS + 1)), (ROWS, 2**31 - 1))
    assert gathered(IndexExtremes(VECTOR), frame(far)).index.tolist() == [2**31 - 2]
    assert gathered(ClassIndices(("label", *VECTOR), "negative"), frame(far)).index.tolist() == [2**31 - 2]


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_by_class_are_those_of_the_dense_columns(weighted: bool) -> None:
    counts = abs(MATRIX).ceil()
    columns = ("label", *VECTOR, *(["w"] if weighted else []))
    found = gathered(ClassIndices(columns, "negative", weighted=weighted), frame(counts))
    weight = WEIGHT if weighted else np.ones(ROWS)
    members = np.equal.outer(["0", "1", "2"], LABEL) * weight
    assert found.classes.to_pylist() == ["0", "1", "2"]
    np.testing.assert_array_equal(found.rows, (members > 0).sum(axis=1))
    np.testing.assert_array_equal(found.weight, members.sum(axis=1))
    np.testing.assert_array_equal(found.sums, members @ counts.toarray()[:, found.index])


def test_sums_refuse_too_many_classes() -> None:
    with pytest.raises(DataValueError, match="column 'label' has 3 or more classes, expected at most 2"):
        ClassIndices(("label", *VECTOR), "negative", limit=2).summarise(frame(abs(MATRIX)))


def test_faults_are_counted_by_row_and_their_predicates_find_the_same_rows() -> None:
    rows: list[tuple[Any, Any]] = [
        ([0, 5], [1.0, 2.0]), ([], []), (None, None), ([1], None), ([1, 2], [1.0]), ([None], [1.0]), ([1], [None]),
        ([2, 1], [1.0, 1.0]), ([3, 3], [1.0, 1.0]), ([-1], [1.0]), ([1, 2], [np.nan, np.inf]), ([7], [-2e150]),
        ([7], [0.5]), ([7], [-1e150]),
    ]  # fmt: skip
    expected = {
        "null": [2], "unequal": [3, 4], "null indices": [5], "null values": [6], "unordered": [7, 8, 9],
        "infinite": [10], "too large": [10, 11], "negative": [11, 13],
        "not binary": [0, 10, 11, 12, 13],
    }  # fmt: skip
    kind = pa.schema(list(sparse.fields(["v"]).items()))
    table = pa.table([*map(list, zip(*rows, strict=True))], schema=kind)
    given = nw.from_native(pl.DataFrame(table), eager_only=True).with_row_index("n")  # with the NaN, which may be made
    for fault, bad in expected.items():
        assert count_faults(given, "v", [fault]) == [len(bad)]
        with pytest.raises(DataValueError) as caught:
            refuse_faults("v", [fault], [len(bad)])
        found = given.filter(caught.value.predicate)["n"].to_list()
        assert found == bad, fault
    assert set(BROKEN) < set(expected)
