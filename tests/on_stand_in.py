"""Fixtures of engines on the stand-in for cuDF."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import cudf_stand_in
import narwhals as nw
import pyarrow as pa
import pytest
from cudf_stand_in.arrays import given_host

from penstock import devices, frames
from penstock.devices import Device
from penstock.engines.local import LocalEngine
from penstock.frames import cudf
from penstock.testing import trials


@contextmanager
def standing_in() -> Iterator[pytest.MonkeyPatch]:
    """Replace cuDF, CuPy and pylibcudf by the stand-in, and make a GPU available."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in cudf_stand_in.modules().items():
            patch.setitem(sys.modules, name, module)
        patch.setattr(devices, "choose", lambda choice: Device("gpu", 0) if choice == "gpu" else Device("cpu"))
        patch.setattr(devices, "free_memory", lambda kind: 2**30)
        patch.setattr(devices, "use", lambda kind: Device("cpu"))
        _forget()
        yield patch
    _forget()


def _forget() -> None:
    cudf.types.cache_clear()
    cudf.fused.cache_clear()


@pytest.fixture(scope="module")
def stand_in() -> Iterator[None]:
    with standing_in():
        yield


@pytest.fixture(scope="module")
def stand_in_of_trainers() -> Iterator[None]:
    """The stand-in for cuDF, whose arrays XGBoost and PyTorch read on the host."""
    import torch
    import xgboost
    import xgboost.data

    from penstock.stages.training.trees import _boosting

    readers = (
        (xgboost.Booster, "inplace_predict"),
        (xgboost.data, "dispatch_data_backend"),
        (xgboost.data, "dispatch_meta_backend"),
        (xgboost.data, "_proxy_transform"),
        (torch, "as_tensor"),
    )
    with standing_in() as patch:
        for owner, name in readers:
            patch.setattr(owner, name, given_host(getattr(owner, name)))
        patch.setattr(_boosting, "_check_device", lambda booster, rank: None)
        trials.home.cache_clear()
        yield
    trials.home.cache_clear()


@pytest.fixture(scope="module")
def gpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="gpu")


@pytest.fixture(scope="module")
def cpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="cpu")


def on_gpu(table: pa.Table) -> nw.DataFrame:
    return frames.from_arrow(table, "gpu")
