"""DropNulls against pandas, and how the rows are counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock import frames
from penstock.dataset.steps import RowLog
from penstock.errors import ConfigError
from penstock.stages import DropNulls

TABLE = pa.table({"x": [1.0, None, None, 4.0], "s": ["a", "b", None, None], "id": [0, 1, 2, 3]})


def kept(stage, table=TABLE):
    log = RowLog()
    frame = stage.bind(table.schema).filter(frames.from_arrow(table), {}, log)
    return frame["id"].to_list(), log.dropped


def test_agrees_with_pandas(subtests):
    draw = np.random.default_rng(5)
    for how in ["any", "all"]:
        for columns in [["x"], ["x", "s"], ["x", "s", "b"]]:
            with subtests.test(how=how, columns=columns):
                masks = {name: draw.random(200) < 0.4 for name in ("x", "s", "b")}
                values = {"x": draw.normal(size=200), "s": draw.choice(["a", ""], 200), "b": draw.random(200) < 0.5}
                table = pa.table(
                    {"id": range(200), **{name: pa.array(values[name], mask=masks[name]) for name in values}}
                )
                expected = table.to_pandas().dropna(subset=columns, how=how)["id"].tolist()
                rows, dropped = kept(DropNulls(columns, how=how), table)
                assert rows == expected
                assert sum(dropped.values()) == 200 - len(expected)


def test_a_row_counts_once_for_the_first_column_that_is_null():
    assert kept(DropNulls(["x", "s"])) == ([0], {"x is null": 2, "s is null": 1})


def test_rows_that_are_null_throughout_count_together():
    assert kept(DropNulls(["x", "s"], how="all")) == ([0, 1, 3], {"all null: x, s": 1})


def test_an_unknown_way_is_refused():
    with pytest.raises(ConfigError, match="how of DropNulls is 'some', expected one of any, all"):
        DropNulls("x", how="some")
