"""Records of text files that cannot be parsed, set aside: which, why, how many, and what is left."""

import gzip
import logging
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.cli.reporting import describe
from penstock.dataset import Dataset
from penstock.errors import BadRowsError, ConfigError, CorruptFileError, SchemaDriftError

SCHEMA = pa.schema({"x": pa.int64(), "y": pa.string()})
NOT_INT64 = "not a value of int64 (column 'x')"
CUTS = [1, 200, 2**20]


@dataclass(frozen=True)
class Text:
    """A text made of records that are known to be good, with their rows, or bad, with their reasons."""

    content: bytes
    rows: list[dict[str, object]]
    bad: list[tuple[str, int, str]]
    """Reason, line and text."""


def text_of(records: list[tuple[str, dict[str, object] | str]], header: str = "") -> Text:
    """Return the text of records, each with the row that it is, or the reason why it is none."""
    rows, bad, line = [], [], 1 + header.count("\n")
    for record, what in records:
        if isinstance(what, str):
            bad.append((what, line, record))
        else:
            rows.append(what)
        line += 1 + record.count("\n")
    return Text((header + "".join(f"{record}\n" for record, _ in records)).encode(), rows, bad)


def csv_text(count: int = 30) -> Text:
    """Return CSV in which every fifth record or so is bad, a few in a row."""
    records: list[tuple[str, dict[str, object] | str]] = []
    for number in range(count):
        records.append((f'{number},"a,\n{number}"', {"x": number, "y": f"a,\n{number}"}))
        if number % 10 == 3:
            records += [(f"{number}", "wrong number of fields"), (f"{number},a,b", "wrong number of fields")]
        if number % 20 == 5:
            records.append((f'{number}.5,"b\nc"', NOT_INT64))
    return text_of(records, header="x,y\n")


def json_text(count: int = 30) -> Text:
    records: list[tuple[str, dict[str, object] | str]] = []
    for number in range(count):
        records.append((f'{{"x": {number}, "y": "a"}}', {"x": number, "y": "a"}))
        if number % 10 == 3:
            records += [(f'{{"x": {number}', "not a JSON object"), ('{"x": }', "not a JSON object")]
        if number % 20 == 5:
            records.append(('{"x": 1}{"x": 2}', "more than one JSON object"))
            records.append(('{"x": "one"}', NOT_INT64))
            records.append(('{"y": ' + "[" * 64 + "]" * 64 + "}", "nested more than 63 deep"))
    return text_of(records)


TEXTS = {"a.csv": csv_text(), "a.jsonl": json_text()}


@pytest.fixture(params=TEXTS)
def case(request, write) -> tuple[Path, Text]:
    """A file of each format, and what it holds."""
    return write(TEXTS[request.param].content, request.param), TEXTS[request.param]


def read(engine, path: Path, **options: object) -> Dataset:
    reader = engine.read_csv if ".csv" in path.name else engine.read_json_lines
    return reader(path, **{"schema": SCHEMA, "max_bad_records": 1000, **options})


def written(dataset: Dataset, folder: Path) -> tuple[list[dict[str, object]], list[tuple[str, int, str]]]:
    """Write a dataset and return its rows and its quarantine, after checks of the counts."""
    result = dataset.write_parquet(folder, overwrite=True)
    rows = pq.read_table(folder).to_pylist()
    aside = pq.read_table(result.quarantine).to_pylist() if result.quarantine else []
    reasons = [row["reason"] for row in aside]
    assert result.rows == len(rows)
    assert result.read == len(rows) + sum(result.dropped.values()) + len(aside)
    assert result.quarantined == {reason: reasons.count(reason) for reason in reasons}
    return rows, [(row["reason"], row["_corrupt_line"], row["_corrupt_record"]) for row in aside]


# Rows and records


@pytest.mark.thorough
def test_good_rows_are_read_and_bad_records_written_aside_wherever_the_file_is_cut(local, case, tmp_path):
    path, text = case
    for fragment_bytes in CUTS:
        dataset = read(local, path, fragment_bytes=fragment_bytes)
        assert dataset.count() == len(text.rows)
        assert written(dataset, tmp_path / "out") == (text.rows, text.bad)


def test_every_engine_sets_the_same_records_aside(engine, case, tmp_path):
    path, text = case
    assert written(read(engine, path, fragment_bytes=1000), tmp_path / "out") == (text.rows, text.bad)


def test_compressed_files_have_bad_records_too(local, case, write, tmp_path):
    path, text = case
    packed = write(gzip.compress(text.content), f"{path.name}.gz")
    assert written(read(local, packed), tmp_path / "out") == (text.rows, text.bad)


def test_columns_that_a_read_leaves_out_make_no_difference(local, case):
    path, text = case
    dataset = read(local, path, fragment_bytes=1000)
    assert dataset.select("y").to_arrow()["y"].to_pylist() == [row["y"] for row in text.rows]


def test_row_numbers_are_those_of_the_good_rows(local, case):
    path, text = case
    whole = local.from_arrow(pa.Table.from_pylist(text.rows, SCHEMA))
    expected = [part.to_arrow().to_pylist() for part in whole.split([1, 1], seed=3)]
    parts = read(local, path, fragment_bytes=1000).split([1, 1], seed=3)
    assert [part.to_arrow().to_pylist() for part in parts] == expected


def test_a_file_of_bad_records_alone_has_no_rows(local, write, tmp_path):
    path = write("x,y\n1\n2\n3")
    dataset = read(local, path, fragment_bytes=1)
    bad = [("wrong number of fields", line, str(line - 1)) for line in (2, 3, 4)]
    assert dataset.count() == 0
    assert written(dataset, tmp_path / "out") == ([], bad)


def test_lines_of_a_file_are_counted_from_its_start_in_every_range(local, write, tmp_path):
    good = "".join(f"{number},a\r\n" for number in range(100))
    path = write(f"x,y\r\n\r\n{good}1,2,3\r\n{good}q,r\r\n")
    _, bad = written(read(local, path, fragment_bytes=800), tmp_path / "out")
    assert bad == [("wrong number of fields", 103, "1,2,3"), (NOT_INT64, 204, "q,r")]


def test_a_record_that_is_not_utf8_is_set_aside_as_escaped_text(local, write, tmp_path):
    path = write("x,y\n1,é\n".encode() + b"2,\xe9t\xe9\n3,c\n")
    rows, bad = written(read(local, path), tmp_path / "out")
    assert rows == [{"x": 1, "y": "é"}, {"x": 3, "y": "c"}]
    assert bad == [("not UTF-8", 3, "2,\\xe9t\\xe9")]


def test_a_long_record_is_shortened_in_the_quarantine(local, write, tmp_path):
    path = write("x,y\n" + "a" * 5000 + "\n1,b\n")
    _, bad = written(read(local, path), tmp_path / "out")
    assert bad == [("wrong number of fields", 2, "a" * 4000 + "...")]


def test_the_quarantine_names_the_file_of_each_record(local, write, tmp_path):
    files = [write("x,y\n1\n", "a.csv"), write("x,y\n1,a\n2\n", "b.csv")]
    result = local.read_csv(files, schema=SCHEMA, max_bad_records=2).write_parquet(tmp_path / "out")
    aside = pq.read_table(result.quarantine)
    assert aside.schema.names == ["row", "reason", "_corrupt_file", "_corrupt_line", "_corrupt_record"]
    assert aside["_corrupt_file"].to_pylist() == [str(path) for path in files]
    assert aside["row"].to_pylist() == [None, None]


def test_folder_keys_go_with_the_good_rows(local, write, tmp_path):
    write("x\n1\n2,3\n", "d/k=7/a.csv")
    dataset = local.read_csv(tmp_path / "d", allow_unmanifested=True, max_bad_records=1)
    assert dataset.to_arrow().to_pylist() == [{"x": 1, "k": 7}]


# Types that are not declared


def test_types_are_inferred_from_all_records_with_the_right_number_of_fields(local, write, tmp_path):
    path = write("x,y\n1,a\n2\n3.5,b\nq,r,s\n4,c\n")
    for fragment_bytes in CUTS:
        dataset = read(local, path, schema=None, fragment_bytes=fragment_bytes)
        assert dataset.schema == pa.schema({"x": pa.float64(), "y": pa.string()})
        rows, bad = written(dataset, tmp_path / "out")
        assert [row["x"] for row in rows] == [1.0, 3.5, 4.0]
        assert bad == [("wrong number of fields", 3, "2"), ("wrong number of fields", 5, "q,r,s")]


def test_lines_that_are_no_objects_are_set_aside_where_types_are_inferred(local, write, tmp_path):
    path = write('{"x": 1}\n{"x": 2\n[3]\n{"x": 4.5}\n', "a.jsonl")
    for fragment_bytes in CUTS:
        rows, bad = written(read(local, path, schema=None, fragment_bytes=fragment_bytes), tmp_path / "out")
        assert rows == [{"x": 1.0}, {"x": 4.5}]
        assert bad == [("not a JSON object", 2, '{"x": 2'), ("not a JSON object", 3, "[3]")]


def test_values_of_different_kinds_in_inferred_json_lines_are_an_error_still(local, write):
    path = write('{"x": 1}\n{"x": \n{"x": "a"}\n', "a.jsonl")
    with pytest.raises(SchemaDriftError, match=r"a.jsonl, line 3, column 'x': '\"a\"' is not a value of int64"):
        read(local, path, schema=None)


# The limit


@pytest.mark.parametrize("limit", [1, 5])
def test_more_bad_records_than_allowed_are_one_error_wherever_the_file_is_cut(local, case, limit):
    path, text = case
    first = [reason for reason, _, _ in text.bad[: limit + 1]]
    counts = ", ".join(f"{first.count(reason)} {reason}" for reason in dict.fromkeys(first))
    told = (
        f"more than the {limit} records that max_bad_records allows cannot be parsed; the first {limit + 1}: {counts}."
        f" {path}, line {text.bad[0][1]}: {text.bad[0][0]}: {text.bad[0][2]!r:.90}"
    )
    messages = set()
    for fragment_bytes in CUTS:
        with pytest.raises(BadRowsError) as caught:
            read(local, path, max_bad_records=limit, fragment_bytes=fragment_bytes)
        messages.add(caught.value.message)
    assert len(messages) == 1
    assert messages.pop().startswith(told)


def test_as_many_bad_records_as_allowed_are_no_error(local, case):
    path, text = case
    assert read(local, path, max_bad_records=len(text.bad)).count() == len(text.rows)
    with pytest.raises(BadRowsError):
        read(local, path, max_bad_records=len(text.bad) - 1)


def test_the_limit_is_that_of_all_files_together(local, write):
    files = [write("x,y\n1\n", f"{name}.csv") for name in "abc"]
    with pytest.raises(BadRowsError, match=r"the first 3: 3 wrong number of fields. .*a.csv, line 2") as caught:
        local.read_csv(files, schema=SCHEMA, max_bad_records=2)
    assert "keeps none of them aside" in caught.value.hint
    assert "that its quarantine= names, or <path>.quarantine" in caught.value.hint
    assert "raise --max-bad-records. " in describe(caught.value)["hint"]
    assert "that --quarantine names" in describe(caught.value)["hint"]


def test_a_limit_that_is_no_count_is_refused(local, write):
    for name, limit in product(("a.csv", "a.jsonl"), (-1, True, 1.0, "1", None)):
        path = write("{}\n", name)
        with pytest.raises(ConfigError, match=r"max_bad_records is .*, expected how many records may be set aside"):
            read(local, path, max_bad_records=limit)


def test_without_a_limit_the_first_bad_record_is_an_error_that_names_the_parameter(local, write):
    with pytest.raises(BadRowsError, match="line 2: 1 fields, expected 2") as caught:
        local.read_csv(write("x,y\n1\n"))
    assert "max_bad_records" in caught.value.hint


def test_a_quote_that_never_closes_is_an_error_still(local, write):
    path = write('x,y\n1,a\n2\n3,b\n"4,c\n5,d\n')
    for fragment_bytes in CUTS:
        with pytest.raises(CorruptFileError, match="the quote that opens in line 5 is never closed"):
            read(local, path, fragment_bytes=fragment_bytes)


# Accounts


@pytest.mark.thorough
def test_each_bad_record_is_in_one_part_of_a_split_wherever_the_file_is_cut(local, case):
    path, text = case
    seen = []
    for fragment_bytes in CUTS:
        parts = read(local, path, fragment_bytes=fragment_bytes).split([1, 1, 1], seed=1)
        tables = [pa.concat_tables(map(part.reader.unparsed, part.fragments)) for part in parts]
        seen.append([table["_corrupt_line"].to_pylist() for table in tables])
        logs = [part.gather(())[1] for part in parts]
        assert [sum(log.quarantined.values()) for log in logs] == [len(lines) for lines in seen[-1]]
        assert sum(log.read for log in logs) == len(text.rows) + len(text.bad)
    assert sorted(line for part in seen[0] for line in part) == [line for _, line, _ in text.bad]
    assert all(seen[0])
    assert all(parts == seen[0] for parts in seen)


def test_a_fit_reports_them_among_the_rows_read(local, case):
    path, text = case
    model = ps.Pipeline(st.Imputer("x")).fit(read(local, path, fragment_bytes=1000))
    log = model.report.rows
    reasons = [reason for reason, _, _ in text.bad]
    assert log.quarantined == {reason: reasons.count(reason) for reason in reasons}
    assert (log.read, log.kept) == (len(text.rows) + len(text.bad), len(text.rows))


def test_they_stand_beside_rows_that_a_rule_sets_aside(local, case, tmp_path):
    path, text = case
    rule = st.Expect("x < 20", action="quarantine")
    data = read(local, path, fragment_bytes=1000)
    result = ps.Pipeline(rule).fit(data).transform(data).write_parquet(tmp_path / "out")
    parts = [pq.read_table(part) for part in sorted(Path(result.quarantine).glob("*.parquet"))]
    aside = pa.concat_tables(parts, promote_options="default").to_pylist()
    assert [row["x"] for row in aside if row["reason"] == "x < 20"] == list(range(20, 30))
    bad = [(row["reason"], row["_corrupt_line"], row["_corrupt_record"]) for row in aside if row["reason"] != "x < 20"]
    assert bad == text.bad
    assert (result.read, result.rows) == (len(text.rows) + len(text.bad), 20)


def test_a_filter_does_not_drop_them(local, case, tmp_path):
    path, text = case
    rows, bad = written(read(local, path).filter(nw.col("x") < 0), tmp_path / "out")
    assert (rows, bad) == ([], text.bad)


def test_a_query_has_the_good_rows(local, case):
    path, text = case
    assert local.query(lambda frame: frame.sort("x"), read(local, path)).to_arrow().to_pylist() == text.rows


def test_they_are_logged_when_the_dataset_is_planned(local, write, caplog):
    path = write("x,y\n1,a\n2\n3,b\n4,c,d\nq,e\n")
    with caplog.at_level(logging.WARNING, "penstock"):
        read(local, path)
    told = f"2 wrong number of fields, 1 {NOT_INT64}; the first is {path}, line 3"
    assert caplog.messages == [f"3 record(s) cannot be parsed and are set aside: {told}"]


def test_a_column_that_the_quarantine_has_for_itself_is_refused(local, write):
    for name, text in {"a.csv": "_corrupt_line\n1\n", "a.jsonl": '{"_corrupt_line": 1}\n'}.items():
        path = write(text, name)
        with pytest.raises(ConfigError, match="a column '_corrupt_line', which the quarantine of bad records has"):
            read(local, path, schema=None)
        assert read(local, path, schema=None, max_bad_records=0).count() == 1
