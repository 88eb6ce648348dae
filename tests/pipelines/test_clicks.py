"""The clicks pipeline on generated data."""

from pathlib import Path

import clicks as generator
import pytest

from penstock.cli import jobs
from penstock.cli.project import load_pipeline
from penstock.cli.requests import EvaluateRequest, FitRequest, TuneRequest
from penstock.cli.results import FitResult

FOLDER = Path(__file__).parents[2] / "pipelines"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clicks")
    generator.write(folder / "data", 20_000, seed=1, rows_per_file=7_000)
    generator.write(folder / "new", 4_000, seed=2)
    return folder


def _common(folder: Path, name: str = "data") -> dict[str, object]:
    return {"data": [str(folder / name)], "pipelines": FOLDER, "engine": "local", "device": "cpu"}


@pytest.fixture(scope="module")
def fitted(folder: Path) -> FitResult:
    rounds = ["num_boost_round=30", "max_depth=4", "learning_rate=0.3"]
    return jobs.fit(
        FitRequest(pipeline="clicks", out=folder / "model", score=folder / "scored", set=rounds, **_common(folder))
    )


@pytest.mark.thorough
def test_it_learns_what_tells_clicks_apart(fitted):
    assert fitted.scans == 1
    assert fitted.metrics["areaUnderROC"] > 0.70  # that of the true model is 0.79


@pytest.mark.thorough
def test_it_does_as_well_on_rows_of_another_day(folder, fitted):
    found = jobs.evaluate(EvaluateRequest(pipeline="clicks", model=fitted.model, **_common(folder, "new")))
    assert found.metrics["areaUnderROC"] == pytest.approx(fitted.metrics["areaUnderROC"], abs=0.04)


def test_its_schema_is_that_of_the_data():
    assert load_pipeline("clicks", FOLDER).schema == generator.SCHEMA.remove_metadata().set(
        0, generator.SCHEMA.field("label").with_nullable(True)
    )


@pytest.mark.thorough
def test_its_search_runs_as_it_stands_in_its_file(folder, tmp_path):
    few = {"trials": 2, "folds": 2, "set": ["num_boost_round=5"]}
    result = jobs.tune(TuneRequest(pipeline="clicks", out=tmp_path / "model", **few, **_common(folder)))
    assert (result.trials, result.failed, result.metric) == (2, [], "areaUnderROC")
    assert result.best_score == pytest.approx(result.metrics["areaUnderROC"], abs=0.04)
