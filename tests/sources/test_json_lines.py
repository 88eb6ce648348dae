"""JSON lines: keys, types and errors."""

import re
from datetime import UTC, date, datetime
from itertools import product

import pyarrow as pa
import pytest

from penstock.errors import BadRowsError, ConfigError, CorruptFileError, SchemaDriftError, SchemaError
from penstock.io.sources import ranges


@pytest.fixture
def read(read_json_lines, write):
    """Return what reads a text, or texts of several files, as JSON lines."""

    def read(*texts: str | bytes, **options: object) -> pa.Table:
        return read_json_lines([write(text, f"{chr(97 + place)}.jsonl") for place, text in enumerate(texts)], **options)

    return read


def test_types_are_those_of_the_values(read, subtests):
    for step, (text, kind, values) in product((1, 2**20), (
        ('{"x": 1}\n{"x": null}\n{}\n', pa.int64(), [1, None, None]),
        ('{"x": 1}\n{"x": 2.5}\n', pa.float64(), [1.0, 2.5]),
        ('{"x": true}\n', pa.bool_(), [True]),
        ('{"x": 1e300}\n{"x": 1}\n', pa.float64(), [1e300, 1.0]),
        ('{"x": null}\n', pa.string(), [None]),
        ('{"x": "2020-01-01T00:00:00+02:00"}\n', pa.string(), ["2020-01-01T00:00:00+02:00"]),
        ('{"x": "3"}\n', pa.string(), ["3"]),
        ('{"x": []}\n{"x": [1, 2.5]}\n{"x": [null]}\n', pa.list_(pa.float64()), [[], [1.0, 2.5], [None]]),
        ('{"x": ["2020-01-01"]}\n{"x": ["a"]}\n', pa.list_(pa.string()), [["2020-01-01"], ["a"]]),
        ('{"x": [["2020-01-01"], []]}\n', pa.list_(pa.list_(pa.string())), [[["2020-01-01"], []]]),
        ('{"x": "\\u00e9\\n"}\n', pa.string(), ["é\n"]),
    )):  # fmt: skip
        with subtests.test(text=text, kind=kind, values=values, step=step):
            found = read(text, fragment_bytes=step)
            assert found.schema == pa.schema({"x": kind})
            assert found["x"].to_pylist() == values


def test_blank_lines_crlf_and_a_byte_order_mark_are_not_rows(read):
    assert read('\ufeff{"x": 1}\r\n\r\n  \n{"x": 2}').to_pydict() == {"x": [1, 2]}


# Declared


def test_declared_dates_and_times_are_read_from_strings(read):
    schema = pa.schema({"x": pa.date32(), "y": pa.timestamp("us")})
    found = read('{"x": "2020-02-29", "y": "2020-02-29T10:30:00"}\n{}\n', schema=schema)
    assert found.schema == schema
    assert found.to_pydict() == {"x": [date(2020, 2, 29), None], "y": [datetime(2020, 2, 29, 10, 30), None]}


def test_a_value_not_of_its_declared_type_names_line_column_and_value(read, subtests):
    for step, (kind, value) in product((1, 2**20), (
        (pa.int64(), "3.5"), (pa.int64(), '"3"'), (pa.int8(), "300"), (pa.float64(), "true"), (pa.string(), "3"),
        (pa.bool_(), "1"), (pa.date32(), '"2020-02-29T10:30:00"'),
        (pa.date32(), '"2020-02-29T00:00:00"'), (pa.timestamp("us"), '"noon"'),
    )):  # fmt: skip
        with subtests.test(kind=kind, value=value, step=step):
            schema = pa.schema({"x": kind, "y": pa.int64()})
            with pytest.raises(SchemaDriftError) as found:
                read(f'{{"y": 1, "x": null}}\n\n{{"y": 2, "x": {value}}}\n', schema=schema, fragment_bytes=step)
            assert (
                f"a.jsonl, line 3, column 'x': {value!r} is not a value of {kind}, its declared type"
                in found.value.message
            )
            assert found.value.column == "x"


NAIVE, AWARE = pa.timestamp("us"), pa.timestamp("us", "UTC")


def test_a_time_has_a_zone_if_its_type_has_one_in_json_lines_as_in_csv(read, read_csv, write, subtests):
    for kind, value, other in (
        (NAIVE, "2020-01-01 00:00:00+05:00", "with a zone, such as pa.timestamp('us', 'UTC')"),
        (NAIVE, "2020-01-01T00:00:00Z", "with a zone, such as pa.timestamp('us', 'UTC')"),
        (AWARE, "2020-01-01 00:00:00", "without a zone"),
        (pa.timestamp("s", "Europe/Berlin"), "2020-01-01", "without a zone"),
    ):
        with subtests.test(kind=kind, value=value, other=other):
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


def test_types_that_json_cannot_hold_are_refused(read):
    struct = pa.struct({"a": pa.int64()})
    for kind in (struct, pa.list_(struct), pa.duration("s"), pa.time32("s")):
        problem = f"is declared as {kind}, which a column of JSON lines cannot hold"
        with pytest.raises(ConfigError, match=re.escape(problem)):
            read("{}\n", schema=pa.schema({"x": kind}))


# Columns that differ


def test_types_come_from_all_files_and_a_file_without_rows_lacks_no_column(read):
    found = read('{"x": 1, "y": null}\n', '{"x": 2.5, "y": "b"}\n', "\n")
    assert found.to_pydict() == {"x": [1.0, 2.5], "y": [None, "b"]}


def test_an_undeclared_column_is_left_out_with_a_warning_whatever_it_holds(read, subtests):
    for extra in ("1", '"a"}\n{"x": 2, "y": 3'):
        with subtests.test(extra=extra):
            with pytest.warns(
                UserWarning, match=r"columns that the declared schema lacks are left out: y in .*a.jsonl"
            ):
                found = read(f'{{"x": 1, "y": {extra}}}\n', schema=pa.schema({"x": pa.int64()}))
            assert found.schema.names == ["x"]


# Lines that cannot be read


def test_a_line_that_is_not_one_object_is_named_wherever_the_file_is_cut(read, subtests):
    not_an_object = ('{"x": 2', "[1, 2]", "x", '{"x": 1, "x": 2}', '{"x": }')
    more_than_one = ('{"x": 1}{"x": 2}', '{"x": 1} {"x": "a"}', '{"x": 1}{"y": [1]}{}')
    cases = [(line, "is not a JSON object") for line in not_an_object]
    cases += [(line, "is more than one JSON object") for line in more_than_one]
    for (line, problem), step, schema in product(cases, (1, 2**20), (None, pa.schema({"x": pa.int64()}))):
        with subtests.test(line=line, step=step, schema=schema):
            with pytest.raises(BadRowsError) as found:
                read(f'{{"x": 1}}\n\n{line}\n{{"x": 3}}\n', schema=schema, fragment_bytes=step)
            assert f"a.jsonl, line 3 {problem}" in found.value.message
            assert repr(line) in found.value.message


def test_an_object_has_a_line_of_its_own_wherever_the_file_is_cut(read, subtests):
    for text, step in product(
        ('{"x": 1}{"x":\n2}\n', '{"x":\n1}\n', '{"x": [{}\n, {}]}\n', '\ufeff\ufeff{"x": 1}\n'), (1, 2**20)
    ):
        told = r"a.jsonl, line [12] is not a JSON object"
        with subtests.test(step=step, text=text), pytest.raises(BadRowsError, match=told):
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


NESTED = {
    "64": nested(63),
    "lists": nested(20_000),
    "objects": nested(20_000, '{"a":', "}").replace(":}", ":1}"),
    "open": "[" * 20_000,
    "brackets in strings": '["]",' * 20_000 + '"]"' + "]" * 20_000,
    "backslashes": '["\\\\",' * 20_000 + "1" + "]" * 20_000,
    "quotes": '["\\"]",' * 20_000 + "1" + "]" * 20_000,
}


def test_a_line_nested_too_deeply_is_refused_before_it_is_parsed(read, subtests):
    for what, schema in product(NESTED, (None, pa.schema({"x": pa.int64()}))):
        with subtests.test(what=what, schema=schema):
            with pytest.raises(BadRowsError) as found:
                read(f'{{"x": 1}}\n{{"x": 2, "y": {NESTED[what]}}}\n', schema=schema)
            assert 'a.jsonl, line 2 is nested more than 63 deep: \'{"x": 2' in found.value.message


def test_brackets_in_a_string_do_not_nest(read):
    for text in (nested(1000), "[" * 1000, '\\"' + "[" * 1000, "[" * 1000 + "\\\\"):
        assert read(f'{{"x": "a{text}"}}\n').num_rows == 1


def test_lists_are_read_down_to_the_depth_that_is_allowed(read):
    assert read(f'{{"x": {nested(62)}}}\n' * 3).num_rows == 3
    assert read('{"x": ' + nested(1) + ', "y": [' + ", ".join([nested(60)] * 50) + "]}\n").num_rows == 1


def test_values_of_different_kinds_are_refused(read, subtests):
    for first, second in (("1", '"a"'), ("true", "1"), ("[1]", "1")):
        with subtests.test(first=first, second=second):
            lines = f'{{"x": {first}}}\n{{"x": {second}}}\n'
            with pytest.raises(
                SchemaDriftError, match=r"a.jsonl, line 2, column 'x': .* the type of the lines before it"
            ):
                read(lines)
            with pytest.raises(SchemaDriftError, match=r"column 'x' is .* in .*a.jsonl but .* in .*a.jsonl"):
                read(lines, fragment_bytes=1)


def test_a_whole_number_that_would_lose_digits_is_refused(read, subtests):
    for line in (
        '{"x": 9223372036854775808}',
        '{"x": 9007199254740993}\n{"x": 0.5}',
        '{"x": [1]}\n{"x": [9007199254740993, 0.5]}',
    ):
        with (
            subtests.test(line=line),
            pytest.raises(
                SchemaDriftError, match=r"column 'x': '9\d+' is whole, and exact neither as int64 nor as float64"
            ),
        ):
            read(line + "\n")


UNREADABLE = [
    (['{"x": {"y": 1}}\n'], SchemaError, r"column 'x' of .*a.jsonl is an object"),
    (['{"x": 1}\n', '{"x": "1"}\n'], SchemaDriftError, r"column 'x' is int64 in .*a.jsonl but string in .*b.jsonl"),
    # The column that changed is named, and not one that looks like a date.
    (
        ['{"x": "2020-01-01", "y": 1}\n{"x": "a", "y": "b"}\n'],
        SchemaDriftError,
        "line 2, column 'y': '\"b\"' is not a value of int64",
    ),
    (['{"x": 1}\n', ""], CorruptFileError, "b.jsonl: 0 bytes, expected a file of JSON lines"),
    ([b'{"x": "a"}\n{"x": "\xff"}\n'], CorruptFileError, "line 2 is not UTF-8: ff at byte"),
]


def test_files_that_cannot_be_read_are_refused_with_what_is_wrong(read, subtests):
    for texts, error, problem in UNREADABLE:
        with subtests.test(texts=texts), pytest.raises(error, match=problem):
            read(*texts)


def test_a_line_that_is_too_long_is_named(read, monkeypatch):
    monkeypatch.setattr(ranges, "RECORD_BYTES", 100)
    with pytest.raises(BadRowsError, match="line 2: a record of more than 100 bytes"):
        read('{"x": "a"}\n{"x": "' + "b" * 500 + '"}\n', fragment_bytes=80)


def test_lines_without_any_key_are_refused_and_not_counted_as_rows_that_cannot_be_read(local, write):
    with pytest.raises(SchemaError, match=r"the data has 2 row\(s\) and no column"):
        local.read_json_lines(write("{}\n{}\n", "a.jsonl"))
