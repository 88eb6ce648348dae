"""CPU or GPU: what the user asked for, what the machine has, and the reason for what is used."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

from penstock.core.errors import ConfigError, MissingExtraError, check_one_of
from penstock.core.extras import how_to_install
from penstock.core.notices import get_logger
from penstock.devices import nvml

CHOICES = ("auto", "cpu", "gpu")

_REQUIRED = ("cudf", "cupy", "rmm")
_OPTIONAL = ("cudf_polars", "cuml", "dask_cuda", "xgboost")

logger = get_logger(__name__)


class _Needs(NamedTuple):
    cuda: tuple[int, int]
    capability: tuple[int, int]
    driver: int


# RAPIDS platform support, by the CUDA major version that the installed packages were built for.
_NEEDS = {
    12: _Needs(cuda=(12, 2), capability=(7, 0), driver=535),
    13: _Needs(cuda=(13, 0), capability=(7, 5), driver=580),
}
_NEWEST = max(_NEEDS)


@dataclass(frozen=True)
class Device:
    """The CPU, or one GPU, with the reason for which it was chosen.

    Parameters
    ----------
    kind : {"cpu", "gpu"}
        Which of the two.
    index : int or None
        The GPU's number in this process, after ``CUDA_VISIBLE_DEVICES``; None for the CPU.
    reason : str
        Why this device: kept in the run record.
    uuid : str or None
        The GPU's identity on any machine and under any mask; None for the CPU.
    memory : int or None
        The GPU's total memory in bytes; None for the CPU and where the driver gives no number.

    Examples
    --------
    >>> str(Device("gpu", 1, reason="an example"))
    'gpu:1'
    """

    kind: Literal["cpu", "gpu"]
    index: int | None = None
    reason: str = ""
    uuid: str | None = None
    memory: int | None = None

    def __str__(self) -> str:
        return self.kind if self.index is None else f"{self.kind}:{self.index}"


def choose(
    choice: str = "auto",
    *,
    index: int | Callable[[int], int] = 0,
    environ: Mapping[str, str] | None = None,
    load: Callable[[], Any] = nvml.load,
) -> Device:
    """Return the device to work on, in the process that will use it.

    Asks the driver only: no CUDA context is made, no GPU package is imported, and the process may fork afterwards.

    Parameters
    ----------
    choice : {"auto", "cpu", "gpu"}
        ``"auto"`` takes a GPU where one is usable and otherwise the CPU, and says why in ``Device.reason``.
        ``"gpu"`` never falls back.
    index : int or callable
        Which of the visible GPUs; or a function from how many there are to the one to take, such as
        ``partial(for_spark_task, resources, environ, partition_id)``.
    environ : mapping, optional
        Where ``CUDA_VISIBLE_DEVICES`` is looked up; the process's environment by default.
    load : callable
        Returns the NVML library.

    Raises
    ------
    ConfigError
        `choice` is none of the three; or it is ``"gpu"`` and none is usable, with the driver's own message.
    MissingExtraError
        `choice` is ``"gpu"`` and cuDF, CuPy or RMM is not installed.

    Examples
    --------
    >>> choose("cpu")
    Device(kind='cpu', index=None, reason="device is 'cpu'", uuid=None, memory=None)
    """
    check_one_of("device", choice, CHOICES, hint="'gpu' is any CUDA device; CUDA_VISIBLE_DEVICES says which.")
    if choice == "cpu":
        return Device("cpu", reason="device is 'cpu'")
    try:
        device = _usable_gpu(index, os.environ if environ is None else environ, load)
    except ConfigError as error:
        if choice == "gpu":
            raise type(error)(f"device is 'gpu', but {error.message}", hint=error.hint) from error.__cause__
        device = Device("cpu", reason=error.message)
    if choice == "auto":
        logger.info("device is 'auto', using %s: %s", device, device.reason)
    return device


def gpu_stack() -> dict[str, bool]:
    """Return which GPU packages are installed, by import name; none of them is imported.

    Installed does not mean working: cuDF imports without error on a machine that has no GPU. `confirm` asks CUDA.

    Examples
    --------
    >>> sorted(gpu_stack())
    ['cudf', 'cudf_polars', 'cuml', 'cupy', 'dask_cuda', 'rmm', 'xgboost']
    """
    return {name: find_spec(name) is not None for name in _REQUIRED + _OPTIONAL}


def _usable_gpu(index: int | Callable[[int], int], environ: Mapping[str, str], load: Callable[[], Any]) -> Device:
    cuda, gpus = _ask_driver(environ, load)
    place = index(len(gpus)) if callable(index) else index
    if not 0 <= place < len(gpus):
        raise ConfigError(
            f"GPU {place} was asked for and {len(gpus)} are visible, numbered from 0",
            hint=f"{nvml.MASK} says which GPUs are visible and in which order.",
        )
    _require_stack()
    _require_fit(gpus[place], place, cuda)
    gpu = gpus[place]
    shown = f"{gpu.name}, compute capability {_dotted(gpu.capability)}, driver for CUDA {_dotted(cuda)}"
    return Device("gpu", place, reason=shown, uuid=gpu.uuid, memory=gpu.memory)


def _ask_driver(environ: Mapping[str, str], load: Callable[[], Any]) -> tuple[tuple[int, int], list[nvml.Gpu]]:
    library = load()
    try:
        with nvml.Nvml(library) as driver:
            return driver.cuda_version(), nvml.visible(driver, environ)
    except nvml.NvmlError as error:
        raise ConfigError(
            f"the NVIDIA driver does not answer. {error}",
            hint="Run nvidia-smi: it fails the same way until the driver is loaded and matches its library.",
        ) from error


def _require_stack() -> None:
    stack = gpu_stack()
    missing = [name for name in _REQUIRED if not stack[name]]
    if missing:
        raise MissingExtraError(f"not installed: {', '.join(missing)}", hint=how_to_install("gpu"))


def _require_fit(gpu: nvml.Gpu, place: int, cuda: tuple[int, int]) -> None:
    major = _stack_cuda()
    needs = _NEEDS.get(major, _NEEDS[_NEWEST])
    if cuda < needs.cuda:
        raise ConfigError(
            f"the NVIDIA driver offers CUDA {_dotted(cuda)}, the installed cuDF needs {_dotted(needs.cuda)} or newer",
            hint=f"Update the driver to {needs.driver} or newer; from {_NEEDS[12].driver} it runs cuDF for CUDA 12.",
        )
    if gpu.capability < needs.capability:
        raise ConfigError(
            f"GPU {place} ({gpu.name}) has compute capability {_dotted(gpu.capability)}, the installed cuDF needs "
            f"{_dotted(needs.capability)} or newer",
            hint=f"If the machine has a newer GPU, set {nvml.MASK} to its UUID (nvidia-smi -L).",
        )


def _stack_cuda() -> int:
    # cuDF for CUDA n depends on cuda-bindings n, from wheels and from conda alike; the name of cuDF's own
    # distribution differs between them.
    from importlib import metadata

    try:
        return int(metadata.version("cuda-bindings").split(".")[0])
    except metadata.PackageNotFoundError:
        return _NEWEST


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
