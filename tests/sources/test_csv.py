"""CSV: which rows and columns a file has, and what it says when it cannot be read."""

import gzip
import hashlib
import io
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock.errors import BadRowsError, ConfigError, CorruptFileError, SchemaDriftError
from penstock.io.formats.csv import Csv, CsvOptions
from penstock.io.sources import csv_dialect, ranges
from penstock.io.sources.files import Storage
from penstock.io.sources.paths import expand
from penstock.io.sources.quotes import RecordEnds

XY = pa.schema([("x", pa.int64()), ("y", pa.string())])

# Rows and columns


def test_an_empty_field_is_null_and_words_for_nothing_are_values_unless_they_are_declared(read_csv, write):
    found = read_csv(write('x,y\n1,NA\n,null\n"",None\n3,\n'))
    assert found.to_pydict() == {"x": [1, None, None, 3], "y": ["NA", "null", "None", None]}
    assert read_csv(write("x,y\nNA,a\n2,NA\n"), null_values=["NA"]).to_pydict() == {"x": [None, 2], "y": ["a", None]}


def test_blank_lines_are_skipped_wherever_they_stand(read_csv, write):
    assert read_csv(write("\n\r\nx,y\n\n1,a\r\n\r\n\n2,b\n\n")).to_pydict() == {"x": [1, 2], "y": ["a", "b"]}


def test_a_byte_order_mark_and_crlf_are_not_part_of_names_or_values(read_csv, write):
    found = read_csv(write("\ufeffx,y\r\n1,a\r\n2,b"))
    assert found.to_pydict() == {"x": [1, 2], "y": ["a", "b"]}


@pytest.mark.thorough
def test_a_lone_cr_ends_the_header_and_each_row(read_csv, write, subtests):
    for body, header, fragment_bytes in product(
        ("1,a\r2,b\r", "1,a\n2,b", "1,a\r\n\r2,b\r\n", "\r\n1,a\r2,b\n"),
        ("x,y\r", "\rx,y\r", "x,y\r\r", "x,y\r\n", "x,y\n"),
        (4, 40, 2**20),
    ):
        with subtests.test(fragment_bytes=fragment_bytes, header=header, body=body):
            found = read_csv(write(header + body), fragment_bytes=fragment_bytes)
            assert found.to_pydict() == {"x": [1, 2], "y": ["a", "b"]}


def test_a_header_alone_is_no_rows_and_does_not_change_types(read_csv, write):
    assert read_csv(write("x,y\n"), schema=XY).to_pydict() == {"x": [], "y": []}
    assert read_csv(write("x,y")).schema.names == ["x", "y"]
    assert read_csv([write("x,y\n", "a.csv"), write("x,y\n1,a\n", "b.csv")]).schema == XY


def test_names_in_a_header_may_be_quoted_and_hold_newlines(read_csv, write):
    assert read_csv(write('"a\nb","c,d"\n1,2\n')).to_pydict() == {"a\nb": [1], "c,d": [2]}


def test_without_a_header_names_are_those_given_or_declared_or_counted(read_csv, write):
    path = write("1,a\n2,b\n")
    assert read_csv(path, header=False).to_pydict() == {"f0": [1, 2], "f1": ["a", "b"]}
    assert read_csv(path, header=False, column_names=["x", "y"]).schema == XY
    assert read_csv(path, header=False, schema=XY).schema == XY


@pytest.mark.thorough
def test_a_record_longer_than_a_block_of_the_parser_is_read(read_csv, write):
    long = "a\n" * 2**20
    assert read_csv(write(f'x,y\n1,"{long}"\n2,b\n')).to_pydict() == {"x": [1, 2], "y": [long, "b"]}


def test_crlf_in_quotes_is_kept_whatever_the_blocks_of_the_parser(read_csv, write, monkeypatch):
    values = [f"{'a' * (number % 3)}\r\n" for number in range(60)]
    path = write("x\n" + "".join(f'"{value}"\n' for value in values))
    for block in range(8, 40):
        monkeypatch.setattr(csv_dialect, "BLOCK_BYTES", block)
        assert read_csv(path)["x"].to_pylist() == values, block


# Ranges


MARK = "\ufeff"


@pytest.mark.thorough
def test_a_byte_order_mark_inside_a_file_is_text_wherever_the_file_is_cut(read_csv, write):
    values = ["a", *[f"{MARK}b"] * 12, f"c{MARK}", *[MARK] * 9]
    for size in (4, 40, 99, 2**20):
        path = write(MARK + "x,y\n" + "".join(f"{value},{MARK}\n" for value in values))
        assert read_csv(path, fragment_bytes=size).to_pydict() == {"x": values, "y": [MARK] * len(values)}, size
        path = write("x\n" + "".join(f"{value}\n" for value in values))
        assert read_csv(path, fragment_bytes=size).to_pydict() == {"x": values}, size


def test_a_byte_order_mark_before_a_number_is_told_with_its_line_wherever_the_file_is_cut(read_csv, write):
    for fragment_bytes in (4, 2**20):
        with pytest.raises(SchemaDriftError, match=r"line 3, column 'x': '\\ufeff2' is not a value of int64"):
            read_csv(write(f"x\n1\n{MARK}2\n"), schema=pa.schema({"x": pa.int64()}), fragment_bytes=fragment_bytes)


def test_a_file_is_cut_to_ranges_of_about_a_quarter_of_a_fragment(local, write):
    storage = Storage()
    files = expand(write("x,y\n" + "1,abcde\n" * 100), Csv.suffixes, storage)
    _, fragments = Csv().plan(files, local, storage, CsvOptions(fragment_bytes=4 * 80))
    pieces = [piece for fragment in fragments for piece in fragment.pieces]
    assert [(piece.begin, piece.end, piece.first, piece.rows) for piece in pieces] == [
        (4 + 80 * part, 84 + 80 * part, 10 * part, 10) for part in range(10)
    ]


LONE = [b"a,b\r", b"1,2\r\n", b'"x\r\ny\r",3\r', b"\r", b"5,6\n", b"\r", b"7,8\r\n"]
STRAY = [b'5" pipe,1\n', b'"a\nb",2\n', b'5" pipe,3\n', b'"c""\n",4\n', b'"d"x"y,5\n']
"""Records that end at a lone CR, and records with a quote inside an unquoted field, which is a character."""


@pytest.mark.parametrize("records", [LONE, STRAY], ids=["a lone CR", "a stray quote"])
def test_records_end_where_they_do_wherever_blocks_end(records):
    text = b"".join(records)
    for step in range(1, len(text) + 1):
        ends = RecordEnds(",", '"')
        found = [at + end for at in range(0, len(text), step) for end in ends.feed(text[at : at + step]).tolist()]
        assert found == np.cumsum([len(record) for record in records]).tolist(), step


def test_stray_quotes_are_read_as_pandas_reads_them(read_csv, write):
    text = b"x,y\n" + b"".join(STRAY)
    expected = pd.read_csv(io.BytesIO(text))
    assert read_csv(write(text), fragment_bytes=16).to_pandas().values.tolist() == expected.values.tolist()


# Files


UNREADABLE = {
    "no bytes": (b"", "0 bytes, expected a CSV file"),
    "Parquet": (b"PAR1\x15\x04", r"not a CSV file \(.*\); it starts with b.* looks like Parquet"),
    "gzip": (gzip.compress(b"x\n1\n"), r"not a CSV file \(.*\); it starts with b.* looks like gzip"),
    "UTF-16": ("x\n1\n".encode("utf-16"), r"not a CSV file \(.*\); it starts with b.* looks like binary data"),
    "blank lines": (b"\n\n", "no header in the first 2 bytes"),
    "not UTF-8": (b"x,y\n1,a\n2,b\xff\n", "line 3 is not UTF-8: ff at byte 11 of the text"),
    "a header that is not UTF-8": (b"x,\xff\n1,a\n", "the first record cannot be read"),
    "NUL": (b"x,y\n" + b"1,a\n" * 2000 + b"2,b\0\n", "line 2002 holds a NUL byte"),
    "not compressed": (b"x\n1\n", "cannot be decompressed .*, expected gzip"),
    "compressed and cut off": (gzip.compress(b"x\n" + b"1\n" * 99)[:-9], "cannot be decompressed .*, expected gzip"),
}


def test_a_file_that_cannot_be_read_is_named_with_what_is_wrong(read_csv, write, subtests):
    for what, (content, problem) in UNREADABLE.items():
        name = "a.csv.gz" if "compressed" in what else "a.csv"
        for schema in (None, XY):
            with subtests.test(what=what, schema=schema), pytest.raises(CorruptFileError, match=f"{name}: {problem}"):
                read_csv([write("x,y\n1,a\n", "good.csv"), write(content, name)], schema=schema)


def test_a_name_that_stands_twice_is_refused_with_its_positions(read_csv, write):
    with pytest.raises(SchemaDriftError, match=r"column 'x' stands twice, at positions 0 and 2, in .*a.csv"):
        read_csv(write("x,y,x\n1,2,3\n"))


def test_an_unterminated_quote_names_the_line_where_it_opened(read_csv, write, subtests):
    for step in (1, 2**20):
        with subtests.test(step=step):
            text = 'x,y\n1,"a\nb"\n2,"c\n""\nd\n3,e\n'
            with pytest.raises(CorruptFileError, match=r"a.csv: the quote that opens in line 4 is never closed"):
                read_csv(write(text), fragment_bytes=step)


def test_a_record_or_a_quote_that_is_too_long_is_found_before_the_rest_is_read(read_csv, write, monkeypatch):
    monkeypatch.setattr(ranges, "RECORD_BYTES", 100)
    with pytest.raises(BadRowsError, match="line 3: a record of more than 100 bytes"):
        read_csv(write("x,y\n1,a\n2," + "b" * 500 + "\n"), fragment_bytes=64)
    with pytest.raises(CorruptFileError, match="the quote that opens in line 3 is not closed within 100 bytes"):
        read_csv(write('x,y\n1,a\n2,"b\n' + "3,c\n" * 100 + '4,"d"\n'), fragment_bytes=64)


def test_a_file_that_is_not_the_one_of_its_manifest_is_refused(local, write):
    storage, path = Storage(), write("x,y\n1,a\n")
    (file,) = expand(path, Csv.suffixes, storage)
    Csv().plan([replace(file, sha256=hashlib.sha256(path.read_bytes()).hexdigest())], local, storage, CsvOptions())
    with pytest.raises(CorruptFileError, match=r"a.csv: sha256 is .*, its manifest lists 0000000000000000"):
        Csv().plan([replace(file, sha256="0" * 64)], local, storage, CsvOptions())


# Rows that do not fit


def test_a_wrong_number_of_fields_names_line_and_counts(read_csv, write, subtests):
    for (row, count), step, schema in product((("2", 1), ("2,b,c", 3)), (1, 2**20), (None, XY)):
        with subtests.test(schema=schema, step=step, row=row, count=count):
            text = f'x,y\n\n1,"a\nb"\n{row}\n3,c\n'
            with pytest.raises(BadRowsError, match=rf"a.csv, line 5: {count} fields, expected 2: '{row}'"):
                read_csv(write(text), schema=schema, fragment_bytes=step)


def test_the_text_of_a_bad_row_is_shortened(read_csv, write):
    with pytest.raises(BadRowsError, match=r"line 2: 3 fields, expected 2: '1,a{78}\.\.\.'"):
        read_csv(write("x,y\n1," + "a" * 500 + ",b\n"))


def test_a_value_not_of_its_declared_type_names_line_column_and_value(read_csv, write, subtests):
    for kind, value in (
        (pa.int64(), "3.5"), (pa.int64(), "x1"), (pa.int8(), "300"), (pa.int64(), "9223372036854775808"),
        (pa.uint8(), "-1"), (pa.float64(), " "), (pa.float64(), "1e999"), (pa.float32(), "1e39"), (pa.bool_(), "yes"),
        (pa.date32(), "2020-02-30"), (pa.timestamp("us"), "2020-01-01T00:00:00Z"), (pa.timestamp("us"), "noon"),
    ):  # fmt: skip
        with subtests.test(kind=kind, value=value):
            text = f"y,x\nb,\n{'a,' + chr(10)}c,{value}\nd,{value}\n"
            with pytest.raises(SchemaDriftError) as found:
                read_csv(write(text), schema=pa.schema([("x", kind), ("y", pa.string())]))
            problem = f"{value!r} is not a value of {kind}, its declared type"
            assert found.value.message.endswith(f"a.csv, line 4, column 'x': {problem}")
            assert found.value.column == "x"
            assert Path(found.value.path).name == "a.csv"


# Options


def test_options_that_make_no_sense_are_refused(read_csv, write, subtests):
    for options, problem in (
        ({"column_names": ["a"]}, "column_names is for files without a header"),
        ({"delimiter": "||"}, r"delimiter is '\|\|', expected one ASCII character"),
        ({"quote": "é"}, "quote is 'é', expected one ASCII character"),
        ({"delimiter": '"'}, "delimiter and quote are both"),
        ({"schema": pa.schema({"x": pa.float16()})}, "column 'x' is declared as halffloat, which CSV"),
        ({"schema": pa.schema({"x": pa.list_(pa.int64())})}, "column 'x' is declared as list<.*>, which CSV"),
    ):
        with subtests.test(options=options, problem=problem), pytest.raises(ConfigError, match=problem):
            read_csv(write("x\n1\n"), **options)
