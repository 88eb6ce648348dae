"""Scripts and manifests for clusters, as far as one machine without them can tell."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.config.settings import Settings
from penstock.engines.dask.settings import DaskSettings
from penstock.engines.settings import engine_settings

ROOT = Path(__file__).parents[1]
SCRIPTS = [*sorted(ROOT.glob("conf/slurm/*.sh")), *sorted(ROOT.glob("tools/*.sh")), ROOT / "spark-submit.sh"]

SCRIPT = "#!/bin/sh\n{}\n"
SPARK_CLASS = """echo "$*" >> {folder}/started
trap 'echo ended >> {folder}/ended; exit 143' TERM
while :; do sleep 0.05; done"""
SPARK_SUBMIT = """until [ "$(wc -l < {folder}/started)" = 3 ]; do sleep 0.05; done
cp "$SPARK_CONF_DIR/spark-defaults.conf" {folder}/defaults
stat -c %a "$SPARK_CONF_DIR" "$SPARK_CONF_DIR/spark-defaults.conf" > {folder}/modes
echo "$PYSPARK_PYTHON $*" > {folder}/submitted
exit 4"""
SRUN = """trap 'kill $first $second; wait' TERM
"$@" & first=$!
"$@" & second=$!
wait"""
JAVA = "echo 'openjdk version \"17.0.1\"' >&2"


def _scripts(folder: Path, **bodies: str) -> Path:
    folder.mkdir(parents=True)
    for name, body in bodies.items():
        path = folder / name.replace("_", "-")
        path.write_text(SCRIPT.format(body))
        path.chmod(0o700)
    return folder


@pytest.fixture
def allocation(tmp_path: Path) -> dict[str, str]:
    """The variables of a job of Slurm on two nodes, with stand-ins for its commands and for Spark."""
    bodies = {"spark_class": SPARK_CLASS, "spark_submit": SPARK_SUBMIT}
    _scripts(tmp_path / "spark" / "bin", **{name: body.format(folder=tmp_path) for name, body in bodies.items()})
    _scripts(tmp_path / "java" / "bin", java=JAVA)
    commands = _scripts(tmp_path / "commands", srun=SRUN, scontrol="seq --format=node%.0f 50000")  # beyond a pipe
    return {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "SPARK_HOME": str(tmp_path / "spark"),
        "JAVA_HOME": str(tmp_path / "java"),
        "SLURM_SUBMIT_DIR": str(tmp_path / "project"),
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_CPUS_PER_TASK": "4",
        "SLURM_MEM_PER_NODE": "10000",
    }


@pytest.mark.thorough
def test_a_job_of_slurm_has_a_spark_of_its_own_that_ends_with_it(allocation, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    for name in ("spark-submit.sh", "penstock"):
        (project / name).symlink_to(ROOT / name)
    script = ["bash", ROOT / "conf" / "slurm" / "spark.sh", "jobs/fit.py", "clicks", "--data", "a b"]
    done = subprocess.run(script, env=allocation, cwd=project, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 4, done.stderr
    started = (tmp_path / "started").read_text().splitlines()
    assert sorted(line.split()[0].rpartition(".")[2] for line in started) == ["Master", "Worker", "Worker"]
    assert all("node1" in line and "secret" not in line for line in started)
    assert len((tmp_path / "ended").read_text().splitlines()) == 3
    assert list(project.glob(".spark-*")) == []
    defaults = dict(line.split(maxsplit=1) for line in (tmp_path / "defaults").read_text().splitlines())
    assert defaults["spark.master"] == "spark://node1:7077"
    assert (defaults["spark.authenticate"], len(defaults["spark.authenticate.secret"])) == ("true", 64)
    assert (tmp_path / "modes").read_text().split() == ["700", "600"]
    submitted = (tmp_path / "submitted").read_text()
    assert submitted.startswith(f"{sys.executable} --py-files ")
    assert submitted.endswith("penstock.zip jobs/fit.py clicks --data a b\n")


def test_a_job_of_slurm_runs_the_command_line_on_workers_that_it_submits(tmp_path):
    commands = _scripts(tmp_path / "commands", python='echo "$@"')
    environ = {**os.environ, "PYTHON": str(commands / "python"), "SLURM_SUBMIT_DIR": str(tmp_path)}
    script = ["bash", ROOT / "conf" / "slurm" / "dask.sh", "fit", "clicks"]
    done = subprocess.run(script, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["-m", "penstock", "fit", "clicks", "--engine", "dask-slurm"]
    keys = tmp_path / _cluster("dask-slurm")["arguments"]["shared_temp_directory"]
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700


def test_scripts_are_bash_and_can_be_run(subtests):
    for script in SCRIPTS:
        with subtests.test(script.name):
            assert os.access(script, os.X_OK)
            subprocess.run(["bash", "-n", script], check=True)


def _cluster(name: str) -> Any:
    settings = engine_settings(name, None, Settings(), ROOT / "conf" / "engines", {})
    assert isinstance(settings, DaskSettings)
    return settings.cluster


def test_engines_on_clusters_that_others_manage_are_read():
    assert _cluster("dask-slurm")["class"].endswith("SLURMCluster")
    assert _cluster("dask-kubernetes")["class"].endswith("KubeCluster")


def test_the_manifest_of_spark_names_what_the_image_has():
    application, policy = yaml.safe_load_all((ROOT / "conf" / "kubernetes" / "spark-application.yaml").read_text())
    image = (ROOT / "conf" / "kubernetes" / "Dockerfile").read_text()
    spec = application["spec"]
    assert (application["apiVersion"], application["kind"]) == ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
    assert spec["sparkVersion"] == re.search(r"ARG SPARK_VERSION=(\S+)", image)[1]
    assert spec["image"] == _cluster("dask-kubernetes")["arguments"]["image"]
    inside = spec["mainApplicationFile"].removeprefix("local:///opt/penstock/")
    assert (ROOT / inside).is_file()
    assert f"COPY {inside.partition('/')[0]} " in image
    for pods in ("driver", "executor"):
        assert spec[pods]["labels"] == policy["spec"]["podSelector"]["matchLabels"]


def test_the_image_is_made_of_files_that_are_sent_to_be_built():
    folder = ROOT / "conf" / "kubernetes"
    sent = {line.removeprefix("!") for line in (folder / "Dockerfile.dockerignore").read_text().splitlines()}
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", (folder / "Dockerfile").read_text(), re.MULTILINE)
    for path in " ".join(copied).split():
        assert (ROOT / path).exists()
        assert path.partition("/")[0] in sent
