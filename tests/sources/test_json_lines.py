"""JSON lines: keys, types and errors."""

from __future__ import annotations

import gzip
import json
import re
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.errors import BadRowsError, ConfigError, CorruptFileError, SchemaDriftError, SchemaError
from penstock.io.sources import ranges


@pytest.fixture
def read(read_json_lines, write):
    """Return what reads a text, or texts of several files, as JSON lines."""

    def read(*texts: str | bytes, **options: object) -> pa.Table:
        return read_json_lines([write(text, f"{chr(97 + place)}.jsonl") for place, text in enumerate(texts)], **options)

    return read


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ('{"x": 1}\n{"x": null}\n{}\n', pa.int64(), [1, None, None]),
        ('{"x": 1}\n{"x": 2.5}\n', pa.float64(), [1.0, 2.5]),
        ('{"x": true}\n', pa.bool_(), [True]),
        ('{"x": null}\n', pa.string(), [None]),
        ('{"x": "2020-01-01T00:00:00+02:00"}\n', pa.string(), ["2020-01-01T00:00:00+02:00"]),
        ('{"x": "3"}\n', pa.string(), ["3"]),
        ('{"x": []}\n{"x": [1, 2.5]}\n{"x": [null]}\n', pa.list_(pa.float64()), [[], [1.0, 2.5], [None]]),
        ('{"x": ["2020-01-01"]}\n{"x": ["a"]}\n', pa.list_(pa.string()), [["2020-01-01"], ["a"]]),
        ('{"x": [["2020-01-01"], []]}\n', pa.list_(pa.list_(pa.string())), [[["2020-01-01"], []]]),
        ('{"x": "\\u00e9\\n"}\n', pa.string(), ["é\n"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("step", [1, 2**20])
def test_types_are_those_of_the_values(read, text, kind, values, step):
    found = read(text, fragment_bytes=step)
    assert found.schema == pa.schema({"x": kind})
    assert found["x"].to_pylist() == values


def test_blank_lines_crlf_and_a_byte_order_mark_are_not_rows(read):
    assert read('\ufeff{"x": 1}\r\n\r\n  \n{"x": 2}').to_pydict() == {"x": [1, 2]}


def test_keys_are_bound_by_name_in_the_order_of_the_first_file(read):
    found = read('{"x": 1, "y": "a"}\n', '{"y": "b", "x": 2}\n')
    assert list(found.to_pydict().items()) == [("x", [1, 2]), ("y", ["a", "b"])]


def test_types_come_from_all_files(read):
    found = read('{"x": 1, "y": null}\n', '{"x": 2.5, "y": "b"}\n')
    assert found.to_pydict() == {"x": [1.0, 2.5], "y": [None, "b"]}


@pytest.mark.thorough
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.fixed_dictionaries({"x": st.none() | st.integers(-9, 9), "y": st.text(max_size=6)}), min_size=1),
    step=st.integers(1, 99),
)
def test_any_cut_gives_the_rows_that_were_written(read, rows, step):
    schema = pa.schema({"x": pa.int64(), "y": pa.string()})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert read(text, schema=schema, fragment_bytes=4 * step).to_pylist() == rows


def test_compressed_files_are_read_by_their_suffix(read_json_lines, write):
    assert read_json_lines(write(gzip.compress(b'{"x": 1}\n'), "a.json.gz")).to_pydict() == {"x": [1]}


def test_folders_of_keys_are_columns(read_json_lines, write, tmp_path):
    write('{"x": 1}\n', "d/year=2024/a.jsonl")
    assert read_json_lines(tmp_path / "d").to_pydict() == {"x": [1], "year": [2024]}


# Declared


def test_declared_dates_and_times_are_read_from_strings(read):
    schema = pa.schema({"x": pa.date32(), "y": pa.timestamp("us")})
    found = read('{"x": "2020-02-29", "y": "2020-02-29T10:30:00"}\n{}\n', schema=schema)
    assert found.schema == schema
    assert found.to_pydict() == {"x": [date(2020, 2, 29), None], "y": [datetime(2020, 2, 29, 10, 30), None]}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int64(), "3.5"), (pa.int64(), '"3"'), (pa.int8(), "300"), (pa.float64(), "true"), (pa.string(), "3"),
        (pa.bool_(), "1"), (pa.date32(), '"2020-02-29T10:30:00"'),
        (pa.date32(), '"2020-02-29T00:00:00"'), (pa.timestamp("us"), '"noon"'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("step", [1, 2**20])
def test_a_value_not_of_its_declared_type_names_line_column_and_value(read, kind, value, step):
    schema = pa.schema({"x": kind, "y": pa.int64()})
    with pytest.raises(SchemaDriftError) as found:
        read(f'{{"y": 1, "x": null}}\n\n{{"y": 2, "x": {value}}}\n', schema=schema, fragment_bytes=step)
    assert f"a.jsonl, line 3, column 'x': {value!r} is not a value of {kind}, its declared type" in found.value.message
    assert found.value.column == "x"


NAIVE, AWARE = pa.timestamp("us"), pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("kind", "value", "other"),
    [
        (NAIVE, "2020-01-01 00:00:00+05:00", "with a zone, such as pa.timestamp('us', 'UTC')"),
        (NAIVE, "2020-01-01T00:00:00Z", "with a zone, such as pa.timestamp('us', 'UTC')"),
        (AWARE, "2020-01-01 00:00:00", "without a zone"),
        (pa.timestamp("s", "Europe/Berlin"), "2020-01-01", "without a zone"),
    ],
)
def test_a_time_has_a_zone_if_its_type_has_one_in_json_lines_as_in_csv(read, read_csv, write, kind, value, other):
    schema, refused = pa.schema({"x": kind}), re.escape(f"is not a value of {kind}, its declared type")
    with pytest.raises(SchemaDriftError, match=refused) as in_json:
        read(f'{{"x": "{value}"}}\n', schema=schema)
    with pytest.raises(SchemaDriftError, match=refused) as in_csv:
        read_csv(write(f"x\n{value}\n"), schema=schema)
    assert in_json.value.hint == in_csv.value.hint == f"Declare a type {other}, or repair the file."
    with pytest.raises(SchemaDriftError, match="is not a value of list<item: timestamp"):
        read(f'{{"x": ["{value}"]}}\n', schema=pa.schema({"x": pa.list_(kind)}))


def test_times_with_a_zone_are_instants(read):
    values = ["2020-01-01T00:00:00+05:00", "9999-12-31T23:59:59.999999Z", "1500-01-01 00:00-01:30"]
    text = "".join(f'{{"x": "{value}", "y": ["{value}"]}}\n' for value in values)
    found = read(text, schema=pa.schema({"x": AWARE, "y": pa.list_(AWARE)}))
    expected = [datetime.fromisoformat(value).astimezone(UTC) for value in values]
    assert found["x"].to_pylist() == expected
    assert found["y"].to_pylist() == [[value] for value in expected]


def test_days_in_lists_are_strings_and_never_numbers(read):
    schema = pa.schema({"x": pa.list_(pa.date32())})
    assert read('{"x": ["2020-02-29", null]}\n', schema=schema)["x"].to_pylist() == [[date(2020, 2, 29), None]]
    with pytest.raises(SchemaDriftError, match=r"line 1, column 'x': '\[1\]' is not a value of list"):
        read('{"x": [1]}\n', schema=schema)


def test_a_declared_column_may_be_null_in_every_line(read):
    schema = pa.schema({"x": pa.int64(), "y": pa.string()})
    assert read('{"x": 1, "y": null}\n', schema=schema).to_pydict() == {"x": [1], "y": [None]}


@pytest.mark.parametrize(
    "kind",
    [pa.struct({"a": pa.int64()}), pa.list_(pa.struct({"a": pa.int64()})), pa.duration("s"), pa.time32("s")],
)
def test_types_that_json_cannot_hold_are_refused(read, kind):
    with pytest.raises(
        ConfigError, match=re.escape(f"is declared as {kind}, which a column of JSON lines cannot hold")
    ):
        read("{}\n", schema=pa.schema({"x": kind}))


# Columns that differ


def test_a_column_that_a_file_never_has_is_missing(read):
    with pytest.raises(
        SchemaDriftError, match=r"column 'label' of .*a.jsonl is not in .*b.jsonl. Did you mean 'Label'\?"
    ):
        read('{"x": 1, "label": 1}\n', '{"x": 1, "Label": 2}\n')


def test_a_missing_column_is_null_when_that_is_asked(read):
    found = read('{"x": 1, "y": 1}\n', '{"x": 2}\n', missing_columns="null")
    assert found.to_pydict() == {"x": [1, 2], "y": [1, None]}


def test_a_declared_column_that_no_line_has_is_missing(read):
    with pytest.raises(SchemaDriftError, match=r"column 'y' of the declared schema is not in .*a.jsonl"):
        read('{"x": 1}\n', schema=pa.schema({"x": pa.int64(), "y": pa.string()}))


def test_a_file_without_rows_lacks_no_column(read):
    assert read('{"x": 1}\n', "\n").to_pydict() == {"x": [1]}


@pytest.mark.parametrize("extra", ["1", '"a"}\n{"x": 2, "y": 3'])
def test_an_undeclared_column_is_left_out_with_a_warning_whatever_it_holds(read, extra):
    with pytest.warns(UserWarning, match=r"columns that the declared schema lacks are left out: y in .*a.jsonl"):
        found = read(f'{{"x": 1, "y": {extra}}}\n', schema=pa.schema({"x": pa.int64()}))
    assert found.schema.names == ["x"]


def test_an_extra_column_is_an_error_when_that_is_asked(read):
    with pytest.raises(SchemaDriftError, match=r"column 'y' of .*b.jsonl is not in .*a.jsonl"):
        read('{"x": 1}\n', '{"x": 1, "y": 2}\n', extra_columns="error")


# Lines that cannot be read


@pytest.mark.parametrize("line", ['{"x": 2', "[1, 2]", "x", '{"x": 1, "x": 2}', '{"x": }'])
@pytest.mark.parametrize("step", [1, 2**20])
def test_a_line_that_is_not_an_object_is_named(read, line, step):
    with pytest.raises(BadRowsError) as found:
        read(f'{{"x": 1}}\n\n{line}\n{{"x": 3}}\n', fragment_bytes=step)
    assert "a.jsonl, line 3 is not a JSON object" in found.value.message
    assert repr(line) in found.value.message


@pytest.mark.parametrize("second", ['{"x": 2}', ' {"x": "a"}', '{"y": [1]}{}'])
@pytest.mark.parametrize("schema", [None, pa.schema({"x": pa.int64()})])
def test_two_objects_in_a_line_are_refused(read, schema, second):
    with pytest.raises(BadRowsError, match=r"a.jsonl, line 2 is more than one JSON object: '{\"x\": 1}"):
        read('{"x": 0}\n{"x": 1}' + second + '\n{"x": 3}\n', schema=schema)


@pytest.mark.parametrize("step", [1, 2**20])
@pytest.mark.parametrize(
    "text", ['{"x": 1}{"x":\n2}\n', '{"x":\n1}\n', '{"x": [{}\n, {}]}\n', '\ufeff\ufeff{"x": 1}\n']
)
def test_an_object_has_a_line_of_its_own_wherever_the_file_is_cut(read, text, step):
    with pytest.raises(BadRowsError, match=r"a.jsonl, line [12] is not a JSON object"):
        read(text, fragment_bytes=step)


def test_a_whole_number_of_more_digits_than_python_reads_is_refused_with_its_line(read):
    long = "1" * 5000
    with pytest.raises(SchemaDriftError, match=r"column 'x': '1{80}...' is whole, and exact neither"):
        read(f'{{"x": {long}}}\n')
    with pytest.raises(SchemaDriftError, match=r"line 1, column 'x': '{\"x\": 1{74}...' is not a value of int64"):
        read(f'{{"x": {long}}}\n', schema=pa.schema({"x": pa.int64()}))


# Nesting


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    """Return a value that is nested `depth` deep."""
    return opening * depth + closing * depth


@pytest.mark.parametrize("schema", [None, pa.schema({"x": pa.int64()})], ids=["inferred", "declared"])
@pytest.mark.parametrize(
    "value",
    [
        nested(63),
        nested(20_000),
        nested(20_000, '{"a":', "}").replace(":}", ":1}"),
        "[" * 20_000,
        '["]",' * 20_000 + '"]"' + "]" * 20_000,
        '["\\\\",' * 20_000 + "1" + "]" * 20_000,
        '["\\"]",' * 20_000 + "1" + "]" * 20_000,
    ],
    ids=["64", "lists", "objects", "open", "brackets in strings", "backslashes", "quotes"],
)
def test_a_line_nested_too_deeply_is_refused_before_it_is_parsed(read, schema, value):
    with pytest.raises(BadRowsError) as found:
        read(f'{{"x": 1}}\n{{"x": 2, "y": {value}}}\n', schema=schema)
    assert 'a.jsonl, line 2 is nested more than 63 deep: \'{"x": 2' in found.value.message


@pytest.mark.parametrize("text", [nested(1000), "[" * 1000, '\\"' + "[" * 1000, "[" * 1000 + "\\\\"])
def test_brackets_in_a_string_do_not_nest(read, text):
    assert read(f'{{"x": "a{text}"}}\n'.replace("\\", "\\")).num_rows == 1


def test_lists_are_read_down_to_the_depth_that_is_allowed(read):
    assert read(f'{{"x": {nested(62)}}}\n' * 3).num_rows == 3
    assert read('{"x": ' + nested(1) + ', "y": [' + ", ".join([nested(60)] * 50) + "]}\n").num_rows == 1


@pytest.mark.parametrize(("first", "second"), [("1", '"a"'), ("true", "1"), ("[1]", "1")])
def test_values_of_different_kinds_are_refused(read, first, second):
    lines = f'{{"x": {first}}}\n{{"x": {second}}}\n'
    with pytest.raises(SchemaDriftError, match=r"a.jsonl, line 2, column 'x': .* the type of the lines before it"):
        read(lines)
    with pytest.raises(SchemaDriftError, match=r"column 'x' is .* in .*a.jsonl but .* in .*a.jsonl"):
        read(lines, fragment_bytes=1)


def test_the_column_that_changed_is_named_and_not_one_that_looks_like_a_date(read):
    with pytest.raises(SchemaDriftError, match=r"line 2, column 'y': '\"b\"' is not a value of int64"):
        read('{"x": "2020-01-01", "y": 1}\n{"x": "a", "y": "b"}\n')


def test_kinds_that_differ_between_files_are_refused(read):
    with pytest.raises(SchemaDriftError, match=r"column 'x' is int64 in .*a.jsonl but string in .*b.jsonl"):
        read('{"x": 1}\n', '{"x": "1"}\n')


def test_a_nested_object_is_refused(read):
    with pytest.raises(SchemaError, match=r"column 'x' of .*a.jsonl is an object"):
        read('{"x": {"y": 1}}\n')


@pytest.mark.parametrize(
    "line",
    ['{"x": 9223372036854775808}', '{"x": 9007199254740993}\n{"x": 0.5}', '{"x": [1]}\n{"x": [9007199254740993, 0.5]}'],
)
def test_a_whole_number_that_would_lose_digits_is_refused(read, line):
    with pytest.raises(
        SchemaDriftError, match=r"column 'x': '9\d+' is whole, and exact neither as int64 nor as float64"
    ):
        read(line + "\n")


def test_large_numbers_that_are_not_whole_are_read(read):
    assert read('{"x": 1e300}\n{"x": 1}\n').to_pydict() == {"x": [1e300, 1.0]}


def test_zero_bytes_are_refused(read):
    with pytest.raises(CorruptFileError, match=r"b.jsonl: 0 bytes, expected a file of JSON lines"):
        read('{"x": 1}\n', "")


def test_invalid_utf8_names_its_line(read):
    with pytest.raises(CorruptFileError, match="line 2 is not UTF-8: ff at byte"):
        read(b'{"x": "a"}\n{"x": "\xff"}\n')


def test_a_line_that_is_too_long_is_named(read, monkeypatch):
    monkeypatch.setattr(ranges, "RECORD_BYTES", 100)
    with pytest.raises(BadRowsError, match="line 2: a record of more than 100 bytes"):
        read('{"x": "a"}\n{"x": "' + "b" * 500 + '"}\n', fragment_bytes=80)


def test_lines_without_any_key_are_refused_and_not_counted_as_rows_that_cannot_be_read(local, write):
    with pytest.raises(SchemaError, match=r"the data has 2 row\(s\) and no column"):
        local.read_json_lines(write("{}\n{}\n", "a.jsonl"))
