"""How spark-submit is called; a script stands in for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from penstock.engines import spark_submit

ROOT = Path(__file__).parents[2]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark home whose spark-submit writes down its arguments and variables, and keeps what it was sent."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "spark-submit"
    script.write_text(
        "#!/bin/sh\n"
        f'printf "%s\\n" "$@" > {tmp_path}/arguments\n'
        f'env > {tmp_path}/variables\n'
        f'[ "$1" = --py-files ] && cp "$2" {tmp_path}/sent.zip\n'
        "exit 5\n"
    )  # fmt: skip
    script.chmod(0o700)
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    java.chmod(0o700)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def _variables(folder: Path) -> dict[str, str]:
    lines = (folder / "variables").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _runs(pid: str) -> bool:
    """Whether a process is there and not a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_on_this_machine_arguments_pass_unchanged_and_the_exit_code_comes_back(stand_in):
    arguments = ["--master", "local[2]", "jobs/fit.py", "clicks", "--data", "a b"]
    assert spark_submit.submit(arguments) == 5
    assert (stand_in / "arguments").read_text().splitlines() == arguments


def test_on_this_machine_all_processes_use_this_python_and_loopback(stand_in):
    spark_submit.submit(["jobs/fit.py"])
    found = _variables(stand_in)
    assert (found["PYSPARK_PYTHON"], found["PYSPARK_DRIVER_PYTHON"]) == (sys.executable, sys.executable)
    assert found["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert found["JAVA_HOME"] == str(stand_in / "java")


def test_to_a_cluster_penstock_travels_and_its_python_is_left_alone(stand_in):
    spark_submit.submit(["--master=spark://host:7077", "jobs/fit.py"])
    with zipfile.ZipFile(stand_in / "sent.zip") as archive:
        names = archive.namelist()
    assert "penstock/__init__.py" in names
    assert "penstock/engines/spark.py" in names
    assert "PYSPARK_PYTHON" not in _variables(stand_in)
    assert "SPARK_LOCAL_IP" not in _variables(stand_in)


@pytest.mark.parametrize(
    ("arguments", "master"),
    [
        (["jobs/fit.py"], "local[*]"),
        (["--master", "yarn", "jobs/fit.py"], "yarn"),
        (["--master=yarn", "jobs/fit.py"], "yarn"),
        (["--conf", "spark.master=yarn", "jobs/fit.py"], "yarn"),
        (["jobs/fit.py", "--master", "yarn"], "local[*]"),
        (["--master"], "local[*]"),
    ],
)
def test_the_master_is_that_of_the_options_before_the_file(arguments, master):
    assert spark_submit.master_of(arguments) == master


def test_a_signal_reaches_what_spark_submit_started(stand_in):
    inner = stand_in / "inner.pid"
    (stand_in / "bin" / "spark-submit").write_text(
        f"#!/bin/sh\nsleep 60 & echo $! > {inner}.new; mv {inner}.new {inner}; wait\n"
    )
    command = [sys.executable, "-m", "penstock.engines.spark_submit", "jobs/fit.py"]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
    while not inner.exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 128 + signal.SIGTERM
    deadline = time.monotonic() + 10
    while _runs(inner.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_script_of_the_checkout_passes_everything_on(stand_in):
    arguments = ["jobs/fit.py", "clicks", "--set", "label=a b"]
    environ = {**os.environ, "PYTHON": sys.executable}
    assert subprocess.run([ROOT / "spark-submit.sh", *arguments], env=environ, check=False).returncode == 5
    assert (stand_in / "arguments").read_text().splitlines() == arguments
