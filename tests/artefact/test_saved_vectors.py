"""Models of dense vectors that somebody changed."""

import json

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ArtifactError, UntrustedArtifactError


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
