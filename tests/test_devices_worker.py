"""Taking hold of a GPU, on machines that have none: CUDA, CuPy and RMM are modules that note what is called."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from penstock.devices import Device, bind, confirm, for_spark_task, use, worker
from penstock.errors import ConfigError


@dataclass
class FakeCuda:
    """How many GPUs CUDA offers, the status it returns, and what was called, in order."""

    devices: int = 1
    status: int = 0
    calls: list[str] = field(default_factory=list)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """Put stand-ins for cuda.bindings, cupy and rmm into sys.modules; the process starts unbound."""
    fake = FakeCuda()
    calls = fake.calls

    class Error(int):
        name = "cudaErrorInsufficientDriver"

    class CudaMemoryResource: ...

    class CudaAsyncMemoryResource:
        def __init__(self, release_threshold: int | None) -> None:
            calls.append(f"pool({release_threshold})")

    resources: list[object] = [CudaMemoryResource()]

    def set_current_device_resource(resource: object) -> None:
        resources.append(resource)
        calls.append("set pool")

    stand_ins: dict[str, dict[str, Any]] = {
        "cuda": {},
        "cuda.bindings": {},
        "cuda.bindings.runtime": {
            "cudaError_t": type("cudaError_t", (), {"cudaSuccess": 0}),
            "cudaGetDeviceCount": lambda: (Error(fake.status), None if fake.status else fake.devices),
            "cudaGetErrorString": lambda error: (0, b"CUDA driver version is insufficient"),
        },
        "cupy": {},
        "cupy.cuda": {
            "Device": lambda index: type("Device", (), {"use": lambda self: calls.append(f"use({index})")})(),
            "set_allocator": lambda allocator: calls.append(f"allocator({allocator})"),
        },
        "cudf": {"set_option": lambda name, value: calls.append(f"{name}={value}")},
        "rmm": {},
        "rmm.mr": {
            "CudaMemoryResource": CudaMemoryResource,
            "CudaAsyncMemoryResource": CudaAsyncMemoryResource,
            "get_current_device_resource": lambda: resources[-1],
            "set_current_device_resource": set_current_device_resource,
        },
        "rmm.allocators": {},
        "rmm.allocators.cupy": {"rmm_cupy_allocator": "rmm"},
    }
    for name, members in stand_ins.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    monkeypatch.setattr(worker, "_bound", None)
    monkeypatch.delenv("CUDF_SPILL", raising=False)
    return fake


def test_bind_makes_the_gpu_current_before_it_makes_the_pool_and_again_makes_no_second_pool(cuda: FakeCuda) -> None:
    bind(Device("gpu", 0))
    assert cuda.calls[:5] == ["use(0)", "pool(None)", "set pool", "spill=True", "allocator(rmm)"]
    cuda.calls.clear()
    bind(Device("gpu", 0))
    assert cuda.calls == ["use(0)"]


def test_bind_keeps_a_memory_resource_that_was_set_before(cuda: FakeCuda) -> None:
    rmm: Any = sys.modules["rmm.mr"]
    rmm.set_current_device_resource(object())
    cuda.calls.clear()
    bind(Device("gpu", 0))
    assert cuda.calls == ["use(0)", "allocator(rmm)", "use(0)"]


def test_whether_cudf_spills_is_left_to_the_environment(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDF_SPILL", "0")
    bind(Device("gpu", 0))
    assert not [call for call in cuda.calls if call.startswith("spill")]


def test_bind_to_another_gpu_is_an_error(cuda: FakeCuda) -> None:
    cuda.devices = 2
    bind(Device("gpu", 0))
    with pytest.raises(ConfigError, match="device is gpu:1, but this process is bound to gpu:0"):
        bind(Device("gpu", 1))
    assert "use(1)" not in cuda.calls


def test_bind_in_a_fork_of_a_bound_process_is_an_error(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    bind(Device("gpu", 0))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ConfigError, match="took hold of gpu:0 and then forked this one"):
        bind(Device("gpu", 0))


def test_bind_to_the_cpu_touches_nothing(cuda: FakeCuda) -> None:
    bind(Device("cpu"))
    assert cuda.calls == []


def test_bind_that_fails_leaves_the_process_unbound(cuda: FakeCuda) -> None:
    cuda.status = 35
    with pytest.raises(ConfigError):
        bind(Device("gpu", 0))
    cuda.status = 0
    bind(Device("gpu", 0))
    assert "set pool" in cuda.calls


def test_an_error_of_rmm_is_told_in_its_words(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(release_threshold: int | None) -> None:
        raise RuntimeError("cudaMallocAsync not supported with this CUDA driver/runtime version")

    monkeypatch.setattr(sys.modules["rmm.mr"], "CudaAsyncMemoryResource", refuse)
    with pytest.raises(ConfigError, match="gpu:0, but CUDA does not start: RuntimeError: cudaMallocAsync"):
        bind(Device("gpu", 0))


def test_confirm_tells_an_error_of_cuda_in_its_words_and_a_gpu_that_it_does_not_offer(cuda: FakeCuda) -> None:
    with pytest.raises(ConfigError, match="device is gpu:1, but CUDA offers 1 GPUs"):
        confirm(Device("gpu", 1))
    cuda.status = 35
    with pytest.raises(ConfigError, match="cudaErrorInsufficientDriver: CUDA driver version is insufficient"):
        confirm(Device("gpu", 0))


def test_the_gpu_in_use_is_the_one_that_the_process_is_bound_to(cuda: FakeCuda) -> None:
    cuda.devices = 2
    bind(Device("gpu", 1))
    cuda.calls.clear()
    assert str(use("gpu")) == "gpu:1"
    assert cuda.calls == ["use(1)"]


def test_the_pool_of_a_gpu_in_use_keeps_an_eighth_of_its_memory(cuda: FakeCuda, monkeypatch) -> None:
    monkeypatch.setattr(worker, "choose", lambda kind: Device(kind, 0, memory=8 * 2**30))
    use("gpu")
    assert "pool(1073741824)" in cuda.calls


def test_confirm_without_cuda_bindings_is_a_config_error(hide_modules: Callable[..., None]) -> None:
    hide_modules("cuda")
    with pytest.raises(ConfigError, match="CUDA does not start: ModuleNotFoundError"):
        confirm(Device("gpu", 0))


def test_the_gpu_of_a_spark_task() -> None:
    for resources, environ, index in (
        ({"gpu": ["3"]}, {}, 3),
        ({"gpu": ["3", "1"]}, {}, 3),
        ({"gpu": ["3"]}, {"CUDA_VISIBLE_DEVICES": "3"}, 0),
        ({"gpu": ["3"]}, {"CUDA_VISIBLE_DEVICES": ""}, 3),
        ({}, {}, 1),
        ({"fpga": ["0"]}, {}, 1),
        ({"gpu": []}, {}, 1),
    ):
        found = for_spark_task(resources, environ, partition_id=5, device_count=4)
        assert found == index, (resources, environ)


def test_a_spark_task_without_a_gpu_or_an_address_that_is_a_number_is_an_error() -> None:
    with pytest.raises(ConfigError, match="Spark's GPU address is 'GPU-aaaa1111', expected a number"):
        for_spark_task({"gpu": ["GPU-aaaa1111"]}, {}, partition_id=0, device_count=1)
    with pytest.raises(ConfigError, match=r"(?s)no GPU address.*spark\.task\.resource\.gpu\.amount"):
        for_spark_task({}, {}, partition_id=0, device_count=0)
