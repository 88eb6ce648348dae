"""The digits pipeline: both networks learn, and one picture is recognised as in a batch."""

from __future__ import annotations

from pathlib import Path

import digits as generator
import pyarrow.parquet as pq
import pytest

from penstock.cli import jobs
from penstock.cli.requests import FitRequest
from penstock.cli.results import FitResult
from penstock.pipeline import PipelineModel

FOLDER = Path(__file__).parents[2] / "pipelines"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> FitResult:
    folder = tmp_path_factory.mktemp("digits")
    generator.write(folder / "data")
    return jobs.fit(
        FitRequest(
            pipeline="digits", data=[str(folder / "data")], out=folder / "model", score=folder / "scored",
            pipelines=FOLDER, engine="local", device="cpu", set=["epochs=12"],
        )
    )  # fmt: skip


@pytest.mark.thorough
def test_both_networks_are_measured_side_by_side(fitted):
    assert fitted.metrics["mlp.accuracy"] > 0.94
    assert fitted.metrics["convolutional.accuracy"] > 0.96


@pytest.mark.thorough
def test_one_picture_is_recognised_as_in_a_batch(fitted):
    model = PipelineModel.load(fitted.model)
    for row in pq.read_table(fitted.scored.path).slice(0, 3).to_pylist():
        one = model.predict(row)
        assert one == {name: row[name] for name in one}
