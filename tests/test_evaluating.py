"""How a job measures a model: slices, intervals and the page, from the request to what is printed."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_projects import pipeline_module

import penstock as ps
from penstock.cli import jobs
from penstock.cli.commands import main
from penstock.cli.requests import FitRequest
from penstock.errors import ConfigError, SchemaError

PIPELINE = pipeline_module(
    'st.Imputer("x")', '{"fare": st.RegressionEvaluator(label="y", prediction="x", metrics=["mae"])}'
)
ROWS = 400


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "fares.py").write_text(PIPELINE)
    y = np.arange(ROWS, dtype=float)
    zone = np.where(np.arange(ROWS) % 4 == 0, "[far]", "near")
    table = pa.table({"x": y + np.where(zone == "near", 1.0, 3.0), "y": y, "zone": zone})
    pq.write_table(table, tmp_path / "data.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def request_(project: Path) -> FitRequest:
    return FitRequest(
        pipeline="fares", data=["data.parquet"], out="model", slices=["zone"], bootstrap=20, report="page.html"
    )


@pytest.mark.thorough
def test_a_fit_reports_slices_intervals_and_a_page(request_, project):
    result = jobs.fit(request_)
    assert [row["zone"] for row in result.slices["zone"]] == ["near", "[far]"]
    assert [row["fare.mae"] for row in result.slices["zone"]] == [1.0, 3.0]
    low, high = result.intervals["fare.mae"]
    assert 1.0 <= low < result.metrics["fare.mae"] < high <= 3.0
    assert result.report == "page.html"
    assert "fares" in (project / "page.html").read_text()


@pytest.mark.thorough
def test_a_wrong_slice_is_refused_before_anything_is_learned(request_, monkeypatch):
    for by, problem in [("zon", "Did you mean 'zone'"), ("y", "slices are by strings")]:
        monkeypatch.setattr(ps.Pipeline, "fit", lambda *_, **__: pytest.fail("learned"))
        with pytest.raises(SchemaError, match=problem):
            jobs.fit(replace(request_, slices=[by]))


@pytest.mark.thorough
def test_the_command_line_shows_them_and_evaluate_takes_the_same_options(project, capsys):
    options = ["--data", "data.parquet", "--slice", "zone", "--bootstrap", "20", "--report", "page.html"]
    assert main(["fit", "fares", "--out", "model", *options]) == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("by zone", "[far]", "page.html"))
    (project / "page.html").unlink()
    assert main(["evaluate", "fares", "--model", "model", *options, "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["metrics"] == {"fare.mae": 1.5}
    assert [row["rows"] for row in told["slices"]["zone"]] == [300, 100]
    assert len(told["intervals"]["fare.mae"]) == 2
    assert (project / "page.html").is_file()


def test_a_page_that_cannot_be_written_is_refused_before_any_work(project):
    given = {"pipeline": "fares", "data": ["data.parquet"], "out": "model"}
    for report in ("no/such/folder/page.html", "."):
        with pytest.raises(ConfigError, match="expected a file in a folder that is there"):
            jobs.fit(FitRequest(**given, report=report))
    with pytest.raises(ConfigError, match="no rows to report"):
        FitRequest(**given, report="page.html", test_fraction=0)
    assert not (project / "model").exists()


def _evaluated(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert (
        main(["evaluate", *arguments, "--data", "data.parquet", "--slice", "zone", "--bootstrap", "10", "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    return {name: told[name] for name in ("metrics", "intervals", "slices", "digest")}


@pytest.mark.thorough
def test_a_model_by_itself_by_its_pipeline_and_in_python_gives_the_same_numbers(project, capsys):
    assert main(["fit", "fares", "--data", "data.parquet", "--out", "model"]) == 0
    alone = _evaluated(capsys, "model", "--report", "page.html")
    assert "<title>model" in (project / "page.html").read_text()  # a page is named for the model
    assert alone == _evaluated(capsys, "fares", "--model", "model")
    model = ps.PipelineModel.load("model")
    found = model.evaluate(ps.LocalEngine().read_parquet("data.parquet"), slices=["zone"], bootstrap=10)
    assert alone["metrics"] == dict(found) == {"fare.mae": 1.5}
    assert alone["intervals"] == {name: list(bounds) for name, bounds in found.intervals.items()}
    assert alone["slices"] == {name: table.to_pylist() for name, table in found.slices.items()}


@pytest.mark.thorough
def test_text_is_read_by_a_model_alone_in_the_types_of_its_pipeline(project, capsys):
    schema = "import pyarrow as pa\nSCHEMA = pa.schema({'x': pa.float64(), 'y': pa.float64(), 'zone': pa.string()})\n"
    (project / "pipelines" / "fares.py").write_text(schema + PIPELINE)
    (project / "data.csv").write_text("x,y,zone\n1,2,7\n,4,8\n")
    assert main(["fit", "fares", "--data", "data.csv", "--out", "model", "--test-fraction", "0"]) == 0
    numbers = []
    for named in (["model"], ["fares", "--model", "model"]):
        assert main(["evaluate", *named, "--data", "data.csv", "--slice", "zone", "--json"]) == 0
        told = json.loads(capsys.readouterr().out.splitlines()[-1])
        numbers.append((told["metrics"], told["slices"]))
    assert numbers[0] == numbers[1]
    assert numbers[0][0] == {"fare.mae": 2.0}


PREPARES = "def prepare(dataset, parameters):\n    return dataset.select('x', 'y')\n"
OWN = """
class Own(st.RegressionEvaluator):
    pass

def evaluators(parameters):
    return [Own(label="y", prediction="x", metrics=["mae"])]
"""


@pytest.mark.thorough
@pytest.mark.parametrize("more", [PREPARES, OWN], ids=["prepares rows", "has an evaluator of its own"])
def test_a_model_that_depends_on_code_of_its_pipeline_is_evaluated_by_its_name_alone(project, capsys, more):
    (project / "pipelines" / "fares.py").write_text(PIPELINE + more)
    assert main(["fit", "fares", "--data", "data.parquet", "--out", "model"]) == 0
    assert main(["evaluate", "fares", "--model", "model", "--data", "data.parquet"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "model", "--data", "data.parquet"]) == 2
    assert "penstock evaluate PIPELINE --model MODEL" in capsys.readouterr().err


def test_a_pipeline_needs_its_model_and_parameters_their_pipeline(project, capsys):
    assert main(["evaluate", "model", "--data", "data.parquet", "--set", "strategy=mean"]) == 2
    assert "none is named" in capsys.readouterr().err
    assert main(["evaluate", "fares", "--data", "data.parquet"]) == 3
    assert "--model MODEL" in capsys.readouterr().err
