"""From files of images to scores on every engine: a broken one is set aside with its path, and costs no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

import penstock as ps
from penstock.stages import DecodeImage, OnnxInference

COUNT = 9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images of one colour each, one of them cut off, one no image."""
    (tmp_path / "images").mkdir()
    for place in range(COUNT):
        colour = (20 * place, 10 * place, 5 * place)
        Image.new("RGB", (40 + place, 30), colour).save(tmp_path / "images" / f"{place}.png")
    whole = (tmp_path / "images" / "4.png").read_bytes()
    (tmp_path / "images" / "4.png").write_bytes(whole[:-30])
    (tmp_path / "images" / "7.png").write_bytes(b"<html>404</html>")
    return tmp_path / "images"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """The mean of each channel."""
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3, 1, 1])
    graph = helper.make_graph([helper.make_node("GlobalAveragePool", ["x"], ["y"])], "means", [given], [made])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "means.onnx"
    )
    return tmp_path / "means.onnx"


def test_images_are_scored_and_broken_ones_set_aside(engine, folder, network, tmp_path):
    files = engine.read_files(folder / "*.png", fragment_bytes=200_000)
    assert len(files.fragments) > 1
    pipeline = ps.Pipeline(DecodeImage(size=(16, 16), scale=1.0), OnnxInference("image", network, batch_size=4))
    scored = pipeline.fit(files).transform(files).select("path", "prediction")
    result = scored.write_parquet(tmp_path / "out")
    assert result.quarantined == {"image: cut off or damaged": 1, "image: not an image of a known format": 1}
    table = engine.read_parquet(tmp_path / "out").to_arrow()
    kept = [place for place in range(COUNT) if place not in (4, 7)]
    assert table["path"].to_pylist() == [str(folder / f"{place}.png") for place in kept]
    np.testing.assert_allclose(table["prediction"].to_pylist(), np.outer(kept, [20, 10, 5]), rtol=1e-6)
    aside = engine.read_parquet(result.quarantine).to_arrow().to_pylist()
    assert [(row["row"], row["path"]) for row in aside] == [(place, str(folder / f"{place}.png")) for place in (4, 7)]
    assert aside[1]["content"] == b"<html>404</html>"
