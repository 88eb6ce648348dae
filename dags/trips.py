"""Trips of a day: bring them in, check them, make typed rows, fit, evaluate, promote a better model, score.

For Airflow 3, in its folder of DAGs. ``PENSTOCK_PROJECT`` is the folder with ``pipelines/``; ``PENSTOCK_PYTHON`` is the
interpreter of the environment for Penstock's jobs, unless that is Airflow's own.
"""

from __future__ import annotations

import os
import shutil
from datetime import date, datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, task
from airflow.timetables.interval import CronDataIntervalTimetable

from penstock.integrations.airflow import PenstockOperator, penstock_task

PROJECT = Path(os.environ.get("PENSTOCK_PROJECT", "/srv/trips"))
JOB = {"cwd": str(PROJECT), "python": os.environ.get("PENSTOCK_PYTHON")}
CHAMPION = "registry/trips@champion"
DAYS_TO_LEARN_FROM = 3

with DAG(
    "trips",
    schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),  # the logical date is the day that the rows are of
    start_date=datetime(2019, 3, 4),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=1), "execution_timeout": timedelta(hours=1)},
):

    @task
    def ingest(ds: str | None = None) -> str:
        """Copy the file of the day; it appears whole."""
        landed = PROJECT / "raw" / f"{ds}.csv"
        landed.parent.mkdir(exist_ok=True)
        shutil.copyfile(PROJECT / "incoming" / landed.name, landed.with_suffix(".part"))
        landed.with_suffix(".part").rename(landed)
        return str(landed)

    check = PenstockOperator(task_id="check", job="run", arguments=["trips_by_day", "--dry-run"], **JOB)

    etl = PenstockOperator(task_id="etl", job="run", arguments=["trips_by_day"], **JOB)

    @penstock_task("fit", **JOB)
    def fit(ds: str) -> list[str]:
        """Learn from the days before, so that no model has seen the rows that it is compared on."""
        before = [date.fromisoformat(ds) - timedelta(days=days) for days in range(DAYS_TO_LEARN_FROM, 0, -1)]
        data = [word for day in before for word in ("--data", f"days/{day}")]
        return ["trips", *data, "--out", f"models/{ds}", "--set", "num_boost_round=20", "--overwrite"]

    evaluate = PenstockOperator(
        task_id="evaluate",
        job="evaluate",
        arguments=[
            *("trips", "--model", "models/{{ ds }}", "--data", "days/{{ ds }}"),
            *("--expect", "{{ ti.xcom_pull(task_ids='fit')['manifest'] }}"),
        ],
        **JOB,
    )

    promote = PenstockOperator(
        task_id="promote",
        job="promote",
        arguments=[
            *("models/{{ ds }}", CHAMPION, "--pipeline", "trips", "--data", "days/{{ ds }}"),
            *("--metric", "rmse", "--min-gain", "0.01"),
        ],
        **JOB,
    )

    score = PenstockOperator(
        task_id="score",
        job="score",
        arguments=[CHAMPION, "--data", "days/{{ ds }}", "--out", "scored/{{ ds }}", "--overwrite"],
        trigger_rule="none_failed",  # promote is skipped where the champion stays
        **JOB,
    )

    ingest() >> check >> etl >> fit() >> evaluate >> promote >> score  # type: ignore[operator]
