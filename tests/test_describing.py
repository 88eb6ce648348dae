"""The command that describes data: its table, its JSON, and what it refuses."""

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from penstock.cli.commands import main


@pytest.fixture
def data(tmp_path, monkeypatch):
    table = pa.table({"x": [1.0, 2.0, None, float("inf")], "zone": ["a", "b", "a", None], "n.o": [1, 2, 3, 4]})
    pq.write_table(table, tmp_path / "data.parquet")
    pyarrow.csv.write_csv(table.select(["zone", "n.o"]), tmp_path / "data.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *arguments):
    assert main(["describe", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.thorough
def test_a_table_has_a_row_a_column_and_json_what_the_table_has(data, capsys):
    assert main(["describe", "data.parquet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:5] == ["column", "type", "count", "missing", "distinct"]
    assert [line.split()[0] for line in lines[1:4]] == ["x", "zone", "n.o"]
    assert "a: 2, b: 1" in lines[2]
    found = told(capsys, "data.parquet")
    assert (found["rows"], found["engine"], found["data"]) == (4, "local", ["data.parquet"])
    assert found["columns"]["x"]["max"] == "inf"
    assert found["columns"]["zone"]["top"] == [["a", 2], ["b", 1]]


@pytest.mark.thorough
def test_columns_quantiles_and_frequent_values_of_several_files_are_chosen(data, capsys):
    found = told(capsys, "data.parquet", "--columns", "n.o,zone", "--quantiles", "0.5,0.9", "--top", "1")
    assert list(found["columns"]) == ["n.o", "zone"]
    assert found["columns"]["n.o"]["quantiles"] == {"0.5": 2.0, "0.9": 4.0}
    assert found["columns"]["zone"]["top"] == [["a", 2]]
    (data / "more.csv").write_bytes((data / "data.csv").read_bytes())
    assert told(capsys, "data.csv", "more.csv", "--columns", "n.o")["rows"] == 8


def test_what_is_wrong_is_said_and_a_page_that_cannot_be_written_before_reading(data, capsys):
    for option, value, problem, code in (
        ("--columns", "zon", "Did you mean 'zone'", 3),
        ("--quantiles", "half", "quantiles is 'half', expected fractions by comma", 2),
        ("--quantiles", "50", "quantiles have 50.0, expected fractions between 0 and 1", 2),
        ("--top", "-1", "top is -1", 2),
    ):
        assert main(["describe", "data.parquet", option, value, "--json"]) == code
        error = json.loads(capsys.readouterr().out.splitlines()[-1])["error"]
        assert problem in error["message"]
        assert error["exit_code"] == code
    assert main(["describe", "nothing.parquet", "--report", "nowhere/page.html"]) == 2
    assert "expected a file in a folder that is there" in capsys.readouterr().err


@pytest.mark.thorough
def test_warnings_are_printed_and_told(data, capsys):
    assert main(["describe", "data.parquet", "--full"]) == 0
    printed = capsys.readouterr().out
    assert "infinite" in printed
    assert "1 values are infinite" in printed
    found = told(capsys, "data.parquet", "--full")
    assert [each["columns"] for each in found["warnings"]] == [["x"]]
    assert found["missing_patterns"]["patterns"][0]["rows"] == 2


@pytest.mark.thorough
def test_a_page_is_written_beside_the_table(data, capsys):
    found = told(capsys, "data.parquet", "--report", "page.html", "--label", "n.o")
    assert (found["report"], found["label"]) == ("page.html", "n.o")
    page = (data / "page.html").read_text("utf-8")
    assert "<h1>data.parquet</h1>" in page
    assert "What tells of n.o" in page


@pytest.mark.thorough
def test_two_datasets_are_laid_side_by_side(data, capsys):
    arguments = ["describe", "data.parquet", "--compare", "data.csv", "--report", "page.html"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "beside 4 rows" in printed
    assert "only in the first" in printed
    assert '<th scope="col">data.csv</th>' in (data / "page.html").read_text("utf-8")
    found = told(capsys, *arguments[1:])["comparison"]
    assert (found["only_left"], found["only_right"], found["right"]["rows"]) == (["x"], [], 4)
