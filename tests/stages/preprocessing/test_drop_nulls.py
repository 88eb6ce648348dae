"""DropNulls: how the rows are counted."""

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


def test_a_row_counts_once_for_the_first_column_that_is_null():
    assert kept(DropNulls(["x", "s"])) == ([0], {"x is null": 2, "s is null": 1})


def test_rows_that_are_null_throughout_count_together():
    assert kept(DropNulls(["x", "s"], how="all")) == ([0, 1, 3], {"all null: x, s": 1})


def test_an_unknown_way_is_refused():
    with pytest.raises(ConfigError, match="how of DropNulls is 'some', expected one of any, all"):
        DropNulls("x", how="some")
