"""Dense vectors on a GPU: their elements, and what stages make of them, on the stand-in for cuDF."""

# ruff: noqa: F811  # fixtures are parameters by the names that they are imported by

import numpy as np
import pyarrow as pa
import pytest
from on_stand_in import cpu, gpu, on_gpu, stand_in  # noqa: F401

import penstock as ps
from penstock import frames
from penstock import stages as st
from penstock.frames.elements import elements, pack
from penstock.testing.compare import demand_equal

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF is a stand-in")]

VALUES = np.random.default_rng(0).normal(size=(60, 4)).round(3)
TABLE = pa.table({"v": VALUES.tolist(), "x": VALUES.sum(axis=1), "y": (VALUES[:, 0] > 0).astype(np.int64)})


def test_elements_are_those_on_a_cpu(stand_in):
    for lists in (
        pa.array([[1.5, 2.0], [3.0, -1.0]], pa.list_(pa.float32())),
        pa.array([[1, 2], [3, 4]], pa.list_(pa.int16())),
        pa.array([[1.5, None], None, [3.0, 4.0]], pa.list_(pa.float64())),
    ):
        found, expected = (elements(frames.from_arrow(pa.table({"v": lists}), kind), "v", 2) for kind in ("gpu", "cpu"))
        assert frames.is_gpu(found)
        assert frames.to_arrow(found).equals(frames.to_arrow(expected))


def test_a_vector_is_packed_as_on_a_cpu(stand_in):
    for columns in ({"a": [1.0, 2.0], "b": [3.0, 4.0]}, {"a": [1.0, None, None], "b": [2.0, 3.0, None]}):
        table = pa.table(columns)
        found, expected = (pack(frames.from_arrow(table, kind), ["a", "b"], "v") for kind in ("gpu", "cpu"))
        assert frames.to_arrow(found.to_frame()).equals(frames.to_arrow(expected.to_frame()))


def test_stages_give_what_they_give_on_a_cpu(gpu, cpu, subtests):
    for stage in (
        st.StandardScaler("v", with_mean=True),
        st.Normalizer("v"),
        st.PCA(["v", "x"], 2),
        st.KMeans("v", k=3),
        st.LogisticRegression("y", features="v", reg_param=0.1),
        st.VectorAssembler(["x", "v"]),
        st.VectorSlicer("v", indices=(3, 0)),
    ):
        with subtests.test(stage=stage):
            models = [ps.Pipeline(stage).fit(engine.from_arrow(TABLE)) for engine in (gpu, cpu)]
            outputs = list(models[0].stages[0].outputs())
            found, expected = (
                model.transform(engine.from_arrow(TABLE)).select(*outputs).to_arrow()
                for model, engine in zip(models, (gpu, cpu), strict=True)
            )
            demand_equal(found, expected, repr(stage), rtol=1e-9, atol=1e-12)
