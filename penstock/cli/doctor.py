"""What this machine can run, and what to install for the rest."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from penstock import devices
from penstock.core.errors import ConfigError
from penstock.core.extras import how_to_install
from penstock.devices import nvml

_BASE = ("narwhals", "polars", "pyarrow", "numpy")
_OPTIONAL = {
    "torch": "torch",
    "scikit-learn": "sklearn",
    "onnxruntime": "onnx",
    "optuna": "optuna",
    "s3fs": "s3",
    "gcsfs": "gcs",
    "adlfs": "azure",
    "deltalake": "delta",
    "pyiceberg": "iceberg",
    "grpcio": "connect",
    "fastapi": "serve",
    "mlflow-skinny": "mlflow",
}
"""Packages that are needed for some of what there is, with the extras that bring them."""


@dataclass(frozen=True)
class Finding:
    """One thing looked for.

    Attributes
    ----------
    name : str
    found : bool
        Whether it can be used.
    detail : str
        Version or place; or what is wrong.
    remedy : str or None
        What to do about it.
    """

    name: str
    found: bool
    detail: str
    remedy: str | None = None


@dataclass(frozen=True)
class Diagnosis:
    """The engines and devices of this machine that work, and the findings behind that."""

    engines: list[str]
    devices: list[str]
    findings: list[Finding]


def examine(environ: Mapping[str, str] | None = None, load: Callable[[], Any] = nvml.load) -> Diagnosis:
    """Look at the machine and what is installed; no engine and no CUDA context is started.

    Parameters
    ----------
    environ : mapping, optional
        Where ``JAVA_HOME``, ``PATH`` and ``CUDA_VISIBLE_DEVICES`` are looked up; the process's by default.
    load : callable
        Returns the NVML library.

    Examples
    --------
    >>> diagnosis = examine()
    >>> [finding.name for finding in diagnosis.findings]
    ['Python', 'machine', 'frames', 'XGBoost', 'optional', 'Dask', 'Java', 'Spark', 'GPU driver', 'RAPIDS', 'GPU']
    >>> diagnosis.engines[0], diagnosis.devices[0]
    ('local', 'cpu')
    """
    environ = os.environ if environ is None else environ
    java, driver, rapids = _java(environ), _driver(environ, load), _rapids()
    dask, spark, gpu = _package("Dask", "distributed", "dask"), _spark(java), _gpu(driver, rapids, environ, load)
    findings = [*_basis(), _xgboost(), _optional(), dask, java, spark, driver, rapids, gpu]
    engines = ["local", *(finding.name.lower() for finding in (dask, spark) if finding.found)]
    return Diagnosis(engines, ["cpu", "gpu"] if gpu.found else ["cpu"], findings)


def _basis() -> list[Finding]:
    return [
        Finding("Python", True, f"{platform.python_version()}, penstock {_version('penstock') or 'not installed'}"),
        Finding("machine", True, _machine()),
        Finding("frames", True, ", ".join(f"{name} {_version(name)}" for name in _BASE)),
    ]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{platform.system()} {platform.machine()}, {devices.usable_cores()} core(s), {memory:.0f} GiB"


def _package(name: str, package: str, extra: str) -> Finding:
    version = _version(package)
    if version is None:
        return Finding(name, False, f"{package} is not installed", how_to_install(extra))
    return Finding(name, True, f"{package} {version}")


def _xgboost() -> Finding:
    try:
        import xgboost
    except Exception as error:  # a missing shared library has an error of XGBoost's own
        return Finding(
            "XGBoost", False, f"cannot be imported: {error}", f"{how_to_install('cpu')}, or {how_to_install('gpu')}"
        )
    build = "with CUDA" if xgboost.build_info().get("USE_CUDA") else "CPU only"
    return Finding("XGBoost", True, f"{xgboost.__version__}, {build}")


def _optional() -> Finding:
    versions = {package: _version(package) for package in _OPTIONAL}
    told = ", ".join(f"{package} {version or 'not installed'}" for package, version in versions.items())
    missing = [_OPTIONAL[package] for package, version in versions.items() if version is None]
    return Finding("optional", not missing, told, how_to_install(",".join(missing)) if missing else None)


def _java(environ: Mapping[str, str]) -> Finding:
    from penstock.engines.spark.java import find_java

    try:
        return Finding("Java", True, str(find_java(environ)))
    except ConfigError as error:
        return Finding("Java", False, error.message, error.hint)


def _spark(java: Finding) -> Finding:
    spark = _package("Spark", "pyspark", "spark")
    if spark.found and not java.found:
        return Finding("Spark", False, f"{spark.detail}, without a Java to run on", java.remedy)
    return spark


def _driver(environ: Mapping[str, str], load: Callable[[], Any]) -> Finding:
    try:
        with nvml.Nvml(load()) as driver:
            gpus, cuda = nvml.visible(driver, environ), driver.cuda_version()
    except ConfigError as error:
        return Finding("GPU driver", False, error.message, error.hint)
    except nvml.NvmlError as error:
        return Finding("GPU driver", False, str(error), "Run nvidia-smi: it fails the same way.")
    return Finding("GPU driver", True, f"CUDA {cuda[0]}.{cuda[1]}: {', '.join(gpu.name for gpu in gpus)}")


def _rapids() -> Finding:
    stack = {name: there for name, there in devices.gpu_stack().items() if name != "xgboost"}
    missing = [name for name in ("cudf", "cupy", "rmm") if not stack[name]]
    if missing:
        return Finding("RAPIDS", False, f"not installed: {', '.join(missing)}", how_to_install("gpu"))
    there = ", ".join(name for name, found in stack.items() if found)
    absent = ", ".join(name for name, found in stack.items() if not found)
    release = _version("cudf-cu13") or _version("cudf-cu12") or "of no known release"
    return Finding("RAPIDS", True, f"{release}: {there}{f'; not installed: {absent}' if absent else ''}")


def _gpu(driver: Finding, rapids: Finding, environ: Mapping[str, str], load: Callable[[], Any]) -> Finding:
    lacking = [finding.name for finding in (driver, rapids) if not finding.found]
    if lacking:
        return Finding("GPU", False, f"not usable without {' and '.join(lacking)}")
    try:
        device = devices.choose("gpu", environ=environ, load=load)
    except ConfigError as error:
        return Finding("GPU", False, error.message, error.hint)
    return Finding("GPU", True, f"{device}: {device.reason}")
