"""Features of few values in four fragments, so that the bins of XGBoost are exact whatever the batches."""

import copy
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import cudf_stand_in
import cuml_stand_in
import numpy as np
import pyarrow as pa
import pytest

from penstock import devices
from penstock.dataset import Dataset
from penstock.devices import Device
from penstock.engines.base import Engine
from penstock.frames import cudf
from penstock.stages.modules import _FACTORIES
from penstock.testing import trials

ROWS = 600
FRAGMENT = 8 * 4 * 150  # 150 rows of four float64 columns: four fragments


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train on one thread: more only wait for each other on data this small."""
    monkeypatch.setattr("penstock.devices.usable_cores", lambda: 1)


@pytest.fixture
def dask(request: pytest.FixtureRequest, engines: Any) -> Engine:
    """The engine on Dask: ranks are processes of their own."""
    if "dask" not in request.config.getoption("--engines"):
        pytest.skip("dask is not among --engines")
    return engines.get("dask")


@pytest.fixture
def registered() -> Iterator[None]:
    """Forget the modules of PyTorch that a test registers."""
    before = copy.copy(_FACTORIES.known)
    yield
    _FACTORIES.known.clear()
    _FACTORIES.known.update(before)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    """Three features of at most 50 values, a tenth of them missing: bins are then exact, whatever the batches."""
    generator = np.random.default_rng(7)
    values = np.round(generator.normal(size=(ROWS, 3)), 1).clip(-2.4, 2.4)
    values[generator.random(values.shape) < 0.1] = np.nan
    return values


@pytest.fixture(scope="module")
def y(x: np.ndarray) -> np.ndarray:
    filled = np.nan_to_num(x)
    return np.round(filled[:, 0] - 2 * (filled[:, 1] > 0.3) + np.random.default_rng(8).normal(size=ROWS) / 4, 3)


@pytest.fixture
def make(local: Engine, x: np.ndarray) -> Callable[..., Dataset]:
    """Return a function that makes a dataset of the features and more columns, in four fragments."""

    def dataset(**columns: Any) -> Dataset:
        features = {f"f{place}": x[:, place] for place in range(3)}
        return local.from_arrow(pa.table({**features, **columns}), fragment_bytes=FRAGMENT)

    return dataset


@pytest.fixture
def cuml(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The stand-in for cuML, beside those for cuDF and CuPy, where they are imported."""
    stand_in = cuml_stand_in.module()
    for name, module in {**cudf_stand_in.modules(), "cuml": stand_in}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(devices, "choose", lambda choice: Device("gpu", 0) if choice == "gpu" else Device("cpu"))
    monkeypatch.setattr(devices, "use", lambda kind: Device("cpu"))
    _forget()
    yield stand_in
    _forget()


def _forget() -> None:
    cuml_stand_in.SEEN.clear()
    cudf.types.cache_clear()
    trials.home.cache_clear()
