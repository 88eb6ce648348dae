"""CSV and JSON lines that Penstock writes: what is read again is what was written, to the bit."""

import csv
import json
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from budget import differential
from hypothesis import strategies as st
from outcomes import assert_same, expected
from table_strategies import LARGE, NUMBERS, TEXT, TIMES, tables
from text_outputs import CSV, JSON_LINES, SEMICOLONS, TextOutput

from penstock.engines.base import Engine

PLAIN = (*(kind for kind in NUMBERS if kind != pa.float16()), *TIMES)
TIMES_OF_A_DAY = (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.duration("us"), pa.null())
LISTS = tuple(
    pa.list_(kind)
    for kind in (pa.int64(), pa.float32(), pa.string(), pa.bool_(), pa.timestamp("ns", "UTC"), pa.list_(pa.string()))
)


def assert_read_again(table: pa.Table, output: TextOutput, size: int, engine: Engine, folder: Path) -> None:
    table = output.writable(table)
    data = engine.from_arrow(table, fragment_bytes=size)
    data.write(folder / "out", format=output.format, overwrite=True, **output.writing)
    options = {"schema": data.schema, **output.reading}
    assert_same(partial(engine.read, output.format, folder / "out", **options), expected(table), output.format)


@pytest.mark.thorough
@differential(
    few=25,
    table=tables(PLAIN, LARGE, TEXT, TEXT, TIMES_OF_A_DAY),
    output=st.sampled_from([CSV, SEMICOLONS]),
    size=st.sampled_from([100, 10_000]),
)
def test_csv_that_is_written_and_read_again_is_the_same_to_the_bit(table, output, size, local, folder):
    assert_read_again(table, output, size, local, folder)


@pytest.mark.thorough
@differential(few=25, table=tables(PLAIN, LARGE, TEXT, LISTS, LISTS), size=st.sampled_from([100, 10_000]))
def test_json_lines_that_are_written_and_read_again_are_the_same_to_the_bit(table, size, local, folder):
    assert_read_again(table, JSON_LINES, size, local, folder)


@pytest.mark.thorough
@differential(few=5, table=tables(TEXT))
def test_the_modules_of_python_read_the_same_texts(table, local, folder):
    table = CSV.writable(table)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    for output in (CSV, JSON_LINES):
        data = local.from_arrow(table)
        data.write(folder / "texts", format=output.format, overwrite=True, **output.writing)
        (part,) = (folder / "texts").glob("part-*")
        with open(part, encoding="utf-8", newline="") as lines:
            if output is JSON_LINES:
                read = [tuple(json.loads(line).values()) for line in lines if line.strip()]
            else:
                read = [tuple(None if each == "\\N" else each for each in row) for row in csv.reader(lines)][1:]
        assert read == rows
