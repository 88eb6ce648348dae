"""The digits pipeline: both networks learn, and one picture is recognised as in a batch."""

from pathlib import Path

import digits as generator
import pytest

from penstock.cli import jobs
from penstock.cli.requests import FitRequest
from penstock.cli.results import FitResult

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
