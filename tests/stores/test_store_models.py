"""Models and pages on a disk, in memory and in S3, from Python and from the command line."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_projects import pipeline_module

import penstock as ps
from penstock import stages as st
from penstock.cli import jobs
from penstock.cli.requests import EvaluateRequest, FitRequest, ScoreRequest
from penstock.errors import ArtifactIntegrityError, MissingInputError, OutputExistsError
from penstock.pipeline import PipelineModel
from penstock.report import write_report
from penstock.stages.evaluation.result import Evaluation
from tests.stores.conftest import Place

pytestmark = pytest.mark.xdist_group("s3")

TABLE = pa.table({"x": [float(row % 17) for row in range(200)], "c": [f"c{row % 5}" for row in range(200)]})


@pytest.fixture(scope="module")
def model() -> PipelineModel:
    data = ps.LocalEngine(device="cpu").from_arrow(TABLE)
    return ps.Pipeline(st.Imputer("x"), st.StringIndexer("c")).fit(data)


def test_a_model_is_loaded_from_where_it_was_saved_and_replaced_whole_if_asked(model, place):
    where, options = place.at("model"), place.options
    printed = model.save(where, storage_options=options)
    again = PipelineModel.load(where, expect=printed, storage_options=options)
    assert again.digest == model.digest
    assert again.predict({"x": 3.0, "c": "c1"}) == model.predict({"x": 3.0, "c": "c1"})
    with pytest.raises(OutputExistsError):
        model.save(where, storage_options=options)
    before = place.files()
    printed = model.save(where, overwrite=True, storage_options=options)
    assert len(place.files()) == len(before)
    assert PipelineModel.load(where, expect=printed, storage_options=options).digest == model.digest


def test_a_copy_of_a_model_of_a_store_is_loaded_from_a_disk(model, store, tmp_path):
    printed = model.save(store.at("model"), storage_options=store.options)
    for name in store.files():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(store.read(name))
    assert PipelineModel.load(tmp_path / "model", expect=printed).digest == model.digest


def test_a_model_that_is_not_what_was_saved_is_refused_by_its_place(model, place):
    for damage in ("missing", "changed", "another"):
        where = place.at(damage)
        model.save(where, storage_options=place.options)
        name = next(name for name in place.files() if name.startswith(damage) and name.endswith("state/0.json"))
        if damage == "missing":
            place.remove(name)
        elif damage == "changed":
            place.put(name, place.read(name).replace(b"\n", b" ", 1))
        expect = f"sha256:{'0' * 64}" if damage == "another" else None
        with pytest.raises(ArtifactIntegrityError) as caught:
            PipelineModel.load(where, expect=expect, storage_options=place.options)
        assert where in str(caught.value)


def test_where_there_is_no_model_that_is_said(place):
    with pytest.raises(MissingInputError, match="model"):
        PipelineModel.load(place.at("model"), storage_options=place.options)


def test_a_report_is_written_to_a_url_and_replaced(memory):
    for value in (0.5, 0.25):
        assert write_report(Evaluation({"rmse": value}), memory.at("page.html")) == memory.at("page.html")
    assert memory.read("page.html").startswith(b"<!DOCTYPE html>")
    assert b"0.25" in memory.read("page.html")
    assert memory.files().keys() == {"page.html"}


PIPELINE = pipeline_module(
    'st.Imputer("x", strategy=parameters.strategy)',
    '[st.RegressionEvaluator(label="y", prediction="x", metrics=["mae"])]',
    parameters='strategy: str = "mean"',
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory_or_s3: Place) -> Path:
    """A project with data, in an environment with credentials, as the command line needs them."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "small.py").write_text(PIPELINE)
    pq.write_table(pa.table({"x": [1.0, None, 3.0] * 40, "y": [1.0, 2.0, 3.0] * 40}), tmp_path / "data.parquet")
    monkeypatch.chdir(tmp_path)
    if options := memory_or_s3.options:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", options["key"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", options["secret"])
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", options["client_kwargs"]["endpoint_url"])
    return tmp_path


@pytest.mark.thorough
def test_all_outputs_of_a_job_may_lie_in_a_store_and_are_of_one_run(project, memory_or_s3):
    common = {"data": ["data.parquet"], "engine": "local", "device": "cpu"}
    fitted = jobs.fit(
        FitRequest(
            pipeline="small",
            out=memory_or_s3.at("model"),
            score=memory_or_s3.at("scores"),
            report=memory_or_s3.at("page.html"),
            test_fraction=0.5,
            **common,
        )
    )
    assert fitted.scored is not None
    run = fitted.scored.run_id
    assert {json.loads(memory_or_s3.read(f"{name}/_manifest.json"))["run_id"] for name in ("model", "scores")} == {run}
    assert run in memory_or_s3.read("page.html").decode()
    scored = jobs.score(
        ScoreRequest(model=memory_or_s3.at("model"), out=memory_or_s3.at("all"), expect=fitted.manifest, **common)
    )
    assert (
        ps.LocalEngine(device="cpu").read_parquet(memory_or_s3.at("all")).to_arrow().num_rows
        == scored.scored.rows
        == 120
    )
    again = jobs.evaluate(
        EvaluateRequest(model=memory_or_s3.at("model"), report=memory_or_s3.at("page.html"), **common)
    )
    assert again.digest == fitted.digest
    assert run not in memory_or_s3.read("page.html").decode()
    assert not [name for name in memory_or_s3.files() if ".penstock" in name]
    assert sorted(path.name for path in project.iterdir() if path.suffix != ".py") == ["data.parquet", "pipelines"]


def test_a_job_may_write_to_a_store_and_to_a_disk(project, memory_or_s3):
    common = {"data": ["data.parquet"], "engine": "local", "device": "cpu"}
    jobs.fit(FitRequest(pipeline="small", out=memory_or_s3.at("model"), report="page.html", **common))
    run = json.loads(memory_or_s3.read("model/_manifest.json"))["run_id"]
    assert run in (project / "page.html").read_text()
    with pytest.raises(OutputExistsError):
        jobs.fit(FitRequest(pipeline="small", out=memory_or_s3.at("model"), report="page.html", **common))
    assert run in (project / "page.html").read_text()
