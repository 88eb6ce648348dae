"""Spark Connect: frames of its sessions are scored, and an engine, which needs tasks of its own, is refused."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError

pytest.importorskip("pyspark")
pytest.importorskip("grpc")

JOB = Path(__file__).with_name("spark_connect_job.py")
ROWS = pa.table({"x": [1.0, None, 3.0, 6.0], "s": ["a", "b", None, "a"], "y": [0, 1, 0, 1]})


def _free_port() -> int:
    """A server of Spark Connect is told its port: the client that starts it does not ask which it has taken."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.spark
@pytest.mark.slow
def test_frames_of_spark_connect_are_scored_and_an_engine_on_it_is_refused(local, tmp_path):
    data = local.from_arrow(ROWS)
    stages = st.Imputer("x"), st.StringIndexer("s"), st.LogisticRegression("y", features=["x", "s"])
    model = ps.Pipeline(*stages).fit(data)
    model.save(tmp_path / "model")
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    # With SPARK_TESTING the client asks the server that PySpark starts for its port, in place of 15002.
    environ = {
        **os.environ,
        "SPARK_TESTING": "1",
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    done = subprocess.run(
        [sys.executable, JOB, tmp_path, str(_free_port())], env=environ, cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=150,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["session"].startswith("pyspark.sql.connect")
    expected = model.transform(data).to_arrow()["probability"].to_pylist()
    assert [told[way] for way in ("frame", "column", "sql")] == [expected] * 3
    for way in ("session given", "session found"):
        assert "Spark Connect" in told[way]
        assert "model.transform(frame)" in told[way]


@pytest.mark.parametrize("variable", ["SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_REMOTE_INIT_CONF_LEN"])
def test_where_a_session_would_be_one_of_connect_none_is_started(variable, monkeypatch):
    from pyspark import SparkContext

    from penstock.engines.spark import session

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setenv(variable, "sc://host/;token=sesame")
    with pytest.raises(ConfigError, match="Spark Connect") as caught:
        session.given(None, None)
    assert "sesame" not in str(caught.value)
