"""The trips of a month from raw text to day folders and a model, against DuckDB over the same files."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
import trips as trip_generator
import zones as zone_generator
from polars.testing import assert_frame_equal

import penstock as ps
from penstock.cli import jobs
from penstock.cli.etl.request import RunRequest
from penstock.cli.results import EtlRun

FOLDER = Path(__file__).parents[2] / "pipelines"
LATE = "2019-03-05"
CLEAN = """
    SELECT *, tpep_pickup_datetime::DATE AS day, round(fare_amount * 100)::BIGINT AS cents,
        date_diff('second', tpep_pickup_datetime, tpep_dropoff_datetime) AS seconds
    FROM read_csv({files})
    WHERE seconds BETWEEN 0 AND 6 * 3600 AND cents > 0 AND day BETWEEN '2019-03-01' AND '2019-03-31'
"""
DAILY = """
    SELECT *, lag(trips, 1) OVER earlier AS trips_lag_1, lag(trips, 7) OVER earlier AS trips_lag_7
    FROM (
        SELECT day, Borough, count(*) AS trips, sum(cents)::BIGINT AS cents, sum(seconds)::BIGINT AS seconds
        FROM ({clean}) LEFT JOIN read_csv('{zones}/*.csv') ON PULocationID = LocationID GROUP BY day, Borough
    )
    WINDOW earlier AS (PARTITION BY Borough ORDER BY day) ORDER BY day, Borough
"""


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw files: 6,000 trips of a month, zones, and the trips of one day that come later."""
    folder = tmp_path_factory.mktemp("raw")
    trip_generator.write(folder / "trips", 6_000, rows_per_file=3_000, format="csv")
    zone_generator.write(folder / "zones")
    late = pl.DataFrame(pa.concat_tables(trip_generator.generate(6_000, seed=1)))
    late = late.filter(pl.col("tpep_pickup_datetime").dt.date().cast(pl.String) == LATE)
    late.write_csv(folder / "late.csv", datetime_format="%Y-%m-%d %H:%M:%S")
    return folder


@pytest.fixture(scope="module")
def march(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EtlRun]:
    """A folder with the outputs of a run, and its result."""
    made = tmp_path_factory.mktemp("march")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        return made, run(raw, run_id="march")


@pytest.fixture
def folder(march: tuple[Path, EtlRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the outputs of the run, to work in."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(march[0], tmp_path, dirs_exist_ok=True)


def run(raw: Path, *late: str, **options: Any) -> EtlRun:
    files = ", ".join(str(raw / name) for name in ("trips/*.csv", *late))
    inputs = [f"trips=[{files}]", f"zones={raw}/zones"]
    request = RunRequest(
        pipeline="trips_daily", date="2019-03-01", inputs=inputs, pipelines=FOLDER, device="cpu", **options
    )
    return jobs.run(request).runs[0]


def expected(raw: Path, *late: str) -> pl.DataFrame:
    import duckdb

    clean = CLEAN.format(files=[str(raw / name) for name in ("trips/*.csv", *late)])
    return duckdb.sql(DAILY.format(clean=clean, zones=raw / "zones")).pl()


def daily() -> pl.DataFrame:
    rows = ps.LocalEngine(device="cpu").read_parquet("out/trips/daily").to_polars()
    return rows.select("day", "Borough", pl.exclude("day", "Borough")).sort("day", "Borough")


def parts(folder: Path) -> dict[str, list[str]]:
    """Return the digests of the parts, and files of a model, in each folder."""
    digests: dict[str, list[str]] = {}
    for path in [path for name in ("out", "models") for path in sorted((folder / name).rglob("*"))]:
        if path.is_file() and not path.name.startswith("_") and path.name != "report.json":
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            digests.setdefault(str(path.parent.relative_to(folder)), []).append(digest)
    return digests


@pytest.mark.thorough
def test_days_of_boroughs_are_those_of_a_database_and_every_trip_is_accounted_for(raw, march, folder):
    made = march[1]
    assert_frame_equal(daily(), expected(raw), check_dtypes=False)
    clean = made.outputs["clean"]
    assert made.inputs["trips"].rows == 6_000 == clean.rows_read == clean.rows + sum(clean.quarantined.values())
    assert clean.rows == daily()["trips"].sum()
    assert set(clean.quarantined) == {"a possible time", "a fare, no refund", "the month"}
    assert sorted(path.name for path in Path("out/trips/clean").glob("day=*")) == [
        f"day=2019-03-{day:02d}" for day in range(1, 32)
    ]


@pytest.mark.thorough
def test_a_run_again_leaves_the_same_bytes(raw, folder):
    before = parts(folder)
    assert len(before) > 2 * 31
    run(raw, run_id="march")
    assert parts(folder) == before


@pytest.mark.thorough
def test_the_late_trips_of_a_day_are_merged(raw, folder):
    before = daily()
    made = run(raw, "late.csv").outputs["daily"]
    after = daily()
    assert_frame_equal(after, expected(raw, "late.csv"), check_dtypes=False)
    changed = before.join(after, on=before.columns, how="anti", nulls_equal=True)
    assert before.filter(pl.col("day").cast(pl.String) == LATE)["trips"].sum() < (
        after.filter(pl.col("day").cast(pl.String) == LATE)["trips"].sum()
    )
    everyday = changed.filter(pl.col("Borough") == "Manhattan")  # which has trips each day
    assert set(everyday["day"].cast(pl.String)) == {LATE, "2019-03-06", "2019-03-12"}
    assert (made.rows, made.rows_replaced, made.rows_unchanged) == (len(after), len(before), 0)


@pytest.mark.thorough
def test_the_model_forecasts_from_days_before(folder):
    model = ps.PipelineModel.load("models/trips_daily")
    assert model.predict({"trips_lag_1": 80, "trips_lag_7": 80})["prediction"] == pytest.approx(80, rel=0.3)


def test_the_same_on_a_cluster_as_in_this_process(raw, folder, distributed_engine, monkeypatch):
    class Started:
        def __enter__(self):
            return distributed_engine

        def __exit__(self, *_):
            pass

    local, model = daily(), ps.PipelineModel.load("models/trips_daily").preprocessing_digest
    monkeypatch.setattr("penstock.engines.local.settings.LocalSettings.start", lambda settings, progress: Started())
    run(raw)
    assert_frame_equal(daily(), local)
    assert ps.PipelineModel.load("models/trips_daily").preprocessing_digest == model
