"""The clicks pipeline on generated data."""

from __future__ import annotations

from pathlib import Path

import clicks as generator
import numpy as np
import pyarrow.parquet as pq
import pytest

from penstock.cli import jobs
from penstock.cli.project import load_pipeline
from penstock.cli.requests import EvaluateRequest, FitRequest, ScoreRequest, TuneRequest
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


def _area_under_roc(label: np.ndarray, score: np.ndarray) -> float:
    """The share of pairs of a click and none in which the click has the larger score; ties count a half."""
    clicked, others = score[label == 1], np.sort(score[label == 0])
    below = np.searchsorted(others, clicked, side="left") + np.searchsorted(others, clicked, side="right")
    return float(below.sum() / 2 / len(clicked) / len(others))


@pytest.mark.thorough
def test_it_learns_what_tells_clicks_apart(fitted):
    assert fitted.metrics["areaUnderROC"] > 0.70  # that of the true model is 0.79


@pytest.mark.thorough
def test_its_metric_is_that_of_the_scored_rows_after_one_scan(fitted):
    assert fitted.scans == 1
    scored = pq.read_table(fitted.scored.path, columns=["label", "rawPrediction"])
    expected = _area_under_roc(scored["label"].to_numpy(), scored["rawPrediction"].to_numpy())
    assert fitted.metrics["areaUnderROC"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.thorough
def test_it_does_as_well_on_rows_of_another_day(folder, fitted):
    found = jobs.evaluate(EvaluateRequest(pipeline="clicks", model=fitted.model, **_common(folder, "new")))
    assert found.metrics["areaUnderROC"] == pytest.approx(fitted.metrics["areaUnderROC"], abs=0.04)


@pytest.mark.thorough
def test_rows_without_a_label_are_scored(folder, fitted):
    unlabelled = pq.read_table(folder / "new").drop_columns(["label"])
    pq.write_table(unlabelled, folder / "unlabelled.parquet")
    request = ScoreRequest(
        model=fitted.model, out=folder / "out", columns=["probability"], **_common(folder, "unlabelled.parquet")
    )
    found = jobs.score(request)
    probability = pq.read_table(found.scored.path)["probability"].to_numpy()
    assert len(probability) == 4_000
    assert ((probability > 0) & (probability < 1)).all()


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
