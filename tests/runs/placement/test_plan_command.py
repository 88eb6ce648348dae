"""`penstock plan`: machines for a fit, from records of fits or from a calibration."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.cli.commands import main
from penstock.runs.scaling import ScalingModel


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_pipeline) -> Path:
    """Records of two fits of line, as far as a plan reads them, and a file to plan for."""
    made = tmp_path_factory.mktemp("plan")
    engine = ps.LocalEngine(device="cpu")
    for rows in (1_000, 2_000):
        with ps.runs.record(made / "runs", kind="fit", name="line"):
            engine.from_arrow(pa.table({"x": range(rows)}), fragment_bytes=4_000).to_arrow()
    pq.write_table(pa.table({"x": range(500)}), made / "rows.parquet")
    pq.write_table(pa.table({"z": range(500)}), made / "others.parquet")
    write_pipeline(made)
    cores = "cores: {0}, memory: {0}GiB, price: {0}.5, max: 3"
    types = [f"  {name}: {{{cores.format(count)}}}" for name, count in (("small", 2), ("large", 8))]
    (made / "machines.yaml").write_text("\n".join(["machines:", *types]))
    return made


@pytest.fixture
def call(capsys, folder, monkeypatch):
    monkeypatch.chdir(folder)

    def run(*options: str):
        given = ("--runs", f"{folder}/runs", "--worker-memory", "512MiB", "--machines", f"{folder}/machines.yaml")
        data = () if "--data" in options else ("--data", f"{folder}/rows.parquet")
        code = main(["plan", "line", *data, *given, *map(str, options), "--json"])
        return code, json.loads(capsys.readouterr().out.splitlines()[-1])

    return run


@pytest.mark.thorough
def test_a_plan_comes_from_records_of_fits(call, folder) -> None:
    code, result = call("--deadline", "1h")
    assert (code, result["rows"], result["fragments"], result["deadline"]) == (0, 500, 1, 3600.0)
    assert result["best"]["machines"] == {"small": 1}
    low, high = result["best"]["interval"]
    assert low < result["best"]["seconds"] < high


@pytest.mark.thorough
def test_settings_are_written(call, tmp_path) -> None:
    code, result = call("--out", tmp_path / "settings")
    assert code == 0
    names = sorted(path.name for path in (tmp_path / "settings").iterdir())
    assert names == ["dask.yaml", "kubernetes.yaml", "slurm.sh", "spark-submit.args"]
    assert sorted(map(Path, result["files"])) == sorted((tmp_path / "settings").iterdir())
    assert (tmp_path / "settings" / "dask.yaml").read_text().strip() == result["settings"]["dask"].strip()


@pytest.mark.thorough
def test_a_calibration_is_used_in_place_of_records(call, folder, tmp_path) -> None:
    path = tmp_path / "calibration.json"
    ScalingModel.fit(ps.runs.RunStore(folder / "runs"), start=7200.0).save(path)
    code, result = call("--calibration", path)
    assert code == 0
    assert result["best"]["seconds"] > 7200


@pytest.mark.thorough
def test_what_cannot_be_planned_is_refused_with_a_code_and_what_to_do(call, tmp_path) -> None:
    code, result = call("--deadline", "0.000001s")
    assert (code, result["error"]["type"]) == (2, "InfeasiblePlanError")
    assert "the fastest takes" in result["error"]["message"]
    for option, value in (("--deadline", "soon"), ("--device", "tpu"), ("--minimise", "pain")):
        code, result = call(option, value)
        assert (code, result["error"]["type"]) == (2, "ConfigError")
        assert value in result["error"]["message"]
    code, result = call("--runs", tmp_path)
    assert code == 2
    assert "--calibration" in result["error"]["hint"]


def test_rows_that_a_fit_refuses_are_refused_alike(call, capsys, folder) -> None:
    code, result = call("--data", f"{folder}/others.parquet")
    explained = main(["explain", "line", "--data", f"{folder}/others.parquet", "--json"])
    assert (code, explained, result["error"]["type"]) == (3, 3, "SchemaError")
    assert result["error"]["message"] == json.loads(capsys.readouterr().out.splitlines()[-1])["error"]["message"]
