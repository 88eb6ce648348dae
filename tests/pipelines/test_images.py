"""The pipeline of pictures, with a small network whose answer is known: the quarter of a picture that is brightest."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from safetensors.numpy import save_file

import penstock as ps
from penstock import stages as st
from penstock.cli import jobs
from penstock.cli.project import load_pipeline
from penstock.cli.requests import FitRequest, ScoreRequest
from penstock.cli.results import FitResult

FOLDER = Path(__file__).parents[2] / "pipelines"


@ps.register_module("tests: quarters")
def quarters(*, outputs):
    """Return the mean of each quarter of an 8 x 8 picture, turned by a linear layer."""
    from torch import nn

    return nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(4, outputs))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    (folder / "pictures").mkdir()
    for number in range(8):
        pixels = np.full((8, 8), 20, np.uint8)
        row, column = 4 * (number % 4 // 2), 4 * (number % 2)
        pixels[row : row + 4, column : column + 4] = 220
        Image.fromarray(pixels).save(folder / "pictures" / f"{number}.png")
    (folder / "pictures" / "8.png").write_bytes(b"not a picture")
    weights = {"2.weight": 10 * np.eye(4, dtype=np.float32), "2.bias": np.zeros(4, np.float32)}
    save_file(weights, folder / "weights.safetensors")
    return folder


@pytest.fixture(scope="module")
def fitted(folder: Path) -> FitResult:
    options = ["module=tests: quarters", "module_options={outputs: 4}", "size=8", "short_side=8", "mode=L"]
    return jobs.fit(
        FitRequest(
            pipeline="images", data=[str(folder / "pictures")], out=folder / "model", test_fraction=0.0,
            set=[f"weights={folder / 'weights.safetensors'}", *options], pipelines=FOLDER, engine="local", device="cpu",
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def scored(folder: Path, fitted: FitResult):
    (folder / "weights.safetensors").unlink()  # the model has its own
    return jobs.score(
        ScoreRequest(
            model=fitted.model, pipeline="images", data=[str(folder / "pictures" / "*.png")], out=folder / "scored",
            columns=["path", "class", "confidence"], pipelines=FOLDER, engine="local", device="cpu",
        )
    ).scored  # fmt: skip


@pytest.mark.thorough
def test_every_picture_has_its_class(scored):
    table = pq.read_table(scored.path).to_pandas()
    assert [Path(path).name for path in table["path"]] == [f"{number}.png" for number in range(8)]
    assert list(table["class"]) == [0, 1, 2, 3] * 2
    powers = np.exp([10 * 220 / 255, 10 * 20 / 255])
    np.testing.assert_allclose(table["confidence"], powers[0] / (powers[0] + 3 * powers[1]), rtol=1e-5)


@pytest.mark.thorough
def test_what_is_no_picture_is_set_aside_with_its_path(scored):
    assert sum(scored.quarantined.values()) == 1
    table = pq.read_table(scored.quarantine).to_pylist()
    assert [Path(row["path"]).name for row in table] == ["8.png"]


def test_the_softmax_of_no_picture_is_null():
    load_pipeline("images", FOLDER)
    margins = pa.array([None, [0.0, 0.0]], pa.list_(pa.float32()))
    data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"margins": margins}))
    stage = st.FunctionStage(
        "images: best class", "margins", {"class": "int32", "confidence": "float32"}, frame="arrow"
    )
    rows = ps.Pipeline(stage).fit(data).transform(data).to_arrow().to_pylist()
    assert [(row["class"], row["confidence"]) for row in rows] == [(None, None), (0, 0.5)]
