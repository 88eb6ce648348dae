"""CSV: which rows and columns a file has, and what it says when it cannot be read."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from dataclasses import replace
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow.csv import read_csv as read_csv_by_arrow

from penstock.errors import BadRowsError, ConfigError, CorruptFileError, IncompleteInputError, SchemaDriftError
from penstock.io.formats.csv import Csv, CsvOptions
from penstock.io.sources import csv_dialect, ranges
from penstock.io.sources.files import Storage
from penstock.io.sources.paths import expand
from penstock.io.sources.quotes import RecordEnds

XY = pa.schema([("x", pa.int64()), ("y", pa.string())])

# Rows and columns


def test_an_empty_field_is_null_and_words_for_nothing_are_values(read_csv, write):
    found = read_csv(write('x,y\n1,NA\n,null\n"",None\n3,\n'))
    assert found.to_pydict() == {"x": [1, None, None, 3], "y": ["NA", "null", "None", None]}


def test_declared_null_values_are_null(read_csv, write):
    assert read_csv(write("x,y\nNA,a\n2,NA\n"), null_values=["NA"]).to_pydict() == {"x": [None, 2], "y": ["a", None]}


def test_blank_lines_are_skipped_wherever_they_stand(read_csv, write):
    assert read_csv(write("\n\r\nx,y\n\n1,a\r\n\r\n\n2,b\n\n")).to_pydict() == {"x": [1, 2], "y": ["a", "b"]}


def test_a_byte_order_mark_and_crlf_are_not_part_of_names_or_values(read_csv, write):
    found = read_csv(write("\ufeffx,y\r\n1,a\r\n2,b"))
    assert found.to_pydict() == {"x": [1, 2], "y": ["a", "b"]}


@pytest.mark.parametrize("fragment_bytes", [4, 40, 2**20])
@pytest.mark.parametrize("header", ["x,y\r", "\rx,y\r", "x,y\r\r", "x,y\r\n", "x,y\n"])
@pytest.mark.parametrize("body", ["1,a\r2,b\r", "1,a\n2,b", "1,a\r\n\r2,b\r\n", "\r\n1,a\r2,b\n"])
def test_a_lone_cr_ends_the_header_and_each_row(read_csv, write, header, body, fragment_bytes):
    found = read_csv(write(header + body), fragment_bytes=fragment_bytes)
    assert found.to_pydict() == {"x": [1, 2], "y": ["a", "b"]}


def test_a_lone_cr_ends_the_header_of_a_file_in_a_store(local, write):
    path = write("x,y\r1,a\n2,b\n")
    fsspec.filesystem("memory").put(str(path), "/lone-cr/a.csv")
    files = expand("memory://lone-cr/a.csv", Csv.suffixes, Storage())
    source, fragments = Csv().plan(files, local, Storage(), CsvOptions())
    assert source.schema == XY
    assert sum(fragment.rows for fragment in fragments) == 2


def test_a_header_alone_is_no_rows(read_csv, write):
    assert read_csv(write("x,y\n"), schema=XY).to_pydict() == {"x": [], "y": []}
    assert read_csv(write("x,y")).schema.names == ["x", "y"]


def test_a_file_with_a_header_alone_does_not_change_types(read_csv, write):
    files = [write("x,y\n", "a.csv"), write("x,y\n1,a\n", "b.csv")]
    assert read_csv(files).schema == XY


def test_reordered_headers_are_bound_by_name(read_csv, write):
    files = [write("x,y\n1,a\n", "a.csv"), write("y,x\nb,2\n", "b.csv")]
    assert read_csv(files).to_pydict() == {"x": [1, 2], "y": ["a", "b"]}


def test_only_the_columns_asked_for_are_read_in_the_order_asked(read_csv, write):
    assert read_csv(write("x,y,z\n1,a,2\n"), columns=["z", "x"]).to_pylist() == [{"z": 2, "x": 1}]


def test_names_in_a_header_may_be_quoted_and_hold_newlines(read_csv, write):
    assert read_csv(write('"a\nb","c,d"\n1,2\n')).to_pydict() == {"a\nb": [1], "c,d": [2]}


def test_without_a_header_names_are_those_given_or_declared_or_counted(read_csv, write):
    path = write("1,a\n2,b\n")
    assert read_csv(path, header=False).to_pydict() == {"f0": [1, 2], "f1": ["a", "b"]}
    assert read_csv(path, header=False, column_names=["x", "y"]).schema == XY
    assert read_csv(path, header=False, schema=XY).schema == XY


def test_another_delimiter_and_quote(read_csv, write):
    assert read_csv(write("x|y\n1|'a|''b'\n"), delimiter="|", quote="'").to_pydict() == {"x": [1], "y": ["a|'b"]}


def test_without_quoting_a_quote_is_a_character(read_csv, write):
    assert read_csv(write('x,y\n1,"a\n2,b"\n'), quote=None).to_pydict() == {"x": [1, 2], "y": ['"a', 'b"']}


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_compressed_files_are_read_by_their_suffix(read_csv, write, suffix):
    text = "x,y\n" + "1,a\n" * 100
    packed = gzip.compress(text.encode()) if suffix == "gz" else pa.compress(text.encode(), "zstd", asbytes=True)
    found = read_csv(write(packed, f"a.csv.{suffix}"), fragment_bytes=64)
    assert found.to_pydict() == {"x": [1] * 100, "y": ["a"] * 100}


def test_folders_of_keys_are_columns(read_csv, write, tmp_path):
    write("x\n1\n2\n", "d/year=2024/city=Rome/a.csv")
    write("x\n3\n", "d/year=2025/city=S%C3%A3o/a.csv")
    found = read_csv(tmp_path / "d")
    assert found.to_pydict() == {"x": [1, 2, 3], "year": [2024, 2024, 2025], "city": ["Rome", "Rome", "São"]}


@pytest.mark.thorough
def test_a_record_longer_than_a_block_of_the_parser_is_read(read_csv, write):
    long = "a\n" * 2**20
    assert read_csv(write(f'x,y\n1,"{long}"\n2,b\n')).to_pydict() == {"x": [1, 2], "y": [long, "b"]}


@pytest.mark.thorough
def test_newlines_in_quotes_where_blocks_of_the_parser_end(read_csv, write):
    values = [f"{number}\n" * 9 for number in range(50_000)]
    assert read_csv(write("x\n" + "".join(f'"{value}"\n' for value in values)))["x"].to_pylist() == values


@pytest.mark.parametrize("first", ["p", "pp"])
def test_crlf_in_quotes_where_a_block_of_the_parser_ends_is_kept(read_csv, write, first):
    values = [first, *["0123456789\r\n"] * 70_000]  # 15 bytes each: after "p" a block of 2**20 ends before the \n
    text = "".join(f'"{value}"\n' for value in values)
    assert (text[2**20 - 1 : 2**20 + 1] == "\r\n") is (first == "p")
    assert read_csv(write("x\n" + text))["x"].to_pylist() == values


@pytest.mark.parametrize("block", range(8, 40))
def test_crlf_in_quotes_is_kept_whatever_the_blocks_of_the_parser(read_csv, write, monkeypatch, block):
    monkeypatch.setattr(csv_dialect, "BLOCK_BYTES", block)
    values = [f"{'a' * (number % 3)}\r\n" for number in range(60)]
    assert read_csv(write("x\n" + "".join(f'"{value}"\n' for value in values)))["x"].to_pylist() == values


# Ranges


MARK = "\ufeff"


@pytest.mark.thorough
@pytest.mark.parametrize("fragment_bytes", [4, 40, 999, 2**20])
def test_a_byte_order_mark_inside_a_file_is_text_wherever_the_file_is_cut(read_csv, write, fragment_bytes):
    values = ["a", *[f"{MARK}b"] * 50, f"c{MARK}", *[MARK] * 9]
    text = MARK + "x,y\n" + "".join(f"{value},{MARK}\n" for value in values)
    found = read_csv(write(text), fragment_bytes=fragment_bytes)
    assert found.to_pydict() == {"x": values, "y": [MARK] * len(values)}
    alone = read_csv(write("x\n" + "".join(f"{value}\n" for value in values)), fragment_bytes=fragment_bytes)
    assert alone.to_pydict() == {"x": values}


def test_a_byte_order_mark_before_a_number_is_told_with_its_line_wherever_the_file_is_cut(read_csv, write):
    for fragment_bytes in (4, 2**20):
        with pytest.raises(SchemaDriftError, match=r"line 3, column 'x': '\\ufeff2' is not a value of int64"):
            read_csv(write(f"x\n1\n{MARK}2\n"), schema=pa.schema({"x": pa.int64()}), fragment_bytes=fragment_bytes)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("end", "quoting"),
    [("\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_MINIMAL), ("\r", csv.QUOTE_ALL)],
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(st.text('a,"\n\ré', max_size=6), min_size=2, max_size=2), min_size=1, max_size=12),
    step=st.integers(1, 64),
)
def test_any_cut_gives_the_rows_that_were_written(read_csv, write, end, quoting, rows, step):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, quoting=quoting).writerows([["x", "y"], *rows])
    schema = pa.schema({"x": pa.string(), "y": pa.string()})
    found = read_csv(write(text.getvalue()), schema=schema, fragment_bytes=4 * step)
    assert [list(row.values()) for row in found.to_pylist()] == [[value or None for value in row] for row in rows]


def test_a_file_is_cut_to_ranges_of_about_a_quarter_of_a_fragment(local, write):
    storage = Storage()
    files = expand(write("x,y\n" + "1,abcde\n" * 100), Csv.suffixes, storage)
    _, fragments = Csv().plan(files, local, storage, CsvOptions(fragment_bytes=4 * 80))
    pieces = [piece for fragment in fragments for piece in fragment.pieces]
    assert [(piece.begin, piece.end, piece.first, piece.rows) for piece in pieces] == [
        (4 + 80 * part, 84 + 80 * part, 10 * part, 10) for part in range(10)
    ]


LONE = [b"a,b\r", b"1,2\r\n", b'"x\r\ny\r",3\r', b"\r", b"5,6\n", b"\r", b"7,8\r\n"]


@pytest.mark.parametrize("step", range(1, 20))
def test_records_end_at_a_lone_cr_too_wherever_blocks_end(step):
    ends, text = RecordEnds(",", '"'), b"".join(LONE)
    found = [at + end for at in range(0, len(text), step) for end in ends.feed(text[at : at + step]).tolist()]
    assert found == np.cumsum([len(record) for record in LONE]).tolist()


STRAY = b'5" pipe,1\n"a\nb",2\n5" pipe,3\n"c""\n",4\n"d"x"y,5\n'


@pytest.mark.parametrize("step", range(1, len(STRAY) + 1))
def test_a_quote_inside_an_unquoted_field_is_a_character(step):
    ends = RecordEnds(",", '"')
    found = [at + end for at in range(0, len(STRAY), step) for end in ends.feed(STRAY[at : at + step]).tolist()]
    lengths = [len(record) for record in (b'5" pipe,1\n', b'"a\nb",2\n', b'5" pipe,3\n', b'"c""\n",4\n', b'"d"x"y,5\n')]
    assert found == [sum(lengths[: count + 1]) for count in range(len(lengths))]


def test_stray_quotes_are_read_as_pandas_reads_them(read_csv, write):
    path = write(b"x,y\n" + STRAY)
    expected = pd.read_csv(io.BytesIO(b"x,y\n" + STRAY))
    assert read_csv(path, fragment_bytes=16).to_pandas().values.tolist() == expected.values.tolist()


# Files


def test_zero_bytes_among_good_files(read_csv, write):
    with pytest.raises(CorruptFileError, match=r"b.csv: 0 bytes, expected a CSV file"):
        read_csv([write("x\n1\n"), write("", "b.csv")])


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"PAR1\x15\x04", "Parquet"), (gzip.compress(b"x\n1\n"), "gzip"), ("x\n1\n".encode("utf-16"), "binary data")],
    ids=["Parquet", "gzip", "UTF-16"],
)
def test_another_format_is_named_with_its_first_bytes(read_csv, write, content, kind):
    with pytest.raises(CorruptFileError, match=rf"a.csv: not a CSV file \(.*\); it starts with b.* looks like {kind}"):
        read_csv(write(content))


@pytest.mark.parametrize("content", [b"x\n1\n", gzip.compress(b"x\n" + b"1\n" * 99)[:-9]], ids=["plain", "cut off"])
def test_a_file_that_cannot_be_decompressed_is_named(read_csv, write, content):
    with pytest.raises(CorruptFileError, match=r"a.csv.gz: cannot be decompressed .*, expected gzip"):
        read_csv(write(content, "a.csv.gz"))


def test_only_blank_lines_have_no_header(read_csv, write):
    with pytest.raises(CorruptFileError, match="no header in the first 2 bytes"):
        read_csv(write("\n\n"))


@pytest.mark.parametrize("step", [1, 2**20])
def test_an_unterminated_quote_names_the_line_where_it_opened(read_csv, write, step):
    text = 'x,y\n1,"a\nb"\n2,"c\n""\nd\n3,e\n'
    with pytest.raises(CorruptFileError, match=r"a.csv: the quote that opens in line 4 is never closed"):
        read_csv(write(text), fragment_bytes=step)


def test_a_quote_that_stays_open_too_long_is_found_before_the_rest_is_read(read_csv, write, monkeypatch):
    monkeypatch.setattr(ranges, "RECORD_BYTES", 100)
    with pytest.raises(CorruptFileError, match="the quote that opens in line 3 is not closed within 100 bytes"):
        read_csv(write('x,y\n1,a\n2,"b\n' + "3,c\n" * 100 + '4,"d"\n'), fragment_bytes=64)


def test_a_record_that_is_too_long_is_named(read_csv, write, monkeypatch):
    monkeypatch.setattr(ranges, "RECORD_BYTES", 100)
    with pytest.raises(BadRowsError, match="line 3: a record of more than 100 bytes"):
        read_csv(write("x,y\n1,a\n2," + "b" * 500 + "\n"), fragment_bytes=64)


@pytest.mark.parametrize("schema", [None, XY])
def test_invalid_utf8_names_line_byte_and_hex(read_csv, write, schema):
    with pytest.raises(CorruptFileError, match=r"a.csv: line 3 is not UTF-8: ff at byte 11 of the text"):
        read_csv(write(b"x,y\n1,a\n2,b\xff\n"), schema=schema)


def test_a_header_that_is_not_utf8_is_named(read_csv, write):
    with pytest.raises(CorruptFileError, match=r"a.csv: the first record cannot be read"):
        read_csv(write(b"x,\xff\n1,a\n"))


def test_a_nul_byte_names_its_line(read_csv, write):
    filler = "1,a\n" * 2000
    with pytest.raises(CorruptFileError, match="line 2002 holds a NUL byte"):
        read_csv(write(f"x,y\n{filler}2,b\0\n"))


def test_a_file_that_changed_after_it_was_planned_is_refused(local, write):
    path, storage = write("x,y\n1,a\n"), Storage()
    source, fragments = Csv().plan(expand(path, Csv.suffixes, storage), local, storage, CsvOptions())
    path.write_text("x,y\n1,a\n2,b\n")
    with pytest.raises(IncompleteInputError, match="8 bytes when planned, 12 bytes now"):
        source.read(fragments[0].pieces[0], ["x"], "cpu")


def test_a_file_that_is_not_the_one_of_its_manifest_is_refused(local, write):
    storage, path = Storage(), write("x,y\n1,a\n")
    (file,) = expand(path, Csv.suffixes, storage)
    Csv().plan([replace(file, sha256=hashlib.sha256(path.read_bytes()).hexdigest())], local, storage, CsvOptions())
    with pytest.raises(CorruptFileError, match=r"a.csv: sha256 is .*, its manifest lists 0000000000000000"):
        Csv().plan([replace(file, sha256="0" * 64)], local, storage, CsvOptions())


def test_files_elsewhere_are_read_in_ranges_through_fsspec(read_csv):
    fsspec.filesystem("memory").pipe("/texts/a.csv", b"x,y\n" + b'1,"a\n"\n' * 50)
    assert read_csv("memory://texts/a.csv", fragment_bytes=64).to_pydict() == {"x": [1] * 50, "y": ["a\n"] * 50}


# Names


def test_a_missing_column_names_the_near_one(read_csv, write):
    files = [write("x,label\n1,a\n", "a.csv"), write("x,Label\n1,a\n", "b.csv")]
    with pytest.raises(SchemaDriftError, match=r"column 'label' of .*a.csv is not in .*b.csv. Did you mean 'Label'\?"):
        read_csv(files)


def test_a_missing_column_is_null_when_that_is_asked(read_csv, write):
    files = [write("x,y\n1,a\n", "a.csv"), write("x\n2\n", "b.csv")]
    assert read_csv(files, missing_columns="null").to_pydict() == {"x": [1, 2], "y": ["a", None]}
    assert read_csv(files, columns=["y"], missing_columns="null").to_pydict() == {"y": ["a", None]}


def test_a_declared_column_that_no_file_has_is_missing(read_csv, write):
    with pytest.raises(SchemaDriftError, match=r"column 'y' of the declared schema is not in .*a.csv"):
        read_csv(write("x\n1\n"), schema=XY)


def test_an_extra_column_is_left_out_with_one_warning(read_csv, write):
    files = [write("x\n1\n", "a.csv"), write("y,x\nz,2\n", "b.csv"), write("x,y\n3,z\n", "c.csv")]
    with pytest.warns(UserWarning, match=r"y in .*b.csv, .*c.csv") as warned:
        assert read_csv(files).to_pydict() == {"x": [1, 2, 3]}
    assert len(warned) == 1


def test_an_extra_column_is_an_error_when_that_is_asked(read_csv, write):
    files = [write("x\n1\n", "a.csv"), write("y,x\nz,2\n", "b.csv")]
    with pytest.raises(SchemaDriftError, match=r"column 'y' of .*b.csv is not in .*a.csv"):
        read_csv(files, extra_columns="error")


def test_a_name_that_stands_twice_is_refused_with_its_positions(read_csv, write):
    with pytest.raises(SchemaDriftError, match=r"column 'x' stands twice, at positions 0 and 2, in .*a.csv"):
        read_csv(write("x,y,x\n1,2,3\n"))


# Rows that do not fit


@pytest.mark.parametrize("schema", [None, XY])
@pytest.mark.parametrize("step", [1, 2**20])
@pytest.mark.parametrize(("row", "count"), [("2", 1), ("2,b,c", 3)])
def test_a_wrong_number_of_fields_names_line_and_counts(read_csv, write, schema, step, row, count):
    text = f'x,y\n\n1,"a\nb"\n{row}\n3,c\n'
    with pytest.raises(BadRowsError, match=rf"a.csv, line 5: {count} fields, expected 2: '{row}'"):
        read_csv(write(text), schema=schema, fragment_bytes=step)


def test_the_text_of_a_bad_row_is_shortened(read_csv, write):
    with pytest.raises(BadRowsError, match=r"line 2: 3 fields, expected 2: '1,a{78}\.\.\.'"):
        read_csv(write("x,y\n1," + "a" * 500 + ",b\n"))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int64(), "3.5"), (pa.int64(), "x1"), (pa.int8(), "300"), (pa.int64(), "9223372036854775808"),
        (pa.uint8(), "-1"), (pa.float64(), " "), (pa.float64(), "1e999"), (pa.float32(), "1e39"), (pa.bool_(), "yes"),
        (pa.date32(), "2020-02-30"), (pa.timestamp("us"), "2020-01-01T00:00:00Z"), (pa.timestamp("us"), "noon"),
    ],
)  # fmt: skip
def test_a_value_not_of_its_declared_type_names_line_column_and_value(read_csv, write, kind, value):
    text = f"y,x\nb,\n{'a,' + chr(10)}c,{value}\nd,{value}\n"
    with pytest.raises(SchemaDriftError) as found:
        read_csv(write(text), schema=pa.schema([("x", kind), ("y", pa.string())]))
    problem = f"{value!r} is not a value of {kind}, its declared type"
    assert found.value.message.endswith(f"a.csv, line 4, column 'x': {problem}")
    assert found.value.column == "x"
    assert Path(found.value.path).name == "a.csv"


def test_a_late_bad_value_is_found_in_its_range(read_csv, write):
    text = "x,y\n" + "1,a\n" * 50_000 + "x1,b\n" + "2,c\n" * 1000
    with pytest.raises(SchemaDriftError, match="line 50002, column 'x': 'x1' is not a value of int64"):
        read_csv(write(text), schema=XY, fragment_bytes=2**18)


# Options


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"column_names": ["a"]}, "column_names is for files without a header"),
        ({"delimiter": "||"}, r"delimiter is '\|\|', expected one ASCII character"),
        ({"quote": "é"}, "quote is 'é', expected one ASCII character"),
        ({"delimiter": '"'}, "delimiter and quote are both"),
        ({"schema": pa.schema({"x": pa.float16()})}, "column 'x' is declared as halffloat, which CSV"),
        ({"schema": pa.schema({"x": pa.list_(pa.int64())})}, "column 'x' is declared as list<.*>, which CSV"),
    ],
)
def test_options_that_make_no_sense_are_refused(read_csv, write, options, problem):
    with pytest.raises(ConfigError, match=problem):
        read_csv(write("x\n1\n"), **options)


# Real files


@pytest.mark.thorough
@pytest.mark.parametrize("fragment_bytes", [2**16, 2**28])
def test_churn_is_read_as_pandas_reads_it(read_csv, real_data, fragment_bytes):
    found = read_csv(real_data / "churn.csv", fragment_bytes=fragment_bytes)
    expected = pd.read_csv(real_data / "churn.csv", keep_default_na=False)
    assert found.schema.field("TotalCharges").type == pa.string()
    assert found.to_pydict() == expected.to_dict("list")


@pytest.mark.thorough
def test_taxi_has_blank_lines_and_empty_columns(read_csv, real_data):
    found = read_csv(real_data / "taxi" / "raw.csv", fragment_bytes=2**14)
    expected = read_csv_by_arrow(real_data / "taxi" / "raw.csv").to_pandas()  # pandas' own floats are exact since 3.1
    assert found["Rate_Code"].null_count == len(expected) == found.num_rows
    for name in expected.columns.drop(["Rate_Code", "mta_tax", "store_and_forward"]):
        assert found[name].to_pandas().tolist() == expected[name].tolist()


@pytest.mark.thorough
def test_agaricus_has_no_header(read_csv, real_data):
    found = read_csv(real_data / "agaricus" / "train.csv", header=False, fragment_bytes=2**22)
    expected = pd.read_csv(real_data / "agaricus" / "train.csv", header=None)
    assert (found.to_pandas().to_numpy() == expected.to_numpy()).all()
