"""The stand-in where cuDF, CuPy and pylibcudf are imported, and a GPU that can be chosen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import cudf_stand_in
import pytest

from penstock import devices
from penstock.devices import Device
from penstock.frames import cudf


@contextmanager
def standing_in() -> Iterator[None]:
    """Let engines with ``device="gpu"`` work on the stand-in while inside."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in cudf_stand_in.modules().items():
            patch.setitem(sys.modules, name, module)
        patch.setattr(devices, "choose", lambda choice: Device("gpu", 0) if choice == "gpu" else Device("cpu"))
        patch.setattr(devices, "use", lambda kind: Device("cpu"))
        cudf.types.cache_clear()
        yield
    cudf.types.cache_clear()
