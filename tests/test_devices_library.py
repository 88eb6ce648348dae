"""Choosing a device in a fresh process, through a compiled library that the system's loader finds."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

STUB = r"""
#include <stdlib.h>
#include <string.h>
static const char *uuids[] = {"GPU-0000", "GPU-1111"};
const char *nvmlErrorString(int code) { return "Stub Not Loaded"; }
int nvmlInit_v2(void) { return getenv("STUB_FAILS") ? 9 : 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13020; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **handle) { *handle = (void *)&uuids[i]; return 0; }
int nvmlDeviceGetName(void *handle, char *name, unsigned n) { strncpy(name, "Stub", n); return 0; }
int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned n) { strncpy(uuid, *(char **)handle, n); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) { *major = 8; *minor = 6; return 0; }
int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long memory[3]) { memory[0] = 5000000000ull; return 0; }
"""
COMPILER = shutil.which("cc")


def python(code: str, **environ: str) -> str:
    """Run code in a fresh interpreter that sees this penstock; return what it prints."""
    paths = [str(Path(__file__).parents[1]), environ.pop("PYTHONPATH", "")]
    environ = {**os.environ, **environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def stub(tmp_path: Path) -> str:
    """Compile the stand-in for the driver's library; return its folder."""
    (tmp_path / "stub.c").write_text(STUB)
    command = [str(COMPILER), "-shared", "-fPIC", "-o", "libnvidia-ml.so.1", "stub.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    return str(tmp_path)


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler to make the driver's library")


@pytest.mark.thorough
@needs_compiler
def test_a_real_shared_library_is_found_and_asked(stub: str, tmp_path: Path) -> None:
    code = """
        import sys
        from penstock.devices import choose
        device = choose("gpu")
        print(device, device.uuid, device.memory, device.reason, sys.modules.keys() & {"cudf", "cupy", "rmm"})
    """
    for package in ("cudf", "cupy", "rmm"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    shown = python(code, LD_LIBRARY_PATH=stub, PYTHONPATH=str(tmp_path), CUDA_VISIBLE_DEVICES="GPU-1")
    assert shown == "gpu:0 GPU-1111 5000000000 Stub, compute capability 8.6, driver for CUDA 13.2 set()"


@needs_compiler
def test_a_real_shared_library_tells_its_error_in_its_words(stub: str) -> None:
    code = "from penstock.devices import choose; print(choose().reason)"
    shown = python(code, LD_LIBRARY_PATH=stub, STUB_FAILS="1")
    assert shown.endswith("NVML says: Stub Not Loaded (nvmlInit_v2 returned 9)")


def test_importing_devices_imports_no_dataframe_library() -> None:
    code = """
        import sys, penstock.devices
        heavy = {"cudf", "cupy", "dask", "numpy", "pandas", "polars", "pyarrow", "pyspark", "rmm"}
        print(sorted(heavy & set(sys.modules)))
    """
    assert python(code) == "[]"
