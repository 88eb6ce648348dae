"""The trips pipeline on generated data."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import trips as generator

from penstock.cli import jobs
from penstock.cli.project import load_pipeline
from penstock.cli.requests import FitRequest, ScoreRequest, TuneRequest
from penstock.cli.results import FitResult

FOLDER = Path(__file__).parents[2] / "pipelines"
RULE = "drop-off after pick-up, and not much later"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trips")
    generator.write(folder / "data", 20_000, seed=1, rows_per_file=7_000)
    generator.write(folder / "new", 3_000, seed=2, format="csv")
    return folder


def _common(folder: Path, name: str = "data") -> dict[str, object]:
    return {"data": [str(folder / name)], "pipelines": FOLDER, "engine": "local", "device": "cpu"}


@pytest.fixture(scope="module")
def fitted(folder: Path) -> FitResult:
    rounds = ["num_boost_round=40", "learning_rate=0.2"]
    return jobs.fit(
        FitRequest(pipeline="trips", out=folder / "model", score=folder / "scored", set=rounds, **_common(folder))
    )


def _backwards(table: pa.Table) -> int:
    return pc.sum(pc.less(table["tpep_dropoff_datetime"], table["tpep_pickup_datetime"])).as_py()


@pytest.mark.thorough
def test_it_learns_the_meter(fitted):
    assert fitted.metrics["r2"] > 0.95
    assert fitted.metrics["mae"] < 1.0  # dollars


@pytest.mark.thorough
def test_refunds_and_impossible_trips_are_left_out_and_counted(folder, fitted):
    table = pq.read_table(folder / "data")
    refunds = pc.sum(pc.less_equal(table["fare_amount"], 0)).as_py()
    paid = table.filter(pc.greater(table["fare_amount"], 0))
    parts = [fitted, fitted.scored]
    assert sum(part.dropped.get("filter", 0) for part in parts) == refunds > 0
    assert sum(part.quarantined.get(RULE, 0) for part in parts) == _backwards(paid) > 0


@pytest.mark.thorough
def test_raw_text_without_a_fare_is_scored_and_impossible_trips_are_set_aside(folder, fitted):
    (part,) = (folder / "new").glob("*.csv")
    raw = pa.csv.read_csv(part)
    without = raw.drop_columns(["fare_amount", "total_amount"])
    pa.csv.write_csv(without, folder / "raw.csv", pa.csv.WriteOptions(quoting_style="none"))
    found = jobs.score(ScoreRequest(model=fitted.model, out=folder / "out", **_common(folder, "raw.csv"))).scored
    assert found.quarantined == {RULE: _backwards(raw)}
    assert found.rows == 3_000 - _backwards(raw)
    assert pq.read_table(found.path)["prediction"].null_count == 0


def test_its_columns_have_the_types_of_the_data():
    for field in load_pipeline("trips", FOLDER).schema:
        assert generator.SCHEMA.field(field.name).type == field.type


@pytest.mark.thorough
def test_its_search_runs_as_it_stands_in_its_file(folder, tmp_path):
    few = {"trials": 2, "folds": 2, "set": ["num_boost_round=5"]}
    result = jobs.tune(TuneRequest(pipeline="trips", out=tmp_path / "model", **few, **_common(folder)))
    assert (result.trials, result.failed, result.metric) == (2, [], "mae")
    assert result.best_score == pytest.approx(result.metrics["mae"], rel=0.3)
