"""How spark-submit is called; a script stands in for it."""

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from eventually import PATIENCE, until

from penstock.engines.spark import submit
from penstock.engines.spark.submit import SparkOptions
from penstock.errors import MissingInputError

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
        'while [ $# -gt 0 ]; do\n'
        f'  [ "$1" = --py-files ] && cp "${{2%%,*}}" {tmp_path}/sent.zip && printf %s "$2" > {tmp_path}/py-files\n'
        "  shift\n"
        "done\n"
        "exit 5\n"
    )  # fmt: skip
    script.chmod(0o700)
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    java.chmod(0o700)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    for name in (
        "PYSPARK_PYTHON",
        "PYSPARK_DRIVER_PYTHON",
        "SPARK_LOCAL_IP",
        "SPARK_CONF_DIR",
        "SPARK_REMOTE",
        "MASTER",
    ):
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
    assert submit.submit(arguments) == 5
    assert (stand_in / "arguments").read_text().splitlines() == arguments


def test_on_this_machine_all_processes_use_this_python_and_loopback(stand_in):
    submit.submit(["jobs/fit.py"])
    found = _variables(stand_in)
    assert (found["PYSPARK_PYTHON"], found["PYSPARK_DRIVER_PYTHON"]) == (sys.executable, sys.executable)
    assert found["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert found["JAVA_HOME"] == str(stand_in / "java")


def test_to_a_cluster_penstock_travels_without_bytecode_and_its_python_is_left_alone(stand_in):
    submit.submit(["--master=spark://host:7077", "jobs/fit.py"])
    with zipfile.ZipFile(stand_in / "sent.zip") as archive:
        names = archive.namelist()
    assert {"penstock/__init__.py", "penstock/engines/spark/engine.py"} <= set(names)
    suffixes = {Path(name).suffix for name in names}
    assert suffixes >= {".py", ".css", ".j2", ".onnx", ".pt2"}
    assert ".pyc" not in suffixes
    assert not {"PYSPARK_PYTHON", "SPARK_LOCAL_IP"} & set(_variables(stand_in))


FROM_THE_ZIP = """
import penstock
assert ".zip" in penstock.__file__, penstock.__file__
from pathlib import Path
from penstock.report.page import render
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.inference._examples import example
print("0.7342" in render(Evaluation({"areaUnderROC": 0.73421}), title="clicks"))
print(Path(example("mean.onnx")).stat().st_size, Path(example("mean.pt2")).stat().st_size)
"""


@pytest.mark.thorough
def test_a_report_is_made_where_penstock_is_nothing_but_the_zip_that_was_sent(stand_in, tmp_path):
    submit.submit(["--master=spark://host:7077", "jobs/fit.py"])
    # -S: no .pth file, so that the editable install of the suite is not there.
    installed = os.pathsep.join(path for path in sys.path if path.endswith("-packages"))
    path = os.pathsep.join([str(stand_in / "sent.zip"), installed])
    done = subprocess.run(
        [sys.executable, "-S", "-c", FROM_THE_ZIP], env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    examples = ROOT / "penstock" / "stages" / "inference" / "_examples"
    sizes = [(examples / name).stat().st_size for name in ("mean.onnx", "mean.pt2")]
    assert done.stdout.split() == ["True", *map(str, sizes)]


def _master(arguments: list[str], home: Path, environ: dict[str, str]) -> str:
    return submit.master_of(SparkOptions.of(arguments, home, environ), environ)


def test_the_master_is_that_of_the_options_before_the_file(tmp_path):
    for arguments, master in (
        (["jobs/fit.py"], "local[*]"),
        (["--master", "yarn", "jobs/fit.py"], "yarn"),
        (["--master=yarn", "jobs/fit.py"], "yarn"),
        (["--conf", "spark.master=yarn", "jobs/fit.py"], "yarn"),
        (["-c", "spark.master=yarn", "jobs/fit.py"], "yarn"),
        (["--conf=spark.master=yarn", "jobs/fit.py"], "yarn"),
        (["--conf", "spark.master=local", "--master", "yarn", "jobs/fit.py"], "yarn"),
        (["--py-files", "helpers.py", "--master", "yarn", "jobs/fit.py"], "yarn"),
        (["--verbose", "--master", "yarn", "jobs/fit.py"], "yarn"),
        (["--remote", "sc://host", "jobs/fit.py"], "sc://host"),
        (["jobs/fit.py", "--master", "yarn"], "local[*]"),
        (["--master"], "local[*]"),
    ):
        assert _master(arguments, tmp_path, {}) == master, arguments


def test_the_master_may_stand_in_a_file_of_properties(tmp_path):
    for folder in (tmp_path / "home" / "conf", tmp_path / "conf"):
        folder.mkdir(parents=True)
    named = ["--properties-file", str(tmp_path / "conf" / "spark-defaults.conf")]
    for line in ("spark.master yarn", "spark.master=yarn", "  spark.master : yarn  ", "spark.master\tyarn"):
        for folder in (tmp_path / "home" / "conf", tmp_path / "conf"):
            (folder / "spark-defaults.conf").write_text(f"# spark.master local\nspark.app.name x\n{line}\n")
        assert _master(["jobs/fit.py"], tmp_path / "home", {}) == "yarn"
        assert _master(["jobs/fit.py"], tmp_path, {"SPARK_CONF_DIR": str(tmp_path / "conf")}) == "yarn"
        assert _master([*named, "jobs/fit.py"], tmp_path / "nowhere", {}) == "yarn"
        assert _master([*named, "--conf", "spark.master=local[2]", "jobs/fit.py"], tmp_path, {}) == "local[2]"


def test_a_file_of_properties_replaces_the_defaults_unless_both_are_asked_for(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.master yarn\n")
    own = tmp_path / "own.conf"
    own.write_text("spark.app.name x\n")
    arguments = ["--properties-file", str(own), "jobs/fit.py"]
    assert _master(arguments, tmp_path, {}) == "local[*]"
    assert _master(["--load-spark-defaults", *arguments], tmp_path, {}) == "yarn"


def test_a_file_of_properties_that_is_not_there_is_refused(stand_in):
    with pytest.raises(MissingInputError, match=r"--properties-file is 'no\.conf'"):
        submit.submit(["--properties-file", "no.conf", "jobs/fit.py"])


@pytest.mark.thorough
def test_a_cluster_of_the_defaults_gets_penstock_and_no_loopback(stand_in):
    (stand_in / "conf").mkdir()
    (stand_in / "conf" / "spark-defaults.conf").write_text("spark.master spark://host:7077\n")
    submit.submit(["jobs/fit.py"])
    assert zipfile.is_zipfile(stand_in / "sent.zip")
    assert "SPARK_LOCAL_IP" not in _variables(stand_in)


@pytest.mark.thorough
def test_files_of_the_users_own_travel_beside_penstock(stand_in):
    for options in (
        ["--py-files", "a.py,b.zip"],
        ["--py-files=a.py,b.zip"],
        ["--conf", "spark.submit.pyFiles=a.py,b.zip"],
    ):
        arguments = ["--master", "yarn", *options, "jobs/fit.py", "--py-files", "c.py"]
        submit.submit(arguments)
        ours, *theirs = (stand_in / "py-files").read_text().split(",")
        assert (Path(ours).name, theirs) == ("penstock.zip", ["a.py", "b.zip"])
        given = (stand_in / "arguments").read_text().splitlines()
        assert given == ["--master", "yarn", *options, "--py-files", f"{ours},a.py,b.zip", *arguments[-3:]]


@pytest.mark.faults
def test_a_signal_reaches_what_spark_submit_started(stand_in):
    inner = stand_in / "inner.pid"
    (stand_in / "bin" / "spark-submit").write_text(
        f"#!/bin/sh\nsleep 3600 & echo $! > {inner}.new; mv {inner}.new {inner}; wait\n"
    )
    command = [sys.executable, "-m", "penstock.engines.spark.submit", "jobs/fit.py"]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
    until(inner.exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 128 + signal.SIGTERM
    until(lambda: not _runs(inner.read_text().strip()))


@pytest.mark.thorough
def test_the_script_of_the_checkout_passes_everything_on(stand_in):
    arguments = ["jobs/fit.py", "clicks", "--set", "label=a b"]
    environ = {**os.environ, "PYTHON": sys.executable}
    assert subprocess.run([ROOT / "spark-submit.sh", *arguments], env=environ, check=False).returncode == 5
    assert (stand_in / "arguments").read_text().splitlines() == arguments
