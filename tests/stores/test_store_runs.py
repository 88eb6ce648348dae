"""A run of an ETL job whose outputs lie in a store, from raw text to day folders and a model."""

from datetime import datetime
from pathlib import Path

import fsspec
import polars as pl
import pyarrow as pa
import pytest
import trips as trip_generator
import zones as zone_generator

import penstock as ps
from penstock.cli import jobs
from penstock.cli.etl.request import RunRequest

FOLDER = Path(__file__).parents[2] / "pipelines"


@pytest.mark.services
def test_all_outputs_of_a_run_lie_in_a_store_and_are_merged_there(s3, s3_options, tmp_path, monkeypatch):
    trips = pl.DataFrame(pa.concat_tables(trip_generator.generate(2_000)))
    days = trips.filter(pl.col("tpep_pickup_datetime").is_between(datetime(2019, 3, 1), datetime(2019, 3, 4)))
    days.write_csv(tmp_path / "trips.csv", datetime_format="%Y-%m-%d %H:%M:%S")
    zone_generator.write(tmp_path / "zones")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_options["client_kwargs"]["endpoint_url"])
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_options["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_options["secret"])
    fsspec.get_filesystem_class(
        "s3"
    ).clear_instance_cache()  # one that another test has made found no credentials, and keeps to that
    local = RunRequest(
        pipeline="trips_daily", date="2019-03-01", inputs=["trips=trips.csv", "zones=zones"], pipelines=FOLDER,
        set=["lags=[1]"], device="cpu",
    )  # fmt: skip
    on_disk = jobs.run(local).runs[0].outputs
    names = ("clean", "daily", "forecast")
    for _ in range(2):
        request = RunRequest(**{**vars(local), "outputs": [f"{name}={s3.url}/{name}" for name in names]})
        in_store = jobs.run(request).runs[0].outputs
    engine = ps.LocalEngine(device="cpu")
    for name in names[:2]:
        rows = engine.read_parquet(f"{s3.url}/{name}", storage_options=s3_options).to_polars()
        assert rows.equals(engine.read_parquet(f"out/trips/{name}").to_polars())
    assert in_store["daily"].rows_replaced == on_disk["daily"].rows
    model = ps.PipelineModel.load(f"{s3.url}/forecast", storage_options=s3_options)
    assert model.digest == on_disk["forecast"].digest
