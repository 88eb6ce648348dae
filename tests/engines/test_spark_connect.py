"""Spark Connect: an engine on a session of it does what one on a classic session does; a job starts the server once."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, WorkerLostError

JOB = Path(__file__).with_name("spark_connect_job.py")
ROWS = pa.table({"x": [1.0, None, 3.0, 6.0] * 50, "s": ["a", "b", None, "a"] * 50, "y": [0, 1, 0, 1] * 50})
STAGES = st.Imputer("x"), st.StringIndexer("s"), st.LogisticRegression("y", features=["x", "s"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("connect")
    pq.write_table(ROWS, made / "rows.parquet", row_group_size=20)
    return made


@pytest.fixture(scope="module")
def model(engines: Any, folder: Path) -> ps.PipelineModel:
    return ps.Pipeline(*STAGES).fit(engines.get("local").read_parquet(folder / "rows.parquet", fragment_bytes=100))


@pytest.fixture(scope="module")
def outcome(model: ps.PipelineModel, folder: Path) -> dict[str, Any]:
    """What the job prints: see `spark_connect_job`."""
    model.save(folder / "model")
    # With SPARK_TESTING the client asks the server that PySpark starts for its port, in place of 15002.
    paths = [path or os.getcwd() for path in sys.path]
    environ = {**os.environ, "SPARK_TESTING": "1", "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, JOB, folder]
    done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr[-5000:]
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.faults  # a worker is killed
class TestOnAServer:
    def test_the_session_is_one_of_connect_and_is_found_again_with_its_slots_on_loopback_only(self, outcome):
        assert outcome["session"].startswith("pyspark.sql.connect")
        assert outcome["same session"]
        assert (outcome["slots"], outcome["listening"]) == (2, ["127.0.0.1"])
        assert outcome["facts"].startswith("local[2")

    def test_a_frame_is_scored_by_a_model_of_another_engine(self, outcome, model, local):
        expected = model.transform(local.from_arrow(ROWS)).to_arrow()["probability"].to_pylist()
        assert [outcome[way] == expected for way in ("frame", "column", "sql")] == [True] * 3

    def test_tasks_give_results_in_order_sums_and_errors_and_are_run_again_where_a_worker_is_killed(self, outcome):
        assert outcome["order"] == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
        assert outcome["nothing"] == []
        assert outcome["sum"] == 4950
        assert outcome["error"] == {"type": "DataValueError", "message": "x is infinite", "row": 7}
        assert outcome["killed"] == [0, 1, 2, 3, 4]

    def test_a_fit_and_two_ranks_learn_what_the_local_engine_learns(self, outcome, model):
        assert outcome["digest"] == model.digest
        assert outcome["ranks"] == 2 * 4950

    def test_queries_frames_and_writes_give_the_rows_of_the_local_engine(self, outcome, local):
        expected = local.from_arrow(ROWS).group_by("s").agg(n="len").sort("s").to_arrow().to_pydict()
        assert outcome["query"] == expected
        assert outcome["there and back"]
        assert outcome["written"] == ROWS.num_rows


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Modules of the client, none of whose variables is set."""
    pytest.importorskip("grpc")
    from penstock.engines.spark import session
    from penstock.engines.spark.connect import driver

    for name in (*session._PROXIES, "SPARK_REMOTE", "PYSPARK_REMOTE_INIT_CONF_LEN"):
        monkeypatch.delenv(name, raising=False)
    return SimpleNamespace(session=session, driver=driver)


def test_a_server_older_than_what_an_engine_needs_is_refused(connect):
    with pytest.raises(ConfigError, match=r"Spark 3\.5\.4, expected 4\.1 or newer"):
        connect.driver.FrameDriver(SimpleNamespace(version="3.5.4"))


def test_a_session_is_one_of_connect_where_spark_would_make_it_so(connect, monkeypatch):
    for conf, variables, expected in (
        ({}, {}, None),
        ({}, {"SPARK_REMOTE": "sc://host"}, "sc://host"),
        ({"spark.master": "local[2]"}, {"SPARK_REMOTE": "sc://host"}, None),
        ({"spark.remote": "local[2]"}, {"SPARK_REMOTE": "sc://host"}, "local[2]"),
        ({}, {"PYSPARK_REMOTE_INIT_CONF_LEN": "1"}, ""),
    ):
        with monkeypatch.context() as environ:
            for name, value in variables.items():
                environ.setenv(name, value)
            assert connect.session._remote_of(conf) == expected


@pytest.fixture
def port() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_server_that_does_not_listen_is_found_out_at_once(connect, port):
    connect.session.refuse_silent(f"sc://127.0.0.1:{port}")
    with socket.socket() as silent:  # which has its port, so that nobody else can have it, and does not listen
        silent.bind(("127.0.0.1", 0))
        closed = silent.getsockname()[1]
        told = f"no server of Spark Connect answers at 127.0.0.1:{closed}"
        with pytest.raises(ConfigError, match=told) as caught:
            connect.session.start({"spark.remote": f"sc://127.0.0.1:{closed}/;token=sesame"})
    assert "sesame" not in str(caught.value)


def test_a_server_behind_a_proxy_is_not_looked_for_directly(connect, monkeypatch, port):
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
    connect.session.refuse_silent("sc://nowhere.invalid")


def test_a_failure_to_connect_hides_the_token(connect, monkeypatch, port):
    class Builder:
        def config(self, map):
            raise RuntimeError(f"cannot reach {map['spark.remote']}")

    monkeypatch.setattr("pyspark.sql.SparkSession.builder", Builder())
    with pytest.raises(ConfigError, match="Spark Connect does not start a session") as caught:
        connect.session.start({"spark.remote": f"sc://127.0.0.1:{port}/;token=sesame"})
    assert "sesame" not in str(caught.value)


def test_a_server_that_is_gone_is_a_lost_worker_and_another_failure_is_not(connect):
    gone = '<_Rendezvous of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = "refused"\n>'
    driver = connect.driver.FrameDriver(SimpleNamespace(version="4.1.0", conf={}))
    with (
        pytest.raises(WorkerLostError, match=r"does not answer: StatusCode\.UNAVAILABLE: refused"),
        driver.naming_lost("scan"),
    ):
        raise RuntimeError(gone)
    with pytest.raises(ValueError, match="too hot"), driver.naming_lost("scan"):
        raise ValueError("too hot")


def test_workers_that_cannot_reach_this_process_are_named_before_ranks_are_started(connect, monkeypatch):
    frame_cluster = connect.driver.FrameCluster
    monkeypatch.setattr(frame_cluster, "everywhere", lambda self, function, label: ["worker-1: timed out"])
    client = SimpleNamespace(host="127.0.0.1")
    cluster = frame_cluster(SimpleNamespace(conf={"spark.master": "spark://far"}, client=client))
    with pytest.raises(ConfigError, match=r"cannot connect to this process at 127\.0\.0\.1.*worker-1: timed out"):
        _ = cluster.host
