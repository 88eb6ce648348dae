"""Run dags/trips.py in Airflow: three days, twice from nothing; a day again; two promotions at once; ends of tasks.

    make test-airflow

By the Python of Airflow's environment; jobs run by that of ``PENSTOCK_PYTHON``. Exits with 1, and says what is wrong,
if two backfills do not write the same bytes, or a task ends otherwise than it should.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
AIRFLOW = str(Path(sys.executable).with_name("airflow"))
PYTHON = os.environ.get("PENSTOCK_PYTHON", sys.executable)
HISTORY, DAYS = ("2019-03-01", "2019-03-03"), ("2019-03-04", "2019-03-05", "2019-03-06")
PICKUP = "tpep_pickup_datetime"
OF_THE_RUN = {"_manifest.json", "report.json", "registry.json", "_SUCCESS"}
"""Files with times and names of runs."""
ENDS = """
from datetime import datetime
from airflow.sdk import DAG
from penstock.integrations.airflow import PenstockOperator, penstock_task

with DAG("ends", schedule=None, start_date=datetime(2019, 3, 4), default_args={"retries": 1, "retry_delay": 0.1}):
    told = {"cwd": %(project)r, "python": %(python)r}
    PenstockOperator(task_id="bad_input", job="evaluate", arguments=["nowhere", "--data", "days"], **told)
    PenstockOperator(task_id="wrong_use", job="fit", arguments=["--no-such-option"], **told)
    PenstockOperator(
        task_id="not_better", job="promote", **told,
        arguments=["registry/trips@champion", "registry/trips@champion", "--pipeline", "trips"]
        + ["--data", "days/2019-03-06", "--metric", "rmse"],
    )

    @penstock_task("run", **told)
    def dry(ds=None):
        return ["trips_by_day", "--dry-run", "--in", f"trips=incoming/{ds}.csv"]

    dry()
"""
CONTEST = """
from datetime import datetime
from airflow.sdk import DAG
from penstock.integrations.airflow import PenstockOperator

with DAG("contest", schedule=None, start_date=datetime(2019, 3, 4)):
    PenstockOperator(
        task_id="promote", job="promote", cwd=%(project)r, python=%(python)r,
        arguments=["models/{{ ds }}", "registry/trips@contested", "--pipeline", "trips", "--data", "days/%(day)s"]
        + ["--metric", "rmse", "--min-gain", "0.01"],
    )
"""


class Airflow:
    """Airflow with a database of its own."""

    def __init__(self, folder: Path, dags: Path, project: Path) -> None:
        self._environment = {
            **os.environ,
            "AIRFLOW_HOME": str(folder),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "PENSTOCK_PROJECT": str(project),
            "PENSTOCK_PYTHON": PYTHON,
            "PYTHONPATH": str(ROOT),
        }
        self._run(["db", "migrate"]).wait()

    def start(self, dag: str, day: str, *options: str) -> subprocess.Popen[str]:
        """Start a run of a DAG in this process's Airflow, without a scheduler."""
        return self._run(["dags", "test", dag, day, *options])

    def ends(self, dag: str) -> dict[str, tuple[str, int]]:
        """Return of each task of the last run of a DAG its state, and how many tries it had."""
        code = (
            "import json; from airflow.models import TaskInstance; from airflow.utils.session import create_session\n"
            "with create_session() as session:\n"
            f"    rows = session.query(TaskInstance).filter(TaskInstance.dag_id == {dag!r}).all()\n"
            "    print(json.dumps({row.task_id: [str(row.state), row.try_number] for row in rows}))"
        )
        asked = subprocess.run(
            [sys.executable, "-c", code], env=self._environment, capture_output=True, text=True, check=True
        )
        return {task: (state, tries) for task, (state, tries) in json.loads(asked.stdout.splitlines()[-1]).items()}

    def _run(self, words: Sequence[str]) -> subprocess.Popen[str]:
        log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        process = subprocess.Popen([AIRFLOW, *words], env=self._environment, stdout=log, stderr=log, text=True)
        process.log = log  # type: ignore[attr-defined]
        return process


def finish(process: subprocess.Popen[str], what: str) -> None:
    """Wait for a run that is to succeed."""
    if process.wait(900):
        process.log.seek(0)  # type: ignore[attr-defined]
        raise SystemExit(f"{what} failed:\n{process.log.read()[-6000:]}")  # type: ignore[attr-defined]


def make_project(folder: Path, rows: int) -> Path:
    """Make a folder with pipelines, settings, raw files of every day, and the days before the first run."""
    folder.mkdir()
    for name in ("pipelines", "conf"):
        (folder / name).symlink_to(ROOT / name)
    source = folder / "month"
    subprocess.run(
        [PYTHON, ROOT / "data" / "trips.py", "--rows", str(rows), "--out", source, "--format", "csv"], check=True
    )
    (folder / "incoming").mkdir()
    write_days(source, folder / "incoming")
    first, last = HISTORY
    words = ["run", "trips_by_day", "--from", first, "--to", last, "--in", "trips=incoming/{date}.csv"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([PYTHON, "-m", "penstock", *words], cwd=folder, check=True, env=environment, capture_output=True)
    return folder


def write_days(source: Path, target: Path) -> None:
    """Write the trips of each day to a file of their own."""
    by_day: dict[str, list[list[str]]] = {}
    header: list[str] = []
    for path in sorted(source.glob("*.csv")):
        with open(path, newline="") as file:
            header, *rows = csv.reader(file)
        for row in rows:
            by_day.setdefault(row[header.index(PICKUP)][:10], []).append(row)
    for day in (day for day in by_day if "2019-03-01" <= day <= "2019-03-09"):
        with open(target / f"{day}.csv", "w", newline="") as file:
            csv.writer(file).writerows([header, *by_day[day]])


def digests(project: Path, folders: Sequence[str] = ("days", "models", "scored", "registry")) -> dict[str, str]:
    """Return the sha256 of every file of data and of models; those with times and names of runs are left out."""
    files = (path for folder in folders for path in sorted((project / folder).rglob("*")) if path.is_file())
    return {
        str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.name not in OF_THE_RUN
    }


def champion(project: Path, alias: str = "champion") -> str:
    """Return the version that an alias stands for."""
    aliases = json.loads((project / "registry/trips/registry.json").read_text())["aliases"]
    return str(aliases[alias][-1]["version"])


def expect(condition: object, fault: str) -> None:
    """End with a fault unless a condition holds."""
    if not condition:
        raise SystemExit(fault)


def backfill(folder: Path, rows: int) -> tuple[Airflow, Path]:
    """Run the three days of a new project."""
    project = make_project(folder / "project", rows)
    airflow = Airflow(folder / "airflow", ROOT / "dags", project)
    for day in DAYS:
        began = time.monotonic()
        finish(airflow.start("trips", day), f"trips of {day}")
        print(f"{folder.name}: {day} in {time.monotonic() - began:.0f} s", flush=True)
    return airflow, project


def check_two_backfills(one: Path, other: Path) -> None:
    """Compare two backfills by the bytes of all that they wrote."""
    first, second = digests(one), digests(other)
    expect(first and first == second, f"two backfills differ: {sorted(set(first.items()) ^ set(second.items()))}")
    expect(champion(one) == champion(other), "two backfills have another champion")
    print(f"two backfills of {len(DAYS)} days: {len(first)} files of the same sha256", flush=True)


def check_again(airflow: Airflow, project: Path) -> None:
    """Run a day that is done again: what it writes is what it was, and the champion too."""
    folders = ("days", "models")
    before, leader = digests(project, folders), champion(project)
    finish(airflow.start("trips", DAYS[1]), f"trips of {DAYS[1]}, again")
    expect(digests(project, folders) == before, "a day that was run again has other days or models")
    expect(champion(project) == leader, "a day that was run again has changed the champion")
    print("a day that was run again: the same bytes, the same champion", flush=True)


def check_promotions(folder: Path, project: Path) -> None:
    """Promote two models at once from two Airflows: each is compared with the champion that it replaces."""
    dags = folder / "dags"
    dags.mkdir()
    (dags / "contest.py").write_text(CONTEST % {"project": str(project), "python": PYTHON, "day": DAYS[-1]})
    airflows = [Airflow(folder / f"airflow{number}", dags, project) for number in (1, 2)]
    running = [airflow.start("contest", day) for airflow, day in zip(airflows, DAYS[:2], strict=True)]
    for process in running:
        finish(process, "a promotion")
    history = json.loads((project / "registry/trips/registry.json").read_text())["aliases"]["contested"]
    expect(1 <= len(history) <= 2, f"two promotions have left {len(history)} entries")
    expect(all(each["gain"] >= 0.01 for each in history[1:]), "a model that is not better was promoted")
    before = [None, *(each["version"] for each in history)]
    expect([each["replaced"] for each in history] == before[:-1], "a champion was replaced that was not compared with")
    print(f"two promotions at once: {len(history)} of them won, each against the champion before it", flush=True)


def check_ends(folder: Path, project: Path) -> None:
    """See that bad input fails without another try, that what is not better is skipped, and that the rest goes on."""
    dags = folder / "ends"
    dags.mkdir()
    (dags / "ends.py").write_text(ENDS % {"project": str(project), "python": PYTHON})
    airflow = Airflow(folder / "airflow_of_ends", dags, project)
    airflow.start("ends", DAYS[0]).wait(900)
    ends = airflow.ends("ends")
    wanted = {
        "bad_input": ("failed", 1),
        "wrong_use": ("failed", 1),
        "not_better": ("skipped", 1),
        "dry": ("success", 1),
    }
    expect(ends == wanted, f"tasks have ended as {ends}, expected {wanted}")
    print(f"ends of tasks: {ends}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="trips of the month")
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / each for each in ("first", "second")]
        for folder in folders:
            folder.mkdir()
        (airflow, project), (_, other) = (backfill(folder, rows) for folder in folders)
        check_two_backfills(project, other)
        check_again(airflow, project)
        check_promotions(folders[0], project)
        check_ends(folders[0], project)


if __name__ == "__main__":
    main()
