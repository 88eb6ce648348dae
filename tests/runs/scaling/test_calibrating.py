"""penstock calibrate, and what penstock explain predicts by it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import LocalEngine
from penstock.cli import calibrating, jobs
from penstock.cli.calibrating import CalibrateRequest
from penstock.cli.commands import main
from penstock.cli.placement_tables import CalibrateResult
from penstock.cli.requests import ExplainRequest
from penstock.core.errors import ConfigError, OutputExistsError
from penstock.runs.scaling import ScalingModel, first_rows

MACHINES = (
    "machines:\n  small: {cores: 2, memory: 64GiB, price: 1}\n  fast: {cores: 4, memory: 64GiB, speed: 2, price: 1}\n"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, write_pipeline: Callable[..., None]) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_pipeline(folder)
    (folder / "conf").mkdir()
    (folder / "conf" / "machines.yaml").write_text(MACHINES)
    pq.write_table(pa.table({"x": np.arange(3000.0)}), folder / "data.parquet")
    return folder


def request(project: Path, **more: object) -> CalibrateRequest:
    common = {"pipeline": "line", "data": [str(project / "data.parquet")], "pipelines": project / "pipelines"}
    chosen = {"engine": "local", "device": "cpu", "rows": "1000,2000", "out": project / "calibration.json"}
    return CalibrateRequest(**common, **chosen | more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def calibrated(project: Path) -> CalibrateResult:
    return calibrating.calibrate(request(project, repeats=2))


def explain(project: Path, **more: object) -> ExplainRequest:
    given = request(project)
    names = ("pipeline", "data", "pipelines", "engine", "device")
    return ExplainRequest(**{name: getattr(given, name) for name in names}, **more)  # type: ignore[arg-type]


def test_each_size_is_fitted_as_often_as_asked_for_and_replaced_only_if_that_is(calibrated, project):
    assert [run["rows"] for run in calibrated.runs] == [1000, 2000, 1000, 2000]
    assert {run["workers"] for run in calibrated.runs} == {1}
    with pytest.raises(OutputExistsError):
        calibrating.calibrate(request(project))


def test_explain_predicts_all_rows_by_the_file(project, calibrated):
    predicted = jobs.explain(explain(project, workers="1,2", calibration=calibrated.out)).predicted
    model = ScalingModel.load(calibrated.out)
    assert predicted is not None
    assert (predicted["rows"], [run["workers"] for run in predicted["runs"]]) == (3000, [1, 2])
    assert [each["seconds"] for each in predicted["runs"]] == [model.predict([3000], workers=n).seconds for n in (1, 2)]


def test_a_machine_has_its_speed_and_as_many_workers_as_cores(project, calibrated):
    small, fast = (
        jobs.explain(explain(project, workers="8", calibration=calibrated.out, machine=name)).predicted
        for name in ("small", "fast")
    )
    assert small is not None
    assert fast is not None
    assert [each["runs"][0]["machines"] for each in (small, fast)] == [4, 2]
    assert fast["runs"][0]["seconds"] < small["runs"][0]["seconds"]


@pytest.mark.thorough
def test_what_cannot_be_predicted_or_calibrated_is_refused(project, calibrated, tmp_path):
    for workers in ("0", "two", "1,,2", "-1", "1.5"):
        with pytest.raises(ConfigError, match="whole numbers"):
            jobs.explain(explain(project, workers=workers, calibration=calibrated.out))
    with pytest.raises(ConfigError, match="no record of a fit of line"):
        jobs.explain(explain(project, workers="1", runs=str(tmp_path)))
    with pytest.raises(ConfigError, match="machine is given"):
        explain(project, machine="small")
    with pytest.raises(ConfigError, match="the data has 3,000"):
        calibrating.calibrate(request(project, rows="5000", out=tmp_path / "new.json"))


@pytest.mark.thorough
def test_both_commands_print_tables_and_json(project, calibrated, capsys, monkeypatch):
    monkeypatch.chdir(project)
    common = ["line", "--data", "data.parquet", "--device", "cpu", "--json"]
    assert main(["calibrate", *common, "--rows", "500,1000", "--out", "again.json"]) == 0
    assert "the start of a process takes" in (out := capsys.readouterr()).err
    assert json.loads(out.out.splitlines()[-1])["runs"][0]["rows"] == 500
    assert main(["explain", *common, "--workers", "1,4", "--calibration", "again.json", "--machine", "small"]) == 0
    assert "predicted for 3,000 rows" in (out := capsys.readouterr()).err
    assert "no communication is known" in out.err
    assert json.loads(out.out.splitlines()[-1])["predicted"]["runs"][1]["machines"] == 2


def test_the_first_rows_are_those_of_the_first_fragments():
    data = LocalEngine(device="cpu").from_arrow(pa.table({"x": list(range(100))}), fragment_bytes=240)
    assert first_rows(data, 35).to_arrow()["x"].to_pylist() == list(range(35))
    assert first_rows(data, 100).fragments == data.fragments
