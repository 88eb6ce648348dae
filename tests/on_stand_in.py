"""Fixtures of engines on the stand-in for cuDF."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import cudf_stand_in
import narwhals as nw
import pyarrow as pa
import pytest

from penstock import devices, frames
from penstock.devices import Device
from penstock.engines.local import LocalEngine
from penstock.frames import cudf


@contextmanager
def standing_in() -> Iterator[pytest.MonkeyPatch]:
    """Replace cuDF, CuPy and pylibcudf by the stand-in, and make a GPU available."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in cudf_stand_in.modules().items():
            patch.setitem(sys.modules, name, module)
        patch.setattr(devices, "choose", lambda choice: Device("gpu", 0) if choice == "gpu" else Device("cpu"))
        patch.setattr(devices, "use", lambda kind: Device("cpu"))
        cudf.types.cache_clear()
        yield patch
    cudf.types.cache_clear()


@pytest.fixture(scope="module")
def stand_in() -> Iterator[None]:
    with standing_in():
        yield


@pytest.fixture(scope="module")
def gpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="gpu")


@pytest.fixture(scope="module")
def cpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="cpu")


def on_gpu(table: pa.Table) -> nw.DataFrame:
    return frames.from_arrow(table, "gpu")
