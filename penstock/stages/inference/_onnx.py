"""Networks in ONNX, loaded once in a process for each device."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime

from penstock import devices
from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.notices import get_logger
from penstock.frames import Kind, matrices
from penstock.stages.base import Blob
from penstock.stages.inference._network import Network

_FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
_CUDA = "CUDAExecutionProvider"
_INSTALL = "pip install onnxruntime-gpu in place of onnxruntime"

logger = get_logger(__name__)


@functools.lru_cache(maxsize=4)
def session(model: Blob, output: str | None, kind: Kind) -> Network:
    """Return a network that gives one of its outputs.

    Raises
    ------
    ConfigError
        Its inputs are not one tensor of floating numbers; `output` is not one of its outputs, or has to be chosen.
    """
    try:
        loaded = onnxruntime.InferenceSession(model.data, _options(), providers=_providers(kind))
    except Exception as error:  # ONNX Runtime has one class for each code of its own
        raise ConfigError(f"ONNX Runtime does not load the network: {str(error).splitlines()[0]:.300}") from error
    given = _only(loaded.get_inputs())
    wanted = _chosen(loaded.get_outputs(), output)
    dtype = _FLOATS[given.type]

    def run(batch: Any) -> np.ndarray:
        (made,) = loaded.run([wanted.name], {given.name: matrices.to_host(batch).astype(dtype, copy=False)})
        return made.astype(np.float32, copy=False)

    return Network(run, [size if isinstance(size, int) else None for size in given.shape])


def _options() -> Any:
    """Return options with as many threads as the worker has for every library."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or devices.usable_cores())
    options.log_severity_level = 3
    return options


def _providers(kind: Kind) -> list[Any]:
    index = devices.use(kind).index
    if index is not None and _CUDA in onnxruntime.get_available_providers():
        return [(_CUDA, {"device_id": index})]
    if index is not None:
        logger.warning("ONNX Runtime was built without CUDA, so the network runs on the CPU: %s", _INSTALL)
    return ["CPUExecutionProvider"]


def _only(inputs: Sequence[Any]) -> Any:
    shown = ", ".join(f"{item.name!r} ({item.type} {item.shape})" for item in inputs)
    if len(inputs) != 1 or inputs[0].type not in _FLOATS:
        raise ConfigError(
            f"the network takes {shown or 'nothing'}, expected one tensor of {', '.join(_FLOATS)}",
            hint="Export it with one floating input that holds all features.",
        )
    return inputs[0]


def _chosen(outputs: Sequence[Any], name: str | None) -> Any:
    known = {item.name: item for item in outputs}
    if name is None and len(known) != 1:
        raise ConfigError(f"the network gives {', '.join(known)}", hint="Choose one: output='...'.")
    if name is not None and name not in known:
        problem = f"the network gives no output {name!r}.{did_you_mean(name, known)} It gives: {', '.join(known)}"
        raise ConfigError(problem)
    chosen = outputs[0] if name is None else known[name]
    if chosen.type not in _FLOATS:
        raise ConfigError(
            f"output {chosen.name!r} of the network is {chosen.type}, expected one of {', '.join(_FLOATS)}",
            hint=f"Choose another of {', '.join(known)}: output='...'.",
        )
    return chosen
