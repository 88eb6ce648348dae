"""Every way that takes a path: URLs of stores are refused alike, and file URLs are the paths they stand for."""

import os
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_projects import pipeline_module

import penstock as ps
from penstock import artefact
from penstock import stages as st
from penstock.cli import jobs
from penstock.cli.project import load_pipeline
from penstock.cli.requests import EvaluateRequest, ExplainRequest, FitRequest, ScoreRequest
from penstock.config.settings import Settings, read_yaml
from penstock.core.locations import absolute_path, is_url
from penstock.engines.local import results
from penstock.engines.settings import engine_settings
from penstock.errors import ConfigError, IncompleteInputError, OutputError
from penstock.io.sinks import StagedDirectory, TemporaryFolder
from penstock.report import write_report
from penstock.spmd import SpmdOptions
from penstock.stages.evaluation.result import Evaluation

PIPELINE = pipeline_module(
    'st.Imputer("x", strategy=parameters.strategy)',
    '[st.RegressionEvaluator(label="y", prediction="x", metrics=["mae"])]',
    parameters='strategy: str = "mean"',
)
TABLE = pa.table({"x": [1.0, None, 3.0] * 20, "y": [1.0, 2.0, 3.0] * 20})


@cache
def engine_here() -> ps.LocalEngine:
    return ps.LocalEngine(device="cpu")


@cache
def dataset() -> ps.Dataset:
    return engine_here().from_arrow(TABLE)


@cache
def model() -> ps.PipelineModel:
    return ps.Pipeline(st.Imputer("x")).fit(dataset())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "a project"
    (root / "pipelines").mkdir(parents=True)
    (root / "pipelines" / "small.py").write_text(PIPELINE)
    (root / "median.yaml").write_text("pipeline:\n  strategy: median\n")
    (root / "one.yaml").write_text("engine: local\nin_flight: 1\n")
    (root / "data").mkdir()
    (root / "data" / "_SUCCESS").touch()
    pq.write_table(TABLE, root / "data" / "a.parquet")
    model().save(root / "model")
    monkeypatch.chdir(root)
    return root


def fit(**changes: Any) -> jobs.FitResult:
    told = {"pipeline": "small", "data": ["data"], "out": "fitted", "engine": "local", "device": "cpu"}
    return jobs.fit(FitRequest(**{**told, **changes}))


def score(**changes: Any) -> jobs.ScoreResult:
    told = {"model": "model", "data": ["data"], "out": "scored", "engine": "local", "device": "cpu"}
    return jobs.score(ScoreRequest(**{**told, **changes}))


def evaluate(**changes: Any) -> jobs.EvaluateResult:
    told = {"model": "model", "pipeline": "small", "data": ["data"], "engine": "local", "device": "cpu"}
    return jobs.evaluate(EvaluateRequest(**{**told, **changes}))


DOORS: dict[str, Callable[[Any], object]] = {
    "save": lambda where: model().save(where),
    "artefact.save": lambda where: artefact.save(model(), where),
    "load": ps.PipelineModel.load,
    "artefact.load": artefact.load,
    "write_parquet": lambda where: dataset().write_parquet(where),
    "quarantine": lambda where: dataset().write_parquet("out", quarantine=where),
    "StagedDirectory": lambda where: StagedDirectory(where, run_id="r"),
    "write_report": lambda where: write_report(Evaluation({"mae": 1.0}), where),
    "checkpoint_dir": lambda where: SpmdOptions(checkpoint_dir=where),
    "query": lambda where: engine_here().query(lambda frame: frame, dataset(), staging_dir=where),
    "lag": lambda where: dataset().lag("x", order_by="y", by="y", staging_dir=where),
    "staging": lambda where: engine_here().staging(where, "from_spark"),
    "read_yaml": read_yaml,
    "fit --out": lambda where: fit(out=where),
    "fit --score": lambda where: fit(score=where),
    "fit --report": lambda where: fit(report=where),
    "fit --conf": lambda where: fit(conf=[where]),
    "fit --pipelines": lambda where: fit(pipelines=where),
    "fit --engine": lambda where: fit(engine=f"{where}.yaml"),
    "fit PATH.py": lambda where: fit(pipeline=f"{where}.py"),
    "score MODEL": lambda where: score(model=where),
    "score --out": lambda where: score(out=where),
    "evaluate --model": lambda where: evaluate(model=where),
    "evaluate --report": lambda where: evaluate(report=where),
    "explain --pipelines": lambda where: jobs.explain(
        ExplainRequest(pipeline="small", data=["data"], pipelines=where, engine="local", device="cpu")
    ),
}


def listing(root: Path) -> list[str]:
    """Return what is below a folder, but for what Python itself keeps of the modules that it imports."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if "__pycache__" not in path.parts)


STORES_TOO = {
    "checkpoint_dir", "query", "lag", "staging",
    "save", "artefact.save", "load", "artefact.load", "write_parquet", "quarantine", "write_report",
    "fit --out", "fit --score", "fit --report", "score MODEL", "score --out", "evaluate --model", "evaluate --report",
}  # fmt: skip


def test_a_url_of_a_store_is_refused_alike_wherever_only_a_path_will_do(project, subtests):
    before = listing(project)
    for door in (door for door in DOORS if door not in STORES_TOO):
        for where in ("s3://bucket/x", "memory://x", "HDFS://name/x", "zip://a::s3://b"):
            with subtests.test(door=door, where=where):
                with pytest.raises(ConfigError, match=r"expected a path of this machine's file systems") as caught:
                    DOORS[door](where)
                assert where in caught.value.message
                assert "mount the store" in str(caught.value.hint)
                assert listing(project) == before


def test_a_url_that_pathlib_folded_is_refused(project, subtests):
    before = listing(project)
    for door in (door for door in DOORS if not door.endswith(("PATH.py", "--engine"))):
        for where in ("s3:/bucket/x", "file:/localhost/x"):
            with subtests.test(door=door, where=where):
                with pytest.raises(ConfigError, match=f"'{where}', which looks like a URL that lost a slash"):
                    DOORS[door](Path(where))
                assert listing(project) == before


def test_what_no_path_can_be_is_refused(subtests):
    for where, message in (
        ("", "is '', expected a path"),
        (b"model", "is b'model', expected a path"),
        (None, "is None, expected a path"),
        ("mo\0del", r"is 'mo\\x00del': no file has a NUL in its name"),
        ("file:///mo%00del", "no file has a NUL in its name"),
        ("caf\udce9", r"is 'caf\\xe9': its name is not UTF-8"),
        ("file:///caf%E9", r"is '/caf\\xe9': its name is not UTF-8"),
        ("file://elsewhere/model", "a file of the host 'elsewhere'"),
        ("file://model", "a file of the host 'model'"),
    ):
        with subtests.test(where=where):
            for door in (model().save, ps.PipelineModel.load, dataset().write_parquet, read_yaml):
                with pytest.raises(ConfigError, match=message) as caught:
                    door(where)
                str(caught.value).encode()  # it can be printed
            with pytest.raises(ConfigError, match=message):
                engine_here().read_parquet([where])


def test_a_file_url_is_the_path_that_it_stands_for(tmp_path):
    path = tmp_path / "a b%c#d?e"
    escaped = path.as_uri().removeprefix("file://")
    for url in ("file://{}", "FILE://{}", "file://localhost{}", "file:{}", "local://{}", "file:///{}"):
        assert absolute_path(url.format(escaped), "model") == path


@pytest.mark.thorough
def test_file_urls_go_wherever_paths_go(project):
    def url(name: str) -> str:
        return (project / name).as_uri()

    fitted = fit(
        data=[url("data")], out=url("m"), score=url("s"), report=url("r.html"), conf=[url("median.yaml")],
        pipelines=url("pipelines"), engine=url("one.yaml"), checkpoint_dir=url("c"),
    )  # fmt: skip
    plain = fit(score="ps", report="pr.html", conf=["median.yaml"], engine="one.yaml")
    assert fitted.parameters == {"strategy": "median"}
    assert (fitted.digest, fitted.metrics) == (plain.digest, plain.metrics)
    assert fitted.scored is not None
    assert fitted.scored.path == str(project / "s")
    assert pq.read_table(project / "s").equals(pq.read_table(project / "ps"))
    assert (project / "r.html").is_file()
    assert ps.PipelineModel.load(url("m")).digest == ps.PipelineModel.load("m").digest == fitted.digest
    assert SpmdOptions(checkpoint_dir=url("c")) == SpmdOptions(checkpoint_dir=str(project / "c"))
    assert load_pipeline(url("pipelines/small.py")).name == "small"
    assert engine_settings(url("one.yaml"), None, Settings(), project) == engine_settings(
        "one.yaml", None, Settings(), project
    )
    evaluated = evaluate(model=url("m"), pipeline=url("pipelines/small.py"), report=url("e.html"), data=[url("data")])
    assert evaluated.metrics == evaluate(model="m").metrics
    score(model=url("m"), out=url("o"), data=[url("data/*.parquet")])
    assert pq.read_table(project / "o").equals(pq.read_table(score(model="m").scored.path))
    assert not [name for name in listing(project) if ":" in name]


def test_an_output_under_a_file_url_is_no_way_round_the_check_of_inputs(project):
    data = engine_here().read_parquet("data")
    for target in ((project / "data").as_uri(), f"/{project}/data", "data"):
        with pytest.raises(ConfigError, match="its own input"):
            data.write_parquet(target, overwrite=True)
    for name in (f"/{project}/data", f"local://{(project / 'data').as_uri().removeprefix('file://')}"):
        with pytest.raises(ConfigError, match="its own input"):
            engine_here().read_parquet(name).write_parquet("data", overwrite=True)
    with pytest.raises(ConfigError, match="lie in each other"):
        fit(out="m", score=(project / "m" / "s").as_uri())


def test_a_staging_dir_may_be_relative_and_a_file_url(project, monkeypatch):
    monkeypatch.setattr(results, "TABLE_BYTES", 0)
    (project / "tmp").mkdir()
    for where in ("tmp", (project / "tmp").as_uri()):
        rows = engine_here().query(lambda frame: frame, dataset(), staging_dir=where)
        assert all(path.startswith(f"{project}/tmp/") for piece in rows.fragments for path in piece.paths)
        assert rows.count() == len(TABLE)
    with pytest.raises(OutputError, match="no-such"):
        TemporaryFolder(project / "no-such")


def test_a_folder_with_a_colon_is_read_and_written_by_its_absolute_path(tmp_path):
    assert not is_url(str(tmp_path / "s3:/bucket"))
    model().save(tmp_path / "s3:" / "bucket")
    assert ps.PipelineModel.load(tmp_path / "s3:" / "bucket").digest == model().digest
    assert os.listdir(tmp_path) == ["s3:"]


def test_relative_paths_are_those_of_the_driver_when_they_are_planned(engine, tmp_path, monkeypatch):
    """The workers were started elsewhere, and the driver goes elsewhere before anything is read."""
    monkeypatch.chdir(tmp_path)
    for folder in ("data", "tmp", "elsewhere"):
        Path(folder).mkdir()
    Path("data/_SUCCESS").touch()
    pq.write_table(TABLE, "data/a.parquet")
    pq.write_table(TABLE, "data/b.parquet")
    Path("a.csv").write_text("x\n1\n")
    Path("a.jsonl").write_text('{"x": 1}\n')
    read = [
        engine.read_parquet(["data/a.parquet", "data/b.parquet"]),
        engine.read_parquet("data/*.parquet"),
        engine.read_parquet("./data/../data"),
        engine.query(lambda frame: frame, engine.read_parquet("data"), staging_dir="tmp"),
    ]
    texts = [engine.read_csv("a.csv"), engine.read_json_lines("*.jsonl")]
    files = engine.read_files("data/*.parquet")
    monkeypatch.chdir("elsewhere")
    for data in read:
        assert data.to_arrow() == pa.concat_tables([TABLE, TABLE])
    assert [data.to_arrow().to_pydict() for data in texts] == [{"x": [1]}, {"x": [1]}]
    assert files.to_arrow()["path"].to_pylist() == [f"{tmp_path}/data/{name}" for name in ("a.parquet", "b.parquet")]
    files.select("content").to_arrow()
    read[0].write_parquet("out")
    assert pq.read_table(tmp_path / "elsewhere" / "out") == pa.concat_tables([TABLE, TABLE])


def test_a_file_that_a_worker_does_not_see_is_told_with_its_host_and_directory(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    data = engine_here().read_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(
        IncompleteInputError, match=f"looked for on host {socket.gethostname()} from {os.getcwd()}"
    ) as e:
        data.to_arrow()
    assert "does this worker not mount the driver's file system" in str(e.value.hint)
