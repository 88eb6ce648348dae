"""Models that earlier code saved: they load and score as they did then; see saved/README.md."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock import LocalEngine, PipelineModel

SAVED = Path(__file__).with_name("saved")
EXPECTED = {
    "logistic_regression": (
        "sha256:9f2d8204ef3402c8dce291712972b762c6a490250df91a5ae0ef84b897a32537",
        "sha256:1cf4b44ec8a6e95d0b63d415933961fa4cc1e857321bfd4fa03a039c94761df2",
    ),
    "xgboost": (
        "sha256:67408c526c83fe4922e32fef602b59ff495c456c5b3f197a4506494d9097926a",
        "sha256:7cbca0dc73f7b32eb93ffd7dee05c35ce83af122683846da38f03d3a1096ccf5",
    ),
}
"""The digest of the manifest, and of what was learned, as they were printed at saving."""


@pytest.fixture(params=EXPECTED)
def name(request) -> str:
    return request.param


def test_an_earlier_model_has_the_digest_that_it_had_and_is_checked_where_it_is_not_trusted(name):
    model = PipelineModel.load(SAVED / name / "model", expect=EXPECTED[name][0])
    assert model.digest == EXPECTED[name][1]
    assert PipelineModel.load(SAVED / name / "model") == model


def test_an_earlier_model_scores_to_the_bit_in_a_batch_and_by_rows(name):
    model = PipelineModel.load(SAVED / name / "model")
    rows = LocalEngine(device="cpu").read_parquet(SAVED / name / "rows.parquet")
    scores = pq.read_table(SAVED / name / "scores.parquet")
    assert model.transform(rows).to_arrow().select(scores.column_names).equals(scores)
    wanted = ["probability", "prediction"]
    found = model.predict(pq.read_table(SAVED / name / "rows.parquet").to_pylist(), columns=wanted)
    assert found == scores.select(wanted).to_pylist()
