"""CSV: every dialect and line end, of declared and of inferred types, cut anywhere."""

import pyarrow as pa
import pytest
from budget import differential
from csv_files import WRITERS
from hypothesis import assume
from hypothesis import strategies as st
from outcomes import Outcome, Refusal, assert_same, expected, outcome
from readers import SOME_WAYS, put, ways_to
from table_strategies import NUMBERS, TEXT, TIMES, tables
from text_values import says

from penstock.errors import CorruptFileError

SIZES = st.sampled_from([1, 1, 40, 400, 4000])


TYPES = {
    str(kind): kind
    for kind in (
        pa.string(),
        pa.bool_(),
        pa.int64(),
        pa.float64(),
        pa.date32(),
        pa.timestamp("us"),
        pa.timestamp("ns"),
        pa.timestamp("us", "UTC"),
        pa.timestamp("ns", "UTC"),
    )
}


@pytest.mark.thorough
@differential(table=tables(TEXT, NUMBERS, TIMES), writer=WRITERS, ways=SOME_WAYS, size=SIZES)
def test_every_way_to_a_csv_file_of_declared_types_gives_what_was_written(table, writer, ways, size, local, folder):
    assume(writer.can_write(table))
    text = writer.write(table)
    path = put(folder / "csv", writer.name, writer.encode(text))
    wanted = expected(writer.as_read(table)) if text and "\0" not in text else Refusal(CorruptFileError)
    options = {"schema": table.schema, **writer.options(table.column_names)}
    for way, read in ways_to(local.read_csv, path, size, ways, **options).items():
        assert_same(read, wanted, way)


@pytest.mark.thorough
@differential(table=tables(TEXT, NUMBERS, TIMES), writer=WRITERS, ways=SOME_WAYS, size=SIZES)
def test_every_way_to_a_csv_file_of_inferred_types_gives_what_its_text_says(table, writer, ways, size, local, folder):
    assume(writer.can_write(table))
    text = writer.write(table)
    path = put(folder / "csv", writer.name, writer.encode(text))
    options = writer.options(table.column_names)
    wanted = outcome(lambda: local.read_csv(path, **options))
    if not text or "\0" in text:
        assert wanted == Refusal(CorruptFileError)
    else:
        assert_said(wanted, writer.texts(table), writer.null)
    for way, read in ways_to(local.read_csv, path, size, ways, **options).items():
        assert_same(read, wanted, way)


@pytest.mark.thorough
@differential(
    table=tables(TEXT, NUMBERS, TIMES), writer=WRITERS, ways=SOME_WAYS, size=SIZES, bad=st.lists(st.integers(0, 20))
)
def test_records_with_a_field_too_many_are_set_aside_in_every_way(table, writer, ways, size, bad, local, folder):
    assume(writer.can_write(table))
    text = writer.write(table, bad)
    assume(text and "\0" not in text)
    path = put(folder / "csv", writer.name, writer.encode(text))
    options = {"schema": table.schema, "max_bad_records": len(bad), **writer.options(table.column_names)}
    for way, read in ways_to(local.read_csv, path, size, ways, **options).items():
        assert_same(read, expected(writer.as_read(table)), way)


def assert_said(read: Outcome, texts: dict[str, list[str]], null: str) -> None:
    """Fail unless each value that was read is what its text says."""
    assert not isinstance(read, Refusal), read
    for name, column in texts.items():
        kind, items = read[name]
        for text, item in zip(column, items, strict=True):
            said = item is None if text == null else says(text, TYPES[kind], item)
            assert said, f"column {name!r}: {text!r} was read as {kind} {item!r}"
