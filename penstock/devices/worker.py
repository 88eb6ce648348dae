"""Taking hold of a GPU, in the worker process that will use it and in no other.

Everything here that touches CUDA makes a context. A context does not survive a fork, so none of it may run in a Spark
driver, a scheduler, or any process that forks its workers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.core.errors import ConfigError
from penstock.devices.choice import Device, choose
from penstock.devices.nvml import MASK


class _Binding(NamedTuple):
    pid: int
    device: Device


_KEPT = 8
_SPILLS = "CUDF_SPILL"
_lock = threading.Lock()
_bound: _Binding | None = None


def confirm(device: Device) -> None:
    """Raise unless the CUDA runtime offers this device; nothing to do for the CPU.

    Parameters
    ----------
    device : Device
        From `choose`.

    Raises
    ------
    ConfigError
        CUDA does not start, in its own words, or has no GPU of this number.

    Examples
    --------
    >>> confirm(Device("cpu"))
    """
    if device.index is None:
        return
    count = _cuda_count(device)
    if device.index >= count:
        raise ConfigError(
            f"device is {device}, but CUDA offers {count} GPUs, numbered from 0",
            hint=f"{MASK} is {os.environ.get(MASK)!r} in this process.",
        )


def bind(device: Device, *, release_threshold: int | None = None) -> None:
    """Make a GPU current for the calling thread, and give the process its memory pool on the first call.

    To be called before anything allocates on the GPU, and again at the start of every task: workers are reused, and
    CUDA's current device belongs to a thread. The pool is RMM's `CudaAsyncMemoryResource`, and CuPy allocates from it
    too; cuDF spills from it to the host, unless ``CUDF_SPILL`` says otherwise. A memory resource that was set before,
    by dask-cuda for one, is kept, and spilling left to whoever set it. Nothing is done for the CPU.

    Parameters
    ----------
    device : Device
        From `choose`; the same one at every call in a process.
    release_threshold : int, optional
        Bytes that the pool keeps when they are not in use; by default all it ever got. Set it where libraries that do
        not allocate through RMM, or other processes, share the GPU. Read on the first call only.

    Raises
    ------
    ConfigError
        CUDA or RMM does not start; the process is bound to another GPU; or it was forked from a process that is bound.

    Examples
    --------
    >>> bind(Device("cpu"))
    """
    global _bound
    if device.kind == "cpu":
        return
    with _lock:
        if _bound is None:
            confirm(device)
            _install(device, release_threshold)
            _bound = _Binding(os.getpid(), device)
        _require_same(_bound, device)
    _make_current(device)


def use(kind: str) -> Device:
    """Return the device of this process; for "gpu" the one it is bound to, or the first usable one, made current.

    Its pool keeps an eighth of the memory: XGBoost and PyTorch, which train after frames were worked on, have pools of
    their own. Called at the start of every task; see `bind` for what it does and raises.

    Examples
    --------
    >>> str(use("cpu"))
    'cpu'
    """
    if kind == "cpu":
        return Device("cpu")
    device = choose(kind) if _bound is None or kind != "gpu" else _bound.device
    bind(device, release_threshold=None if device.memory is None else device.memory // _KEPT)
    return device


def for_spark_task(
    resources: Mapping[str, Sequence[str]], environ: Mapping[str, str], partition_id: int, device_count: int
) -> int:
    """Return the number of the GPU that belongs to a Spark task, as `choose` counts them.

    If ``CUDA_VISIBLE_DEVICES`` is set, the cluster manager has already isolated the task's GPU and it is number 0;
    Spark itself never sets it. Otherwise it is the first address that Spark assigned. Local mode assigns none, and
    partitions take turns.

    Parameters
    ----------
    resources : mapping of str to sequence of str
        Addresses by resource name, from ``TaskContext.resources()``.
    environ : mapping
        The worker's environment.
    partition_id : int
        From ``TaskContext.partitionId()``.
    device_count : int
        Number of visible GPUs.

    Raises
    ------
    ConfigError
        The address is not a number; or there is no address and no GPU.

    Examples
    --------
    >>> for_spark_task({"gpu": ["1"]}, {}, partition_id=4, device_count=2)
    1
    >>> for_spark_task({"gpu": ["1"]}, {"CUDA_VISIBLE_DEVICES": "GPU-5d0c"}, partition_id=4, device_count=1)
    0
    """
    if environ.get(MASK):
        return 0
    addresses = resources.get("gpu", ())
    if addresses:
        return _number(addresses[0])
    if device_count < 1:
        raise ConfigError(
            "the Spark task has no GPU address, and the worker sees no GPU",
            hint="Set spark.executor.resource.gpu.amount and spark.task.resource.gpu.amount.",
        )
    return partition_id % device_count


def _number(address: str) -> int:
    if not address.isdecimal():
        raise ConfigError(
            f"Spark's GPU address is {address!r}, expected a number such as '0'",
            hint="Let the GPU discovery script print indices, as the one that Spark ships does.",
        )
    return int(address)


def _cuda_count(device: Device) -> int:
    try:
        from cuda.bindings import runtime

        error, count = runtime.cudaGetDeviceCount()
        if error != runtime.cudaError_t.cudaSuccess:
            raise RuntimeError(f"{error.name}: {runtime.cudaGetErrorString(error)[1].decode()}")
    except Exception as problem:  # a driver library that cannot be found is a RuntimeError, not an ImportError
        raise _not_ready(device, problem) from problem
    return int(count)


def _install(device: Device, release_threshold: int | None) -> None:
    try:
        import cupy
        import rmm
        from rmm.allocators.cupy import rmm_cupy_allocator

        _make_current(device)
        if type(rmm.mr.get_current_device_resource()) is rmm.mr.CudaMemoryResource:
            pool = rmm.mr.CudaAsyncMemoryResource(release_threshold=release_threshold)
            rmm.mr.set_current_device_resource(pool)
            _let_cudf_spill()
        cupy.cuda.set_allocator(rmm_cupy_allocator)
    except Exception as problem:
        raise _not_ready(device, problem) from problem


def _let_cudf_spill() -> None:
    """Have cuDF move frames to the host where the GPU is full, unless the environment says whether it does."""
    import cudf

    if _SPILLS not in os.environ:
        cudf.set_option("spill", True)


def _make_current(device: Device) -> None:
    import cupy

    cupy.cuda.Device(device.index).use()


def _require_same(bound: _Binding, device: Device) -> None:
    if bound.pid != os.getpid():
        raise ConfigError(
            f"device is {device}, but process {bound.pid} took hold of {bound.device} and then forked this one",
            hint="Start workers with 'spawn' or 'forkserver', and bind in the worker only.",
        )
    if bound.device.index != device.index:
        raise ConfigError(
            f"device is {device}, but this process is bound to {bound.device}: a process uses one GPU",
            hint="Give every executor one GPU (spark.executor.resource.gpu.amount=1).",
        )


def _not_ready(device: Device, problem: Exception) -> ConfigError:
    return ConfigError(
        f"device is {device}, but CUDA does not start: {type(problem).__name__}: {problem}",
        hint="Run nvidia-smi on this worker, and pip check for packages of the 'gpu' extra that do not fit together.",
    )
