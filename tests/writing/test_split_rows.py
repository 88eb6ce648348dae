"""Rows apart by what they have in some columns, against a stable sort."""

import datetime as dt
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from penstock import frames
from penstock.io.sinks.layout import split_by

KEYS: dict[str, dict[str, list[Any]]] = {
    "in order": {"a": [None, None, 1, 1, 3]},
    "in order, null last": {"a": [1, 1, 3, None, None]},
    "falling": {"a": [3, 2, 2, 1, None]},
    "dealt": {"a": [2, 1, 2, None, 1]},
    "one": {"a": [7, 7, 7, 7, 7]},
    "texts in order": {"a": ["", "Z", "a", "é", "é"]},
    "times in order": {"a": [None, dt.datetime(1, 1, 1), dt.datetime(1970, 1, 1), dt.datetime(2024, 1, 1)]},
    "booleans in order": {"a": [None, False, False, True]},
    "two in order": {"a": [1, 1, 1, 2, 2], "b": [None, "x", "y", None, "a"]},
    "the first in order": {"a": [1, 1, 1, 2, 2], "b": ["x", None, "y", "b", "a"]},
}


def test_rows_are_apart_by_their_values_in_order_and_keep_theirs(subtests: pytest.Subtests) -> None:
    for case in KEYS:
        with subtests.test(case=case):
            columns = list(KEYS[case])
            rows = pl.DataFrame({**KEYS[case], "n": range(len(KEYS[case]["a"]))})
            frame = frames.from_arrow(rows.to_arrow())
            keys, parts = split_by(frame, columns, frames.to_arrow(frame).schema)
            found = [
                {**key, "n": number}
                for key, part in zip(keys.to_pylist(), parts, strict=True)
                for number in part["n"].to_list()
            ]
            assert found == rows.sort(columns, maintain_order=True).to_dicts()
            assert keys.num_rows == rows.select(columns).n_unique()


@pytest.mark.parametrize(("days", "is_moved"), [([1, 1, 2], False), ([1, 2, 1], True)])
def test_rows_in_order_are_not_moved(days: list[int], is_moved: bool) -> None:
    table = pa.table({"day": days, "x": [0.5, 1.5, 2.5]})
    frame = frames.from_arrow(table)
    _, parts = split_by(frame, ["day"], table.schema)
    here = frame["x"].to_arrow().buffers()[1].address
    spans = [part["x"].to_arrow() for part in parts]
    assert all(here <= part.buffers()[1].address < here + 3 * 8 for part in spans) != is_moved
