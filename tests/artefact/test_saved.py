"""Models that earlier code saved, parameters that stages gained since, and models of vectors that somebody changed."""

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import LocalEngine, PipelineModel
from penstock import stages as st
from penstock.errors import ArtifactError, UntrustedArtifactError
from penstock.stages import Clip, Imputer
from penstock.stages.parameter_checks import added_later, defaults_added

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


@pytest.mark.parametrize("stage", [st.KMeans("v"), st.XGBoostRegressor("x", features="v", num_boost_round=1)], ids=repr)
def test_lengths_that_do_not_fit_are_refused_when_a_model_is_loaded(tmp_path, reseal, subtests, stage):
    table = pa.table({"v": [[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]], "x": [1.0, 2.0, 4.0]})
    folder = tmp_path / "model"
    ps.Pipeline(stage).fit(ps.LocalEngine(device="cpu").from_arrow(table)).save(folder)
    [path] = [each for each in folder.rglob("*.json") if "vector_sizes" in each.read_text()]
    document = json.loads(path.read_text())
    for sizes in ({"v": 4}, {"v": 10**12}, {"v": True}, {"w": 2}, {"x": 2}, {}, 2, None):
        path.write_text(json.dumps(document | {"vector_sizes": sizes}))
        reseal(folder)
        with subtests.test(sizes=sizes), pytest.raises((ArtifactError, UntrustedArtifactError)):
            ps.PipelineModel.load(folder)


@dataclasses.dataclass(frozen=True)
class Limit(Clip):
    """A stage as it was, which the next class is with one parameter more."""


@dataclasses.dataclass(frozen=True)
class Later(Clip):
    strict: bool = dataclasses.field(default=False, kw_only=True, metadata=added_later())


Later.__name__ = "Limit"


def digest(local, stage):
    return ps.Pipeline(stage).fit(local.from_arrow(pa.table({"x": [1.0, 2.0]}))).digest


def test_a_parameter_at_its_default_leaves_the_digest_as_it_was(local):
    before = digest(local, Limit("x", lower=0))
    assert digest(local, Later("x", lower=0)) == before
    assert digest(local, Later("x", lower=0, strict=True)) != before


def test_only_parameters_that_were_added_are_left_out():
    assert defaults_added(Imputer("x")) == {"by"}
    assert defaults_added(Imputer("x", by="k")) == set()
