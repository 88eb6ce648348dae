"""What the doctor finds, on machines that are made up."""

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import devices
from penstock.cli import doctor
from penstock.cli.commands import main
from penstock.core.extras import how_to_install
from penstock.errors import ConfigError


def _no_driver() -> Any:
    raise ConfigError("the NVIDIA driver is not installed", hint="Install the driver.")


class _Driver:
    """Answers as NVML does on a machine with one GPU, an H100."""

    def __init__(self) -> None:
        self.nvmlErrorString = lambda code: b"an error"
        self.nvmlErrorString.restype = None  # type: ignore[attr-defined]

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlShutdown(self) -> int:
        return 0

    def nvmlSystemGetCudaDriverVersion_v2(self, version: Any) -> int:
        return _set(version, ctypes.c_int, 13010)

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        return _set(count, ctypes.c_uint, 1)

    def nvmlDeviceGetHandleByIndex_v2(self, number: int, handle: Any) -> int:
        return 0

    def nvmlDeviceGetName(self, handle: Any, name: Any, size: int) -> int:
        name.value = b"NVIDIA H100"
        return 0

    def nvmlDeviceGetUUID(self, handle: Any, uuid: Any, size: int) -> int:
        uuid.value = b"GPU-1"
        return 0

    def nvmlDeviceGetCudaComputeCapability(self, handle: Any, major: Any, minor: Any) -> int:
        return _set(major, ctypes.c_int, 9) or _set(minor, ctypes.c_int, 0)

    def nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:
        return 0


def _set(reference: Any, kind: type, value: int) -> int:
    ctypes.cast(reference, ctypes.POINTER(kind))[0] = value
    return 0


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, doctor.Finding]]:
    """Examine a machine without Java and driver, unless told otherwise; return its findings by name."""
    monkeypatch.setattr("penstock.engines.spark.java.find_spec", lambda name: None)

    def run(load: Callable[[], Any] = _no_driver, **environ: str) -> dict[str, doctor.Finding]:
        found = doctor.examine({"PATH": str(tmp_path), **environ}, load)
        return {finding.name: finding for finding in found.findings} | {"diagnosis": found}  # type: ignore[dict-item]

    return run


def test_a_bare_machine_runs_locally_on_its_cpu(find, monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda package: None if package in ("distributed", "pyspark") else "1.0")
    found = find()
    assert (found["diagnosis"].engines, found["diagnosis"].devices) == (["local"], ["cpu"])
    assert found["Dask"].remedy == how_to_install("dask")
    assert found["Spark"].remedy == how_to_install("spark")


def test_optional_packages_are_listed_with_what_brings_those_that_are_missing(find, monkeypatch):
    versions = {"torch": "2.12.0", "s3fs": None, "adlfs": None}
    monkeypatch.setattr(doctor, "_version", lambda package: versions.get(package, "1.0"))
    found = find()["optional"]
    assert found.detail.startswith("torch 2.12.0, scikit-learn 1.0, ")
    assert "s3fs not installed" in found.detail
    assert found.remedy == how_to_install("s3,azure")


def test_spark_without_java_does_not_run_and_the_remedy_is_a_java(find):
    found = find()
    assert not found["Java"].found
    assert "without a Java" in found["Spark"].detail
    assert found["Spark"].remedy == found["Java"].remedy
    assert "JAVA_HOME" in found["Java"].remedy
    assert "spark" not in found["diagnosis"].engines


def test_spark_with_java_runs(find, tmp_path):
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    java.chmod(0o700)
    found = find(JAVA_HOME=str(tmp_path / "jdk"))
    assert found["Java"].detail == str(tmp_path / "jdk")
    assert "spark" in found["diagnosis"].engines


def test_a_machine_without_a_driver_is_told_what_to_install(find):
    found = find()
    assert (found["GPU driver"].detail, found["GPU driver"].remedy) == (
        "the NVIDIA driver is not installed",
        "Install the driver.",
    )
    assert found["diagnosis"].devices == ["cpu"]


def test_a_gpu_without_rapids_is_seen_and_not_usable(find, monkeypatch):
    monkeypatch.setattr(devices, "gpu_stack", lambda: dict.fromkeys(("cudf", "cupy", "rmm", "xgboost"), False))
    found = find(_Driver)
    assert found["GPU driver"].detail == "CUDA 13.1: NVIDIA H100"
    assert found["RAPIDS"].remedy == how_to_install("gpu")
    assert found["GPU"].detail == "not usable without RAPIDS"
    assert "CUDA_VISIBLE_DEVICES is ''" in find(_Driver, CUDA_VISIBLE_DEVICES="")["GPU driver"].detail


def test_a_gpu_with_rapids_is_usable(find, monkeypatch):
    stack = dict.fromkeys(("cudf", "cupy", "rmm", "cuml", "dask_cuda", "xgboost"), True)
    monkeypatch.setattr(devices, "gpu_stack", lambda: stack)
    monkeypatch.setattr(devices.choice, "gpu_stack", lambda: stack)
    found = find(_Driver)
    assert found["GPU"].found
    assert "NVIDIA H100" in found["GPU"].detail
    assert found["diagnosis"].devices == ["cpu", "gpu"]


@pytest.mark.thorough
def test_it_is_printed_or_told_in_json(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "Python" in out
    assert "Runs here: local" in out
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["engines"][0] == "local"
    assert {"name", "found", "detail", "remedy"} == told["findings"][0].keys()
