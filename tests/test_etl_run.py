"""Jobs that only do ETL, by the command line: what is written and accounted for, and what is refused."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import penstock as ps
from penstock.cli.commands import main
from penstock.io.sinks import read_manifest

MODULE = """
import datetime as dt
import narwhals as nw
import penstock as ps
from penstock import stages as st
from pydantic import BaseModel

class Parameters(BaseModel, extra="forbid"):
    date: dt.date
    lowest: float = 0.0

SCHEMAS = {"trips": {"zone": "int64", "fare": "float64"}}

def run(inputs, parameters):
    trips = inputs["trips"]
    rule = st.Expect(f"fare >= {parameters.lowest}", action="quarantine", name="a fare")
    clean = ps.Pipeline(rule).fit(trips).transform(trips)

    def total(trips, zones):
        return trips.join(zones, on="zone").group_by("borough").agg(nw.col("fare").sum())

    daily = trips.engine.query(total, clean, inputs["zones"], order_by="borough")
    model = ps.Pipeline(st.LinearRegression("fare", features=["zone"]))
    return {"clean": clean, "daily": daily, "model": lambda: model.fit(clean)}
"""
CONF = """
lowest: 1.0
catalog:
  inputs:
    trips: trips/{date}.csv
    zones: {path: zones.csv, format: csv, schema: {zone: int64, borough: string}}
  outputs:
    clean: out/{date:%Y/%m/%d}/clean
    daily: {path: 'out/{date}/daily', format: csv}
    model: {path: 'models/{date}', overwrite: true}
"""
COPY = "def run(inputs, parameters):\n    return {'copy': inputs['rows']}\n"
DATES = ("2024-01-05", "2024-01-06", "2024-01-07")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job over a file a day: of its four trips one has no fare, and its fares are 10 times the day's number."""
    for folder in ("pipelines", "conf/pipelines", "trips"):
        (tmp_path / folder).mkdir(parents=True)
    write(tmp_path, MODULE, CONF)
    for date in DATES:
        fare = 10 * int(date[-2:])
        (tmp_path / "trips" / f"{date}.csv").write_text(f"zone,fare\n1,{fare}\n2,-3\n3,{fare}\n1,{fare}\n")
    (tmp_path / "zones.csv").write_text("zone,borough\n1,A\n2,B\n3,B\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(project: Path, module: str, conf: str) -> None:
    shutil.rmtree(project / "pipelines" / "__pycache__", ignore_errors=True)  # may be of a source of this size
    (project / "pipelines" / "daily.py").write_text(module)
    (project / "conf" / "pipelines" / "daily.yaml").write_text(conf)


def replace_in(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


def run(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> dict[str, Any]:
    """Run the job, and return its result, or its error."""
    assert main(["run", "daily", "--engine", "local", "--device", "cpu", "--json", *options]) == code
    result: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return result["error"] if code else result


def files(project: Path) -> list[str]:
    """Return what outputs there are, and whatever is left beside them."""
    folders = [path for name in ("out", "models") for path in (project / name).rglob("*")]
    return sorted(str(path.relative_to(project)) for path in folders if path.is_file() or not any(path.iterdir()))


def test_every_output_is_written_and_every_row_accounted_for(project, capsys):
    (only,) = run(capsys, "--date", "2024-01-05", "--run-id", "r1")["runs"]
    assert (only["date"], only["run_id"]) == ("2024-01-05", "r1")
    assert only["inputs"]["trips"] == {"path": ["trips/2024-01-05.csv"], "rows": 4, "unparsed": 0}
    clean, daily, model = (only["outputs"][name] for name in ("clean", "daily", "model"))
    assert (clean["rows_read"], clean["rows"], clean["quarantined"]) == (4, 3, {"a fare": 1})
    assert (daily["rows_read"], daily["rows"], daily["path"]) == (2, 2, "out/2024-01-05/daily")
    assert pl.read_csv("out/2024-01-05/daily/*.csv").rows() == [("A", 100.0), ("B", 50.0)]
    assert pl.read_parquet("out/2024/01/05/clean.quarantine/*.parquet")["fare"].to_list() == [-3.0]
    assert (model["rows"], model["digest"]) == (3, ps.PipelineModel.load("models/2024-01-05").digest)
    paths = (clean["path"], clean["quarantine"], daily["path"], "models/2024-01-05")
    assert {read_manifest(path).run_id for path in paths} == {"r1"}


@pytest.mark.thorough
def test_people_read_a_table(project, capsys):
    assert main(["run", "daily", "--date", "2024-01-05", "--device", "cpu"]) == 0
    out, err = capsys.readouterr()
    for text in ("daily, 2024-01-05, run ", "a fare: 1", "out/2024-01-05/daily", "out/2024/01/05/clean.quarantine"):
        assert text in out
    assert any(line.startswith("clean: write") for line in err.splitlines())
    assert any(line.startswith("model: scan 1 of 1") for line in err.splitlines())


@pytest.mark.thorough
def test_of_outputs_of_which_one_fails_none_is_there(project, capsys):
    broken = "daily.map_partitions(lambda frame: 1 / 0, daily.schema)"
    replace_in("pipelines/daily.py", '"daily": daily', f'"daily": {broken}')
    error = run(capsys, "--date", "2024-01-05", code=4)
    assert "ZeroDivisionError" in error["message"]
    assert [path for path in files(project) if "part" in path or "." in Path(path).name] == []


@pytest.mark.thorough
def test_a_module_that_does_not_go_with_its_catalog_is_refused(project, capsys, subtests):
    for old, new, message in [
        ('"daily": daily', '"dayly": daily', "returned output 'dayly', which the catalog does not have. Did you"),
        ('"daily": daily, ', "", r"daily.yaml, line 9, column \d+: the catalog has output 'daily', which run of"),
        ('"daily": daily', '"daily": 3', "returned .*int as output 'daily', expected a Dataset, a PipelineModel"),
        ("lambda: model.fit(clean)", "lambda: None", "returned .*NoneType as output 'model', expected"),
        ("return {", "return [], {", r"run of .*daily.py returned .*tuple, expected def run\(inputs, parameters\)"),
        ('inputs["zones"]', 'inputs["zone"]', "takes input 'zone', which the catalog does not have. Did you mean"),
        ('{"trips": {', '{"tips": {', "SCHEMAS has input 'tips', which the catalog does not have. Did you"),
        ('"daily": daily', '"daily": model.fit(clean)', r"line 9, column \d+: output 'daily' is a model, which has"),
        ("def run(", "def start(", "daily.py defines no run, expected def run"),
    ]:
        with subtests.test(new):
            assert old in MODULE
            write(project, MODULE.replace(old, new), CONF)
            error = run(capsys, "--date", "2024-01-05", code=2)
            assert re.search(message, error["message"]), error["message"]
            assert [path for path in files(project) if "part" in path] == []


@pytest.mark.thorough
def test_an_input_that_no_one_takes_is_told(project, capsys):
    assert main(["run", "daily", "--date", "2024-01-05", "--in", "more=zones.csv", "--device", "cpu", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])["runs"][0]["unused_inputs"] == ["more"]
    assert "input 'more' is in the catalog, and run of 'daily' did not take it" in err


@pytest.mark.thorough
def test_a_job_file_wins_over_the_catalog_by_entry_and_paths_of_options_over_both(project, capsys):
    (project / "other.csv").write_text("zone,fare\n3,8\n")
    (project / "test.yaml").write_text("pipeline:\n  catalog:\n    outputs:\n      daily: tried/daily\n")
    given = ("--date", "2024-01-05", "--conf", "test.yaml", "--run-id", "now")
    outputs = run(capsys, *given)["runs"][0]["outputs"]
    assert (outputs["daily"]["path"], outputs["clean"]["path"]) == ("tried/daily", "out/2024/01/05/clean")
    assert outputs["daily"]["format"] == "parquet"
    paths = ("--in", "trips=other.csv", "--out", "daily=elsewhere/{run_id}", "--overwrite")
    assert run(capsys, *given, *paths)["runs"][0]["outputs"]["daily"]["path"] == "elsewhere/now"
    assert pl.read_parquet("elsewhere/now/*.parquet").rows() == [("B", 8.0)]


@pytest.mark.thorough
def test_an_output_that_is_there_is_refused_before_any_work_and_replaced_when_asked(project, capsys):
    run(capsys, "--date", "2024-01-05")
    replace_in("pipelines/daily.py", 'trips = inputs["trips"]', 'raise SystemError("work")')
    for options in ([], ["--dry-run"]):
        error = run(capsys, "--date", "2024-01-05", *options, code=5)
        assert error["type"] == "OutputExistsError"
        assert "--overwrite" in error["hint"]
    write(project, MODULE, CONF)
    run(capsys, "--date", "2024-01-05", "--overwrite")


@pytest.mark.thorough
def test_a_dry_run_says_what_would_be_written_and_writes_nothing(project, capsys):
    replace_in("pipelines/daily.py", "lambda: model.fit(clean)", "lambda: 1 / 0")
    result = run(capsys, "--from", DATES[0], "--to", DATES[-1], "--dry-run")
    assert result["dry_run"]
    assert [each["date"] for each in result["runs"]] == list(DATES)
    outputs = result["runs"][0]["outputs"]
    assert outputs["daily"] == {
        "path": "out/2024-01-05/daily",
        "kind": "dataset",
        "options": {"format": "csv"},
        "replaces": "nothing",
        "columns": {"borough": "string", "fare": "double"},
    }
    assert outputs["model"]["kind"] == "function"
    assert result["runs"][0]["inputs"]["trips"]["rows"] == 4
    replace_in("pipelines/daily.py", "lambda: 1 / 0", "model.fit(clean)")  # which needs rows
    error = run(capsys, "--date", "2024-01-05", "--dry-run", code=3)
    assert "Return a function" in error["hint"]
    assert not (project / "out").exists()
    assert not (project / "models").exists()


@pytest.mark.thorough
def test_what_does_not_fit_the_output_that_is_there_is_refused_before_anything_is_read(project, capsys, subtests):
    path, given = "{path: 'out/{date}/daily', format: csv}", "{path: out/daily, mode: append, partition_by: borough}"
    replace_in("conf/pipelines/daily.yaml", path, given)
    run(capsys, "--date", "2024-01-05")
    before = [path for path in files(project) if Path(path).suffix]
    for place, (options, code, message) in enumerate([
        ("mode: append", 2, "partition_by of the output out/daily is .'borough',., and that of the rows to add ..$"),
        ("mode: append, partition_by: borough, format: csv", 2, "format of the output out/daily is 'parquet'"),
        ("mode: merge, partition_by: borough, keys: fares", 3, "'fares'"),
        ("mode: append, partition_by: borough, max_rows_per_file: 0", 2, "max_rows_per_file is 0"),
        ("partition_by: fares, overwrite: true", 3, "'fares'"),
    ]):  # fmt: skip
        conf = CONF.replace(path, f"{{path: out/daily, {options}}}")
        write(project, MODULE.replace("lambda: model.fit(clean)", "lambda: 1 / 0"), conf)
        with subtests.test(options):
            error = run(capsys, "--date", "2024-01-06", ("--dry-run", "--json")[place % 2], code=code)
            assert re.search(message, error["message"])
            assert [path for path in files(project) if Path(path).suffix] == before


@pytest.mark.thorough
def test_columns_that_are_not_those_of_the_output_are_refused_by_a_dry_run(project, capsys):
    path = "{path: 'out/{date}/daily', format: csv}"
    replace_in("conf/pipelines/daily.yaml", path, "{path: out/daily, mode: append}")
    run(capsys, "--date", "2024-01-05")
    replace_in("pipelines/daily.py", 'nw.col("fare").sum()', 'total=nw.col("fare").sum()')
    error = run(capsys, "--date", "2024-01-06", "--dry-run", code=3)
    assert (error["type"], error["column"]) == ("SchemaDriftError", "total")


@pytest.mark.thorough
def test_a_backfill_goes_day_by_day_stops_at_the_first_failure_and_says_how_to_go_on(project, capsys):
    (project / "trips" / "2024-01-06.csv").rename("late.csv")
    error = run(capsys, "--from", DATES[0], "--to", DATES[-1], "--set", "lowest=2", code=3)
    assert "Run 2 of 3, for 2024-01-06, failed; those before are done." in error["hint"]
    assert {path.parts[1] for path in Path("out").glob("*-*/daily/*")} == {"2024-01-05"}
    (project / "late.csv").rename("trips/2024-01-06.csv")
    command = error["hint"].partition("Go on with: penstock ")[2].split()
    assert main(command) == 0
    fares = [pl.read_csv(f"out/{date}/daily/*.csv")["fare"][1] for date in DATES]
    assert fares == [50.0, 60.0, 70.0]


@pytest.mark.thorough
def test_the_runs_of_a_backfill_have_names_of_their_own_that_stay(project, capsys):
    result = run(capsys, "--from", DATES[0], "--to", DATES[1], "--run-id", "fill")
    assert [each["run_id"] for each in result["runs"]] == ["fill.2024-01-05", "fill.2024-01-06"]


@pytest.mark.thorough
def test_the_logical_date_is_a_parameter_and_has_to_be_given(project, capsys):
    error = run(capsys, code=2)
    assert error["message"] == "date is not given, and 'daily' is about one"
    assert "--date" in error["hint"]
    error = run(capsys, "--date", "2024-01-05T06:00", code=2)
    assert error["message"].startswith("--date 2024-01-05T06:00:00: date is read as '2024-01-05T06:00:00'")
    result = run(capsys, "--set", "date=2024-01-05")
    assert result["runs"][0]["outputs"]["daily"]["path"] == "out/2024-01-05/daily"
    assert result["parameters"] == {"lowest": 1.0}
    error = run(capsys, "--set", "date=2024-01-05", "--date", "2024-01-06", code=2)
    assert "given by an option of its own" in error["message"]
    days = ["--from", "2024-01-05", "--to", "2024-01-06"]
    for options in (["--date", "2024-01-05", *days], days[:2]):  # not both a range and a date, nor half a range
        assert run(capsys, *options, code=2)["type"] == "ConfigError"


@pytest.mark.thorough
def test_a_job_without_parameters_dates_or_a_file_runs_by_its_options_and_never_over_its_input(project, capsys):
    (project / "pipelines" / "daily.py").write_text(COPY)
    (project / "conf" / "pipelines" / "daily.yaml").unlink()
    result = run(capsys, "--in", "rows=zones.csv", "--out", "copy=out/copy")
    assert result["runs"][0]["outputs"]["copy"]["rows"] == 3
    assert result["runs"][0]["date"] is None
    error = run(capsys, "--in", "rows=zones.csv", code=2)
    assert "the catalog of 'daily' has no outputs" in error["message"]
    for target in ("out/copy", "out/copy/more"):
        error = run(capsys, "--in", "rows=out/copy", "--out", f"copy={target}", "--overwrite", code=2)
        assert error["message"].startswith(f"--out copy={target}: the output ")
        assert "in its own input" in error["message"]


@pytest.mark.thorough
def test_a_run_that_appends_and_is_tried_again_is_there_once(project, capsys):
    write(project, COPY, "catalog:\n  inputs: {rows: 'trips/{date}.csv'}\n  outputs: {copy: {path: all, mode: append}}")
    for date in (DATES[0], DATES[1], DATES[1]):
        name = f"scheduled__{date}T00:00:00+00:00"
        output = run(capsys, "--date", date, "--run-id", name)["runs"][0]["outputs"]["copy"]
    assert (output["rows"], output["rows_replaced"], output["rows_unchanged"]) == (4, 4, 4)
    assert ps.LocalEngine().read_parquet("all").to_polars()["fare"].to_list() == [50, -3, 50, 50, 60, -3, 60, 60]


@pytest.mark.thorough
def test_an_input_that_is_not_taken_may_lie_at_an_output_that_adds_to_it(project, capsys):
    outputs = "catalog:\n  inputs: {rows: zones.csv}\n  outputs: {copy: {path: all, mode: append}}"
    write(project, COPY, outputs)
    run(capsys)
    run(capsys, "--in", "before=all")
    assert ps.LocalEngine().read_parquet("all").count() == 6
    error = run(capsys, "--in", "rows=all", code=2)
    assert "in its own input" in error["message"]
    replace_in("conf/pipelines/daily.yaml", "append", "overwrite")
    assert "in its own input" in run(capsys, "--in", "before=all", code=2)["message"]


def test_an_option_of_writing_that_is_wrong_is_refused_with_its_place_before_any_work(project, capsys):
    write(project, "def run(inputs, parameters):\n    1 / 0\n", "catalog:\n  outputs: {copy: {path: all, mode: apend}}")
    message = run(capsys, code=2)["message"]
    assert message.startswith("conf/pipelines/daily.yaml, line 2, column 37: mode is 'apend', expected one of")


@pytest.mark.thorough
def test_a_table_with_a_log_is_written_beside_the_other_outputs(project, capsys):
    pytest.importorskip("penstock.io.tables.delta_commit")
    deltalake = pytest.importorskip("deltalake")
    both = "def run(inputs, parameters):\n    return {'table': inputs['rows'], 'copy': inputs['rows']}\n"
    catalog = (
        "catalog:\n  outputs:\n    table: {path: t, format: delta, mode: append}\n    copy: {path: c, mode: append}\n"
    )
    write(project, both, catalog)
    options = ("--in", "rows=zones.csv", "--run-id", "once")
    assert run(capsys, *options, "--dry-run")["runs"][0]["outputs"]["table"]["columns"]["zone"] == "int64"
    first, again = (run(capsys, *options)["runs"][0]["outputs"]["table"] for _ in range(2))
    assert (first["rows"], first["format"], again["rows"]) == (3, "delta", 0)
    assert deltalake.DeltaTable("t").to_pyarrow_table().num_rows == 3
    assert ps.LocalEngine().read_parquet("c").count() == 3
