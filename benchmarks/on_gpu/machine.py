"""What machine figures of `gpu.py` are from: its GPU, driver and CUDA, the releases of libraries, and its cores."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from importlib import metadata
from typing import Any

from penstock import devices

_LIBRARIES = re.compile(
    r"(penstock|polars|cudf|pylibcudf|libcudf|cudf-polars|dask-cudf|dask-cuda|cuml|rmm|rapidsmpf|cupy-cuda\d+x|pandas"
    r"|numpy|pyarrow|narwhals|numba|xgboost|xgboost-cpu|nvidia-ml-py)(-cu\d+)?"
)


def describe_machine() -> dict[str, Any]:
    """Return the machine by name of each fact; those of a GPU that are not known are None."""
    return {
        "gpu": _gpu(),
        "machine": platform.processor() or platform.machine(),
        "cores": devices.usable_cores(),
        "memory_bytes": devices.memory_limit(),
        "python": platform.python_version(),
        "releases": _releases(),
    }


def _gpu() -> dict[str, Any] | None:
    device = devices.choose("auto")
    if device.kind == "cpu":
        return None
    return {
        "name": _answer(lambda: _text(_nvml().nvmlDeviceGetName(_nvml().nvmlDeviceGetHandleByUUID(device.uuid)))),
        "described": device.reason,  # its name, its compute capability and the CUDA of its driver, without a package
        "memory_bytes": device.memory,
        "driver": _answer(lambda: _text(_nvml().nvmlSystemGetDriverVersion())),
        "cuda_runtime": _answer(_runtime),
    }


def _nvml() -> Any:
    import pynvml

    pynvml.nvmlInit()
    return pynvml


def _runtime() -> str:
    import cupy  # which asks the library, and makes no context

    version = cupy.cuda.runtime.runtimeGetVersion()
    return f"{version // 1000}.{version % 1000 // 10}"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _answer(question: Callable[[], Any]) -> Any:
    """Return the answer, or None: a fact that is not told, by whatever error, ends no benchmark."""
    try:
        return question()
    except Exception:
        return None


def _releases() -> dict[str, str]:
    """Return the version of each library that is installed, by its name without that of CUDA."""
    installed = [each for each in metadata.distributions() if each.name]
    # Of one that is there twice, the first is imported.
    found = {each.name.lower().replace("_", "-"): each.version for each in reversed(installed)}
    matches = {name: _LIBRARIES.fullmatch(name) for name in found}
    return {match[1]: found[name] for name, match in sorted(matches.items()) if match}
