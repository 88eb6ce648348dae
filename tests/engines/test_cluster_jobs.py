"""Jobs on clusters that were started by hand, in other folders: a standalone Spark, and workers of `dask worker`."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers import serving
from small_projects import pipeline_module

from penstock.cli.commands import main

ROOT = Path(__file__).parents[2]

FUNCTION = """
from helpers import doubled

@ps.register_function("tests: doubled on a cluster")
def from_here(frame):
    from sent import OFFSET
    return doubled(frame).select(nw.col("twice") + OFFSET)
"""
STAGES = """
    st.FunctionStage("tests: doubled on a cluster", "x", {"twice": "float64"}),
    st.StandardScaler("twice"),
    st.LinearRegression("y", features=["twice"]),
"""
PIPELINE = pipeline_module(STAGES, '[st.RegressionEvaluator("y")]', prepare=FUNCTION)
HELPERS = """
import narwhals as nw

def doubled(frame):
    return frame.select(twice=nw.col("x") * 2)
"""
FIT = [
    "fit",
    "mine",
    "--pipelines",
    "pipelines",
    "--data",
    "data",
    "--test-fraction",
    "0.5",
    "--out",
    "model",
    "--json",
]

Start = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A pipeline, a module beside it, one that is to be sent, and two files of rows."""
    for folder in ("pipelines", "data", "sent", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pipelines" / "mine.py").write_text(PIPELINE)
    (tmp_path / "pipelines" / "helpers.py").write_text(HELPERS)
    (tmp_path / "sent" / "sent.py").write_text("OFFSET = 1.0\n")
    for number in range(2):
        rows = pa.table({"x": [float(4 * number + place) for place in range(4)], "y": [0.5, 2.0, 1.0, 4.0]})
        pq.write_table(rows, tmp_path / "data" / f"{number}.parquet")
    (tmp_path / "data" / "_SUCCESS").touch()
    return tmp_path


@pytest.fixture
def start(project: Path) -> Iterator[Start]:
    """A function that starts a process in a folder of its own and returns the address that it prints."""
    with ExitStack() as running:

        def run(name: str, pattern: str, command: list[Any], **environ: str) -> str:
            folder = project / "elsewhere" / name
            folder.mkdir()
            server = serving(command, folder / "log", cwd=folder, env={**os.environ, **environ}, grace=30.0)
            return running.enter_context(server).says(pattern)

        yield run


@pytest.fixture
def local_digest(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Digest of the model of a job in this process; modules and model of the project are gone afterwards."""
    monkeypatch.chdir(project)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(project / "sent")
        assert main([*FIT, "--device", "cpu"]) == 0
    for module in ("helpers", "sent"):
        sys.modules.pop(module)
    shutil.rmtree(project / "model")
    return json.loads(capsys.readouterr().out.splitlines()[-1])["digest"]


def _told(command: list[Any], folder: Path, **environ: str) -> Any:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environ}, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.spark
@pytest.mark.services
def test_a_job_is_submitted_to_a_standalone_cluster_of_the_defaults(project, start, local_digest):
    """Executors have the libraries, but of Penstock and of the user's modules only what was sent."""
    spark = Path(find_spec("pyspark").origin).parent
    run = [spark / "bin" / "spark-class"]
    jvm = {"SPARK_LOCAL_IP": "127.0.0.1"}
    master = "org.apache.spark.deploy.master.Master"
    address = start("master", r"Starting Spark master at (\S+)", [*run, master, "-h", "127.0.0.1", "-p", "0",
                    "--webui-port", "0"], SPARK_MASTER_OPTS="-Dspark.master.rest.enabled=false", **jvm)  # fmt: skip
    start("worker", r"Successfully registered with master (\S+)",
          [*run, "org.apache.spark.deploy.worker.Worker", "-h", "127.0.0.1", "--webui-port", "0", "--cores", "2",
           "--memory", "1g", "-d", project / "elsewhere" / "worker" / "work", address], **jvm)  # fmt: skip
    installed = os.pathsep.join(path for path in sys.path if path.endswith("-packages"))
    python = project / "python"  # -S: no .pth file, so that the editable install is not there
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{installed}" exec {sys.executable} -S "$@"\n')
    python.chmod(0o700)
    conf = project / "conf"
    conf.mkdir()
    settings = {"spark.master": address, "spark.executor.memory": "512m"}
    (conf / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    options = ["--py-files", project / "sent" / "sent.py"]
    submit = [ROOT / "spark-submit.sh", *options, ROOT / "jobs" / "fit.py", *FIT[1:], "--report", "report.html"]
    environ = {"PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": str(python)}
    told = _told(submit, project, SPARK_CONF_DIR=str(conf), SPARK_LOCAL_IP="127.0.0.1", **environ)
    assert (told["engine"], told["digest"]) == ("spark", local_digest)
    assert "<svg" in (project / "report.html").read_text()


@pytest.mark.dask
@pytest.mark.services
def test_a_job_runs_on_a_worker_of_dask_that_was_started_elsewhere(project, start, local_digest):
    dask = [sys.executable, "-m", "dask"]
    address = start("scheduler", r"Scheduler at:\s+(\S+)", [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0",
                    "--no-dashboard"])  # fmt: skip
    path = f"{ROOT}{os.pathsep}{project / 'sent'}"
    start("worker", r"Registered to:\s+(\S+)", [*dask, "worker", address, "--host", "127.0.0.1",
          "--nthreads", "1", "--no-dashboard"], PYTHONPATH=path)  # fmt: skip
    (project / "dask.yaml").write_text(f"engine: dask\ncluster: {address}\n")
    command = [sys.executable, "-m", "penstock", *FIT, "--engine", "dask.yaml"]
    told = _told(command, project, PYTHONPATH=path)
    assert (told["engine"], told["digest"]) == ("dask", local_digest)
