"""The GPUs of this machine, asked of the NVIDIA driver without starting CUDA.

NVML is the driver's management library; ``nvidia-smi`` is written on it. Asking it needs no Python package, makes no
CUDA context and leaves nothing open, so a process that asks may fork afterwards, as Spark's daemon does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.core.errors import ConfigError

LIBRARY = "libnvidia-ml.so.1"
MASK = "CUDA_VISIBLE_DEVICES"

_NOT_SUPPORTED = 3
_FUNCTION_NOT_FOUND = 13
_UUID_BYTES = 96
_NAME_BYTES = 96


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


@dataclass(frozen=True)
class Gpu:
    """One GPU, or one MIG slice of a GPU, as the driver describes it.

    Parameters
    ----------
    name : str
        The product's name.
    uuid : str
        ``GPU-...``, or ``MIG-...`` for a slice.
    capability : tuple of (int, int)
        CUDA compute capability, major and minor.
    memory : int or None
        Total memory in bytes; None where it is shared with the CPU and the driver gives no number.
    number : int or None
        Place in the driver's list, as in ``nvidia-smi``; None for a MIG slice.
    """

    name: str
    uuid: str
    capability: tuple[int, int]
    memory: int | None
    number: int | None


class NvmlError(Exception):
    """NVML answered a call with an error; the message is NVML's own, ``code`` its number."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Nvml:
    """An open session with NVML, to be used in a ``with`` statement.

    Parameters
    ----------
    library : ctypes.CDLL
        The loaded library, or anything that answers the same calls.

    Raises
    ------
    NvmlError
        A call failed: the driver is not loaded, or does not fit the library, or a GPU is lost.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        library.nvmlErrorString.restype = ctypes.c_char_p

    def __enter__(self) -> Nvml:
        self._call("nvmlInit_v2")
        return self

    def __exit__(self, *_: object) -> None:
        self._library.nvmlShutdown()

    def cuda_version(self) -> tuple[int, int]:
        """Return the newest CUDA version that the driver runs, major and minor."""
        version = ctypes.c_int()
        self._call("nvmlSystemGetCudaDriverVersion_v2", ctypes.byref(version))
        return version.value // 1000, version.value % 1000 // 10

    def gpus(self) -> list[Gpu]:
        """Return the GPUs that can be opened, in the driver's order; raise if there are some and none can."""
        count = ctypes.c_uint()
        found: list[Gpu] = []
        refused: NvmlError | None = None
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        for number in range(count.value):
            handle = ctypes.c_void_p()
            try:
                self._call("nvmlDeviceGetHandleByIndex_v2", number, ctypes.byref(handle))
                found.append(self._describe(handle, number))
            except NvmlError as error:
                refused = error
        if refused is not None and not found:
            raise refused
        return found

    def mig(self, uuid: str) -> Gpu | None:
        """Return the MIG slice of this full UUID, or None where there is none."""
        handle, parent = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self._call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(handle))
            self._call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle, ctypes.byref(parent))
            whole = self._describe(parent, None)
        except NvmlError:
            return None
        return Gpu(whole.name, uuid, whole.capability, self._memory(handle), None)

    def energy(self, number: int) -> float | None:
        """Return the joules that a GPU has used since the driver was loaded; None where it cannot say."""
        handle, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
        try:
            self._call("nvmlDeviceGetHandleByIndex_v2", number, ctypes.byref(handle))
            self._call("nvmlDeviceGetTotalEnergyConsumption", handle, ctypes.byref(millijoules))
        except NvmlError:
            return None
        return millijoules.value / 1000

    def _describe(self, handle: ctypes.c_void_p, number: int | None) -> Gpu:
        name, uuid = ctypes.create_string_buffer(_NAME_BYTES), ctypes.create_string_buffer(_UUID_BYTES)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvmlDeviceGetName", handle, name, _NAME_BYTES)
        self._call("nvmlDeviceGetUUID", handle, uuid, _UUID_BYTES)
        self._call("nvmlDeviceGetCudaComputeCapability", handle, ctypes.byref(major), ctypes.byref(minor))
        return Gpu(
            name=name.value.decode(errors="replace"),
            uuid=uuid.value.decode(),
            capability=(major.value, minor.value),
            memory=self._memory(handle),
            number=number,
        )

    def _memory(self, handle: ctypes.c_void_p) -> int | None:
        memory = _Memory()
        try:
            self._call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
        except NvmlError as error:
            if error.code == _NOT_SUPPORTED:
                return None
            raise
        return int(memory.total)

    def _call(self, function: str, *arguments: Any) -> None:
        call = getattr(self._library, function, None)
        code = _FUNCTION_NOT_FOUND if call is None else call(*arguments)
        if code:
            text = self._library.nvmlErrorString(code).decode(errors="replace")
            raise NvmlError(f"NVML says: {text} ({function} returned {code})", code)


def load() -> Any:
    """Load NVML; raise ConfigError where the driver's library is not installed."""
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise ConfigError(
            f"the NVIDIA driver is not installed ({error})",
            hint="Install the driver; inside a container, start it with GPU access (docker run --gpus all).",
        ) from error


def visible(nvml: Nvml, environ: Mapping[str, str]) -> list[Gpu]:
    """Return the GPUs that CUDA would offer this process, in CUDA's order.

    ``CUDA_VISIBLE_DEVICES`` is applied by NVIDIA's rules [1]_: unset is all; otherwise indices, UUIDs or their
    unambiguous beginnings, and full MIG UUIDs, in the order written, up to the first that names no GPU. One GPU named
    twice leaves none.

    Raises
    ------
    ConfigError
        The driver lists no GPU, or the variable hides them all.

    Notes
    -----
    NVML counts in PCI order. CUDA puts the fastest first unless ``CUDA_DEVICE_ORDER=PCI_BUS_ID`` is set, so on a
    machine with GPUs of several kinds set that, or name them by UUID.

    References
    ----------
    .. [1] CUDA Programming Guide, 5.2 CUDA Environment Variables.
    """
    every, mask = nvml.gpus(), environ.get(MASK)
    if not every:
        raise ConfigError("the NVIDIA driver is loaded and lists no GPU", hint="Run nvidia-smi to see what it finds.")
    if mask is None:
        return every
    chosen = _masked(every, mask, nvml.mig)
    if not chosen:
        known = ", ".join(f"{gpu.number} ({gpu.uuid})" for gpu in every)
        raise ConfigError(f"{MASK} is {mask!r} and leaves no GPU visible", hint=f"Unset it, or name some of {known}.")
    return chosen


def _masked(every: Sequence[Gpu], mask: str, mig: Callable[[str], Gpu | None]) -> list[Gpu]:
    chosen: list[Gpu] = []
    for entry in mask.split(","):
        gpu = _named(entry.strip(), every, mig)
        if gpu is None:
            break
        if gpu in chosen:
            return []
        chosen.append(gpu)
    return chosen


def _named(entry: str, every: Sequence[Gpu], mig: Callable[[str], Gpu | None]) -> Gpu | None:
    if entry.startswith("MIG-"):
        return mig(entry)
    if entry.isdecimal():
        matches = [gpu for gpu in every if gpu.number == int(entry)]
    else:
        matches = [gpu for gpu in every if entry.startswith("GPU-") and gpu.uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None
