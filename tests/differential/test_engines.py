"""Every engine reads what was written, in several fragments and as one."""

from functools import partial

import pyarrow.parquet as pq
import pytest
from budget import differential
from csv_files import WRITERS
from hypothesis import assume
from hypothesis import strategies as st
from outcomes import assert_same, expected
from readers import put
from table_strategies import NESTED, NUMBERS, RARE, TEXT, TIMES, wide_tables
from text_outputs import CSV, JSON_LINES


@pytest.mark.thorough
@differential(few=2, table=wide_tables(NUMBERS, TIMES, TEXT, RARE, NESTED))
def test_every_engine_gives_what_was_written_as_parquet(table, engine, folder):
    pq.write_table(table, folder / "a.parquet", row_group_size=20)
    wanted = expected(pq.read_table(folder / "a.parquet"))
    assert_same(partial(engine.read_parquet, folder / "a.parquet", fragment_bytes=1000), wanted, engine.name)


@pytest.mark.thorough
@differential(few=2, table=wide_tables(NUMBERS, TIMES, TEXT), writer=WRITERS)
def test_every_engine_gives_what_was_written_as_csv(table, writer, engine, folder):
    assume(writer.can_write(table))
    text = writer.write(table)
    assume("\0" not in text)
    path = put(folder / "csv", writer.name, writer.encode(text))
    options = {"schema": table.schema, "fragment_bytes": 400, **writer.options(table.column_names)}
    assert_same(partial(engine.read_csv, path, **options), expected(writer.as_read(table)), engine.name)


@pytest.mark.thorough
@differential(few=2, table=wide_tables(NUMBERS, TIMES, TEXT), output=st.sampled_from([CSV, JSON_LINES]))
def test_every_engine_writes_the_same_text_and_reads_it_again(table, output, engine, local, folder):
    table = output.writable(table)
    for each in (engine, local):
        data = each.from_arrow(table, fragment_bytes=4000)
        data.write(folder / each.name, format=output.format, overwrite=True, **output.writing)
    options = {"schema": data.schema, **output.reading}
    assert_same(partial(engine.read, output.format, folder / engine.name, **options), expected(table), engine.name)
    parts = [sorted((folder / each.name).glob("part-*")) for each in (engine, local)]
    assert [part.read_bytes() for part in parts[0]] == [part.read_bytes() for part in parts[1]]
