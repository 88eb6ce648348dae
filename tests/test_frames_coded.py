"""Codes of texts: counts and encodings are those of Python's own dictionaries, whoever holds the columns."""

from collections import Counter

import polars as pl
import pyarrow as pa
import pytest

from penstock import frames
from penstock.frames import coded
from penstock.frames.coded import Coded

SHORT = ["b", None, "a", "b", "", "exactly12byt", None, "b", "é"]
LONG = [None if row % 5 == 2 else f"text {row % 4} that is longer than twelve bytes" for row in range(40)]
COLUMNS = {
    "short": pl.Series("c", SHORT),
    "long": pl.Series("c", LONG),
    "mixed": pl.Series("c", SHORT + LONG),
    "in chunks": pl.concat([pl.Series("c", LONG), pl.Series("c", SHORT), pl.Series("c", LONG)], rechunk=False),
    "a slice": pl.Series("c", SHORT + LONG + SHORT)[3:40],
    "nulls": pl.Series("c", [None, None], pl.String),
    "empty": pl.Series("c", [], pl.String),
    "all different": pl.Series("c", [f"text number {row} of very many" for row in range(50)]),
    "short and different": pl.Series("c", [f"{row}" for row in range(50)]),
    "numbers": pl.Series("c", [1, None, 1, 3]),
}


@pytest.fixture(params=[False, True], ids=["plain", "held"])
def frame_of(request):
    held = []

    def make(column):
        if request.param:
            coded.hold(column)
            held.append(column)
        return frames.nw.from_native(column.to_frame(), eager_only=True)

    yield make
    for column in held:
        coded.let_go(column)
        assert column.dtype != pl.String or coded.codes(column) is None


def test_values_are_counted(frame_of, subtests):
    for name, column in COLUMNS.items():
        with subtests.test(name):
            counts = frames.value_counts(frame_of(column), ["c"])["c"]
            expected = Counter(value for value in column.to_list() if value is not None)
            assert dict(zip(counts["value"].to_pylist(), counts["count"].to_pylist(), strict=True)) == expected
            assert counts.num_rows == len(expected)
            assert counts.schema.field("count").type == pa.int64()
            assert counts.schema.field("value").type == (pa.int64() if name == "numbers" else pa.string())


@pytest.mark.parametrize("counted", [False, True])
def test_texts_are_encoded(frame_of, counted, subtests):
    for name in COLUMNS.keys() - {"numbers"}:
        with subtests.test(name):
            column = COLUMNS[name]
            frame = frame_of(column)
            if counted:
                frames.value_counts(frame, ["c"])
            known = sorted({value for value in column.to_list() if value is not None})[::2]
            codes = frames.encode(frame, {"c": pa.array(known, pa.string())}, {"c": 99})["c"]
            expected = [None if each is None else known.index(each) if each in known else 99 for each in column]
            assert codes.to_list() == expected
            filled = frames.encode(frame, {"c": pa.array(known, pa.string())}, {"c": 99}, {"c": 100})["c"]
            assert filled.to_list() == [100 if code is None else code for code in expected]
            assert codes.to_native().dtype == pl.Int32
            assert codes.name == "c"


def test_the_codes_of_a_held_column_are_those_of_its_rows_alone():
    column = pl.Series("c", SHORT)
    coded.hold(column)
    assert coded.codes(column) is None
    coded.count(column)
    assert coded.codes(column) is coded.codes(column.alias("d")) is coded.codes(column.to_frame()["c"])
    for other in (pl.Series("c", SHORT), column[1:], column.filter(column.is_not_null())):
        assert coded.codes(other) is None
    coded.let_go(column)
    assert coded.codes(column) is None


def test_texts_that_are_long_and_nearly_all_different_are_not_coded():
    assert Coded.of(COLUMNS["all different"]) is None
    assert Coded.of(COLUMNS["short and different"]).values.to_list() == COLUMNS["short and different"].to_list()


def test_columns_that_are_no_texts_can_be_held_and_let_go():
    before = len(coded._held)
    for column in (COLUMNS["numbers"], COLUMNS["empty"], object()):
        coded.hold(column)
        assert len(coded._held) == before
        coded.let_go(column)


def test_a_task_lets_go_of_what_was_held_in_it_alone():
    others, own = (pl.Series("c", [text, "b", text]) for text in "az")
    coded.hold(others)
    with coded.task():
        for column in (others, own):
            coded.hold_in_task(column)
            coded.count(column)
        assert coded.codes(own).values.to_list() == ["z", "b"]
    assert coded.codes(own) is None
    assert coded.codes(others).values.to_list() == ["a", "b"]
    coded.let_go(others)
    coded.hold_in_task(own)  # outside of a task nothing is held
    coded.count(own)
    assert coded.codes(own) is None
