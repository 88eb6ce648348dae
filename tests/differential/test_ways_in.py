"""Tables in memory, what every engine reads of what was written, and names that no column can have."""

import csv
import json
from functools import partial

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import differential
from consumers import CONSUMERS, OFTEN_ODD, fits
from csv_files import WRITERS
from hypothesis import assume
from hypothesis import strategies as st
from outcomes import assert_same, expected
from readers import put
from table_strategies import LARGE, NESTED, NUMBERS, RARE, TEXT, TIMES, tables, wide_tables
from text_outputs import CSV, JSON_LINES

from penstock.errors import CorruptFileError, SchemaError


def _in_pieces(table: pa.Table, at: int) -> pa.Table:
    """Return the same rows as chunks and slices whose buffers begin elsewhere."""
    at = min(at, table.num_rows)
    return pa.concat_tables(
        [table.slice(0, 0), table.slice(0, at), pa.concat_tables([table, table]).slice(at, table.num_rows - at)]
    )


@pytest.mark.thorough
@differential(
    table=tables(LARGE, TIMES, NUMBERS, TEXT, RARE, NESTED),
    at=st.integers(0, 9),
    consumer=st.sampled_from(OFTEN_ODD) | st.sampled_from(sorted(CONSUMERS)),
    size=st.sampled_from([1, 100, 1000]),
)
def test_every_way_to_a_table_in_memory_gives_its_rows(table, at, consumer, size, local, scratch):
    wanted = expected(table)
    assert_same(partial(local.from_arrow, table), wanted, "from_arrow")
    assert_same(partial(local.from_arrow, _in_pieces(table, at), fragment_bytes=size), wanted, "from_arrow, in pieces")
    assume(fits(consumer, table))
    consume = CONSUMERS[consumer]
    assert_same(lambda: consume(local.from_arrow(table, fragment_bytes=size), scratch), wanted, consumer)
    assert_same(
        lambda: local.from_polars(pl.from_arrow(table)).to_arrow().cast(local.from_arrow(table).schema),
        wanted,
        "from_polars",
    )


@pytest.mark.thorough
@differential(table=tables(NUMBERS, TIMES, TEXT))
def test_every_way_to_a_pandas_frame_of_arrow_types_gives_its_rows(table, local):
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert_same(lambda: local.from_pandas(frame).to_arrow(), expected(table), "from_pandas")


@pytest.mark.parametrize("way_in", ["memory", "parquet", "csv", "json_lines"])
def test_a_name_that_no_column_can_have_is_refused_by_every_way_in(local, tmp_path, subtests, way_in):
    for name in ("", "*", "^a$", "^.*$", "a\0", "__row__", "__fold__"):
        table, path = pa.table([[1, 2], [3, 4]], ["a", name]), tmp_path / "a"
        pq.write_table(table, path)
        with path.open("w") if way_in in ("csv", "json_lines") else path.open("r+b") as file:
            if way_in == "csv":
                csv.writer(file).writerows([table.column_names, [1, 3], [2, 4]])
            elif way_in == "json_lines":
                file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
        with subtests.test(name=name):
            with pytest.raises((SchemaError, CorruptFileError)) as caught:
                local.from_arrow(table) if way_in == "memory" else local.read(way_in, path)
            assert "\0" in name or caught.type is SchemaError  # a text with NUL is no text


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
