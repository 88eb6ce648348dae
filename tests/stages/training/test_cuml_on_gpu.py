"""Estimators of cuML on a GPU: what is kept of them scores as they do themselves."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cuml_stand_in import loaded, numbers

from penstock import stages as st
from penstock.engines.base import Engine
from penstock.pipeline import Pipeline
from penstock.stages.training.cuml._estimators import entries

X = numbers(2000).astype(np.float32)
KEPT = [name for name, entry in entries().items() if entry.refusal is None]


@pytest.fixture
def gpu(local: Engine) -> Engine:
    pytest.importorskip("cuml", reason="the extra gpu is not installed")
    if local.kind != "gpu":
        pytest.skip("needs a GPU: --device gpu")
    return local


def test_what_is_kept_scores_as_the_estimator_does(gpu: Engine, subtests: Any) -> None:
    for name in KEPT:
        with subtests.test(name):
            assert_kept(name, gpu)


def assert_kept(name: str, gpu: Engine) -> None:
    entry, kind = entries()[name], loaded(f"cuml.{entries()[name].name}")
    estimator = kind(**({"random_state": 0} if "random_state" in kind().get_params() else {}))
    label = {"classifier": (X[:, 0] > 0).astype(np.int32), "regressor": X[:, 0] * 2}.get(entry.kind)
    columns = {**dict(zip("abc", X.T, strict=True)), **({} if label is None else {"y": label})}
    data = gpu.from_arrow(pa.table(columns))
    model = Pipeline(st.CumlEstimator(estimator, None if label is None else "y", features=("a", "b", "c"))).fit(data)
    column = model.stages[0].outputs()[0]
    found = np.array(model.transform(data).to_arrow()[column].to_pylist())
    if entry.kind in ("clusterer", "transformer", "outlier_detector"):
        assert len(found) == len(X)  # a second fit need not find the same
        return
    expected = np.asarray(getattr(kind(**estimator.get_params()).fit(X, label), entry.methods[0])(X))
    expected = expected[:, 1] if entry.methods[0] == "predict_proba" else expected.ravel()
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2 * np.abs(expected).max())
