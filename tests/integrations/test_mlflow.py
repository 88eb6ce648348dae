"""Models in MLflow are the models that were logged, and jobs are runs of it, whatever ends them."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.error import URLError

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers import free_port, serving
from small_projects import pipeline_module

import penstock as ps
from penstock import stages as st
from penstock.cli import jobs
from penstock.cli.requests import FitRequest, TuneRequest
from penstock.core.errors import (
    ArtifactError,
    ArtifactIntegrityError,
    ConfigError,
    DataValueError,
    OutputError,
    OutputExistsError,
    SchemaDriftError,
)

SERVER = Path(__file__).parents[2] / ".venv-mlflow" / "bin" / "mlflow"
ROWS = pa.table(
    {
        "x": [1.0, None, 3.0, 6.0, 2.0, 5.0] * 20,
        "n": pa.array([1, 2, 3, 4, 5, 6] * 20, pa.int32()),
        "city": ["a", "b", None, "a", "b", "c"] * 20,
        "y": [0, 1, 0, 1, 0, 1] * 20,
    }
)
PIPELINE = pipeline_module(
    'st.Imputer("x"), st.LogisticRegression("y", features=["x", "n"], reg_param=parameters.reg_param)',
    '[st.BinaryClassificationEvaluator(label="y")]',
    parameters='reg_param: float = 0.01\n    token: str = "sesame-0815"',
)
SEARCH = """
search:
  strategy: grid
  folds: 2
  metric: areaUnderROC
  space:
    LogisticRegression.reg_param: [0.01, 0.1]
"""


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """Import MLflow when a test runs: it takes seconds."""
    global mlflow, flavor, tracking
    mlflow = pytest.importorskip("mlflow")
    flavor = pytest.importorskip("penstock.integrations.mlflow")
    tracking = pytest.importorskip("penstock.integrations.mlflow.tracking")


@pytest.fixture(scope="module")
def model() -> ps.PipelineModel:
    stages = st.Imputer("x"), st.StringIndexer("city", handle_invalid="keep"), st.LogisticRegression("y")
    return ps.Pipeline(*stages).fit(ps.LocalEngine(device="cpu").from_arrow(ROWS))


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory) -> str:
    folder = str(tmp_path_factory.mktemp("mlflow") / "model")
    flavor.save_model(model, folder)
    return folder


@pytest.fixture(scope="session")
def mlflow_server(tmp_path_factory):
    """A server with a database and files of its own, on loopback; ended with the session."""
    if not SERVER.is_file():
        pytest.skip("no MLflow server: tools/mlflow.sh makes an environment for one")
    folder, port = tmp_path_factory.mktemp("mlflow-server"), free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        SERVER, "server", "--host", "127.0.0.1", "--port", port, "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", folder / "artifacts",
    ]  # fmt: skip
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MLFLOW"))}
    with serving(command, folder / "log", cwd=folder, env=environ, grace=1.0) as server:
        server.wait_until(lambda: answers(f"{url}/health"))
        yield url


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (URLError, ConnectionError, TimeoutError):
        return False


@pytest.fixture
def request_of(tmp_path):
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "rates.py").write_text(PIPELINE)
    pq.write_table(ROWS, tmp_path / "rows.parquet")

    def request_of(kind=FitRequest, **changes):
        given = {
            "pipeline": "rates",
            "pipelines": tmp_path / "pipelines",
            "data": [f"{tmp_path}/rows.parquet"],
            "out": tmp_path / "model",
        }
        return kind(**{**given, "device": "cpu", **changes})

    return request_of


@pytest.mark.thorough
def test_pyfunc_gives_the_numbers_of_transform_and_the_index_of_its_frame(model, saved, local):
    rows = ROWS.slice(0, 50).to_pandas().drop(columns="y").set_axis(range(100, 150))
    scored = mlflow.pyfunc.load_model(saved).predict(rows)
    expected = model.transform(local.from_arrow(ROWS.slice(0, 50))).select(*model.output_columns).to_arrow()
    assert pa.Table.from_pandas(scored, preserve_index=False).to_pydict() == expected.to_pydict()
    assert scored.index.tolist() == list(range(100, 150))


def test_the_signature_names_what_scoring_reads_and_gives(model, saved):
    signature = mlflow.models.get_model_info(saved).signature
    assert signature.inputs.input_names() == ["x", "n", "city"]
    assert [each.name for each in signature.inputs.input_types()] == ["double", "integer", "string"]
    made = dict(zip(signature.outputs.input_names(), signature.outputs.input_types(), strict=True))
    assert {name: kind.name for name, kind in made.items()} == dict.fromkeys(model.output_columns, "double") | {
        "prediction": "long"
    }


@pytest.mark.thorough
def test_integers_may_be_floats_where_they_are_declared_nullable(model, tmp_path):
    flavor.save_model(model, tmp_path / "m", nullable="n")
    rows = ROWS.slice(0, 3).to_pandas().drop(columns="y")
    expected = model.predict(ROWS.slice(0, 3))
    scorer = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    for kind in ("int32", "int64", "float64"):
        assert scorer.predict(rows.astype({"n": kind})).to_dict("records") == expected


def test_a_column_that_is_missing_is_refused_by_its_name(saved):
    rows = ROWS.to_pandas().drop(columns=["y", "n"])
    with pytest.raises(mlflow.exceptions.MlflowException, match=r"missing inputs \['n'\]"):
        mlflow.pyfunc.load_model(saved).predict(rows)
    with pytest.raises(SchemaDriftError, match="fitted on: n"):
        flavor._load_pyfunc(f"{saved}/model").predict(rows)


def test_a_value_that_the_model_refuses_is_refused_with_its_column(saved):
    rows = ROWS.slice(0, 2).to_pandas().drop(columns="y").assign(x=[1.0, float("inf")])
    with pytest.raises(DataValueError, match="'x'"):
        mlflow.pyfunc.load_model(saved).predict(rows)


def test_a_saved_model_is_logged_as_it_is_with_its_metrics(request_of, tmp_path):
    result = jobs.fit(request_of())
    flavor.save_model(result.model, tmp_path / "flavour")
    assert flavor.load_model(str(tmp_path / "flavour")).digest == result.digest
    for name in ("pipeline.json", "report.json", "schema.json"):
        assert (tmp_path / "flavour" / "model" / name).read_bytes() == (Path(result.model) / name).read_bytes()


def test_a_model_of_another_library_is_refused_with_its_flavours(tmp_path):
    other = mlflow.models.Model()
    other.add_flavor("sklearn", pickled_model="model.pkl")
    (tmp_path / "other").mkdir()
    other.save(tmp_path / "other" / "MLmodel")
    with pytest.raises(ArtifactError, match=r"no model of Penstock.s; its flavours: sklearn"):
        flavor.load_model(str(tmp_path / "other"))


@pytest.mark.thorough
def test_a_column_that_the_model_does_not_read_is_no_nullable_one_and_nothing_is_written(model, tmp_path):
    with pytest.raises(ConfigError, match=r"nullable names .ctiy.*city"):
        flavor.save_model(model, tmp_path / "m", nullable="ctiy")
    assert not (tmp_path / "m").exists()


def test_a_directory_that_is_there_is_not_written_to(model, saved):
    with pytest.raises(OutputExistsError, match="is there already"):
        flavor.save_model(model, saved)


def test_the_file_of_the_model_has_no_code_and_no_pickle(saved):
    suffixes = {path.suffix for path in Path(saved).rglob("*") if path.is_file()}
    assert suffixes <= {"", ".json", ".parquet", ".txt", ".yaml", ".npy", ".ubj"}


def test_names_of_an_experiment_without_a_server_are_refused():
    with pytest.raises(ConfigError, match="mlflow_experiment is given"):
        FitRequest(pipeline="clicks", data=["a"], out="m", mlflow_experiment="clicks")


def test_a_server_that_is_not_there_is_found_out_before_any_work(request_of, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(OutputError, match="MLflow at http") as caught:
        jobs.fit(request_of(mlflow="http://me:hunter2@127.0.0.1:9"))
    assert "hunter2" not in f"{caught.value} {caught.value.__cause__}"
    assert not (tmp_path / "model").exists()


@pytest.mark.services
def test_a_fit_is_a_run_with_parameters_metrics_and_its_model(mlflow_server, request_of, tmp_path):
    command = [
        sys.executable, "-m", "penstock", "fit", "rates", "--data", "rows.parquet", "--out", "model",
        "--mlflow", mlflow_server, "--mlflow-model", "rates", "--json", "--set", "reg_param=0.5",
        "--runs", "runs",
    ]  # fmt: skip
    request_of()
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    client = mlflow.MlflowClient(mlflow_server)
    run = client.get_run(result["mlflow_run"])
    assert run.info.status == "FINISHED"
    assert client.get_experiment(run.info.experiment_id).name == "rates"
    assert run.data.params["reg_param"] == "0.5"
    assert run.data.params["token"] == "***"
    metrics = {name: value for name, value in run.data.metrics.items() if not name.startswith("run.")}
    assert metrics == {name: value for name, value in result["metrics"].items() if value is not None}
    assert run.data.tags["penstock.digest"] == result["digest"]
    record = at(mlflow_server, mlflow.artifacts.load_dict, f"runs:/{run.info.run_id}/run.json")
    assert record["run_id"] == run.data.tags["penstock.run_id"]
    assert run.data.metrics["run.rows_in"] >= result["rows"]
    assert 0 < run.data.metrics["run.seconds"] == record["seconds"]
    client.set_registered_model_alias("rates", "champion", "1")
    loaded = at(mlflow_server, flavor.load_model, "models:/rates@champion")
    assert loaded.digest == result["digest"]


@pytest.mark.services
def test_a_fit_that_fails_is_a_failed_run_without_a_model(mlflow_server, request_of):
    with pytest.raises(ConfigError):
        jobs.fit(request_of(mlflow=mlflow_server, mlflow_experiment="failing", set=["reg_param=-1"]))
    client = mlflow.MlflowClient(mlflow_server)
    experiment = client.get_experiment_by_name("failing").experiment_id
    assert [run.info.status for run in client.search_runs([experiment])] == ["FAILED"]


@pytest.mark.services
def test_the_error_of_a_fit_is_raised_where_the_run_cannot_be_ended_either(mlflow_server, monkeypatch, caplog):
    def unreachable(*_: object) -> None:
        raise mlflow.exceptions.MlflowException("connection refused")

    with pytest.raises(DataValueError, match="of the fit"), tracking.tracked_run(mlflow_server, "out of reach"):
        monkeypatch.setattr(mlflow.MlflowClient, "set_terminated", unreachable)
        raise DataValueError("of the fit")
    assert "stays open: MLflow at" in caplog.text


@pytest.mark.services
def test_a_search_is_a_run_too(mlflow_server, request_of, tmp_path):
    request = request_of(TuneRequest, mlflow=mlflow_server, mlflow_experiment="searches")
    conf = tmp_path / "conf" / "pipelines"
    conf.mkdir(parents=True)
    (conf / "rates.yaml").write_text(SEARCH)
    result = jobs.tune(request)
    run = mlflow.MlflowClient(mlflow_server).get_run(result.mlflow_run)
    assert run.data.tags["penstock.digest"] == result.digest


@pytest.mark.services
def test_a_model_is_logged_to_the_active_run(mlflow_server, model, monkeypatch):
    mlflow.set_tracking_uri(mlflow_server)
    try:
        with mlflow.start_run() as run:
            info = flavor.log_model(model)
        assert flavor.load_model(info.model_uri).digest == model.digest
        assert [each.model_id for each in mlflow.get_run(run.info.run_id).outputs.model_outputs] == [info.model_id]
    finally:
        mlflow.set_tracking_uri(None)


def at(server, load, uri):
    mlflow.set_tracking_uri(server)
    try:
        return load(uri)
    finally:
        mlflow.set_tracking_uri(None)


def test_another_model_in_the_folder_of_the_one_that_was_logged_is_refused_by_both_flavours(model, saved, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(saved, folder)
    ps.Pipeline(st.Imputer("x")).fit(ps.LocalEngine(device="cpu").from_arrow(ROWS)).save(
        folder / "model", overwrite=True
    )
    for load in (flavor.load_model, mlflow.pyfunc.load_model):
        with pytest.raises(ArtifactIntegrityError):
            load(str(folder))


def test_a_place_that_mlflow_refuses_is_told_as_such_before_any_work(request_of, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    for place in (f"file:{tmp_path}/runs", "ftp://host/runs"):
        with pytest.raises(OutputError, match="MLflow at"):
            jobs.fit(request_of(mlflow=place))
    assert not (tmp_path / "model").exists()
