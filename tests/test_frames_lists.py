"""Kernels on lists against plain Python, and the same answers for frames that are not on the host."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import SchemaError
from penstock.frames import cudf
from penstock.frames import lists as frames_lists

KINDS = {"numbers": float, "integers": int, "strings": "item {}".format}


def drawn(rows=300, items=12, longest=8):
    """Yield distinct predictions and labels with few items, in several shapes, one much longer."""
    for make in KINDS.values():
        rng = np.random.default_rng(5)
        lists = [[make(item) for item in rng.permutation(items)[: rng.integers(0, longest)]] for _ in range(2 * rows)]
        lists[0] = [make(item) for item in range(40)]
        yield lists[:rows], lists[rows:]


def held(predictions, labels, **others):
    return frames.from_arrow(pa.table({"p": predictions, "l": labels, **others}))


def test_elements_are_compared_in_one_type(subtests):
    for left, right, expected in [
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.int64(), pa.float32(), pa.float64()),
        (pa.float32(), pa.float32(), pa.float64()),
        (pa.large_string(), pa.string(), pa.string()),
        (pa.null(), pa.string(), pa.string()),
        (pa.null(), pa.null(), pa.float64()),
        (pa.int64(), pa.string(), None),
        (pa.float64(), pa.string(), None),
        (pa.uint64(), pa.int64(), None),
        (pa.bool_(), pa.bool_(), None),
        (pa.list_(pa.int64()), pa.list_(pa.int64()), None),
    ]:
        with subtests.test(left=left):
            assert frames_lists.element_type(pa.list_(left), pa.large_list(right)) == expected
            assert frames_lists.element_type(pa.list_(right), pa.list_(left, 3)) == expected


def test_what_cannot_be_compared_is_refused_with_both_types():
    assert frames_lists.element_type(pa.int64(), pa.list_(pa.int64())) is None
    for predictions, labels in (([["a"]], [[1]]), ([1], [[1]]), ([[True]], [[True]])):
        with pytest.raises(SchemaError, match=r"'p' \(.*\) and 'l' \(.*\) cannot be compared[\s\S]*Hint: Cast"):
            frames_lists.on_host(held(predictions, labels), ("p", "l"))


def test_both_columns_get_one_type_of_lists_of_any_length_and_the_others_stay():
    found = frames_lists.on_host(held([[1]], [[2.5]], w=[3], more=["x"]), ("p", "l"), ["w"])
    assert nw.to_native(found).schema == {"p": pl.List(pl.Float64), "l": pl.List(pl.Float64), "w": pl.Int64}
    fixed = held(pa.array([[1, 2]], pa.list_(pa.int64(), 2)), [[2]])
    assert frames_lists.on_host(fixed, ("p", "l")).rows() == [([1, 2], [2])]


def test_zero_and_minus_zero_are_one_element():
    found = frames_lists.on_host(held([[-0.0]], [[0.0]]), ("p", "l"))
    assert [rows.tolist() for rows in frames_lists.hits(found, "p", "l")] == [[0]]
    assert frames_lists.with_intersection(found, "p", "l", "both")["both"].to_list() == [[0.0]]


def test_the_intersection_is_that_of_sets():
    for predictions, labels in drawn():
        found = frames_lists.with_intersection(held(predictions, labels), "p", "l", "both")["both"].to_list()
        assert [set(each) for each in found] == [set(p) & set(t) for p, t in zip(predictions, labels, strict=True)]


def test_element_sums_add_the_weight_of_every_list_that_holds_it():
    for predictions, labels in drawn():
        weights = np.random.default_rng(6).integers(0, 5, len(predictions)).astype(float)
        expected = {}
        for elements, weight in zip(predictions, weights, strict=True):
            expected |= {element: expected.get(element, 0.0) + weight for element in elements}
        found = frames_lists.element_sums(held(predictions, labels, w=weights), "p", "w")
        assert dict(zip(found["element"].to_pylist(), found["weight"].to_pylist(), strict=True)) == expected
    found = frames_lists.element_sums(held([["a", "b"], [], ["b"]], [["a"]] * 3), "p", None)  # lists are counted
    assert sorted(found.to_pylist(), key=str) == [{"element": "a", "weight": 1.0}, {"element": "b", "weight": 2.0}]


@pytest.mark.thorough
def test_element_sums_are_equal_to_the_bit():
    rng = np.random.default_rng(7)
    frame = held(rng.integers(0, 9, (200_000, 2)).tolist(), [[1]] * 200_000, w=rng.random(200_000))
    found = [frames_lists.element_sums(frame, "p", "w").sort_by("element") for _ in range(4)]
    assert all(each == found[0] for each in found)


def test_distinct_elements_are_counted():
    assert frames_lists.distinct(held([[1]] * 3, [[2, 2, 3], [], [2]]), "l").tolist() == [2, 0, 1]


def test_hits_are_the_rows_whose_item_at_a_place_is_wanted():
    for predictions, labels in drawn():
        expected = [
            [row for row, items in enumerate(predictions) if place < len(items) and items[place] in labels[row]]
            for place in range(40)
        ]
        assert [rows.tolist() for rows in frames_lists.hits(held(predictions, labels), "p", "l")] == expected
    empty = pa.array([], pa.list_(pa.int64()))
    assert list(frames_lists.hits(held(empty, empty), "p", "l")) == []


def test_a_frame_on_a_gpu_is_copied_to_the_host(monkeypatch):
    # pandas stands in for cuDF: a frame that is not Polars, with an index that filtering has left with gaps.
    monkeypatch.setattr(frames, "is_gpu", lambda frame: frame.implementation.is_pandas())
    monkeypatch.setattr(cudf, "to_arrow", lambda native: pa.Table.from_pandas(native, preserve_index=False))
    table = pa.table({"p": [[1], [2], [3, 4]], "l": [[1.0], [5.0], [4.0]], "keep": [False, True, True]})
    device = nw.from_native(table.to_pandas(types_mapper=pd.ArrowDtype), eager_only=True).filter(nw.col("keep"))
    found = frames_lists.on_host(device, ("p", "l"))
    assert found.rows() == [([2.0], [5.0]), ([3.0, 4.0], [4.0])]
