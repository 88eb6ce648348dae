"""Choosing a device, on machines that have no GPU: the driver's library is stood in for."""

from __future__ import annotations

import ctypes
import logging
import pickle
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.core.extras import how_to_install
from penstock.devices import Device, choose, for_spark_task, gpu_stack
from penstock.errors import ConfigError, MissingExtraError

GIB = 2**30
ERRORS = {
    3: b"Not Supported",
    4: b"Insufficient Permissions",
    6: b"Not Found",
    9: b"Driver Not Loaded",
    13: b"Function Not Found",
    15: b"GPU is lost",
    18: b"Driver/library version mismatch",
}


@dataclass
class Card:
    """What the fake NVML answers for one GPU or MIG slice; `error` is what opening it returns."""

    uuid: str
    capability: tuple[int, int] = (9, 0)
    memory: int | None = 80 * GIB
    error: int = 0
    parent: Card | None = None


class FakeNvml:
    """Answers NVML's calls as the C library does: results through pointers, status as the value."""

    def __init__(self, *cards: Card, mig: tuple[Card, ...] = (), cuda: int = 13000, init: int = 0) -> None:
        self.cards, self.mig, self.cuda, self.init = cards, mig, cuda, init
        self.opened = 0
        self.nvmlErrorString = lambda code: ERRORS[code]

    def nvmlInit_v2(self) -> int:
        self.opened += not self.init
        return self.init

    def nvmlShutdown(self) -> int:
        self.opened -= 1
        return 0

    def nvmlSystemGetCudaDriverVersion_v2(self, version: Any) -> int:
        version._obj.value = self.cuda
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = len(self.cards)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, number: int, handle: Any) -> int:
        handle._obj.value = number + 1
        return self.cards[number].error

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, handle: Any) -> int:
        known = [card.uuid for card in self._all]
        if uuid.decode() not in known:
            return 6
        handle._obj.value = known.index(uuid.decode()) + 1
        return 0

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: Any, parent: Any) -> int:
        whole = self._card(handle).parent
        assert whole is not None
        parent._obj.value = self._all.index(whole) + 1
        return 0

    def nvmlDeviceGetName(self, handle: Any, name: Any, length: int) -> int:
        name.value = b"NVIDIA Fake"
        return 0

    def nvmlDeviceGetUUID(self, handle: Any, uuid: Any, length: int) -> int:
        uuid.value = self._card(handle).uuid.encode()
        return 0

    def nvmlDeviceGetCudaComputeCapability(self, handle: Any, major: Any, minor: Any) -> int:
        major._obj.value, minor._obj.value = self._card(handle).capability
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:
        total = self._card(handle).memory
        memory._obj.total = total or 0
        return 3 if total is None else 0

    @property
    def _all(self) -> list[Card]:
        return [*self.cards, *self.mig]

    def _card(self, handle: ctypes.c_void_p) -> Card:
        assert handle.value is not None
        return self._all[handle.value - 1]


A, B, C = Card("GPU-aaaa1111"), Card("GPU-bbbb2222", memory=16 * GIB), Card("GPU-bbbb3333")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that makes empty packages importable, and a distribution of cuda-bindings known."""

    def make(*packages: str, cuda_bindings: str | None = "13.0.1") -> Path:
        site = tmp_path / "site"
        for package in packages:
            (site / package).mkdir(parents=True)
            (site / package / "__init__.py").touch()
        if cuda_bindings is not None:
            info = site / f"cuda_bindings-{cuda_bindings}.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cuda-bindings\nVersion: {cuda_bindings}\n")
        monkeypatch.syspath_prepend(str(site))
        return site

    return make


@pytest.fixture
def rapids(install: Callable[..., Path]) -> Path:
    """Make an empty cudf, cupy and rmm importable."""
    return install("cudf", "cupy", "rmm")


def on(driver: FakeNvml, choice: str = "gpu", *, mask: str | None = None, **options: Any) -> Device:
    environ = {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
    return choose(choice, environ=environ, load=lambda: driver, **options)


# choosing


@pytest.mark.parametrize("choice", ["auto", "gpu"])
def test_takes_the_first_gpu_when_one_is_usable_and_says_what_it_is(choice, rapids):
    device = on(FakeNvml(A, B, cuda=13010), choice)
    assert (str(device), device.uuid, device.memory) == ("gpu:0", "GPU-aaaa1111", 80 * GIB)
    assert device.reason == "NVIDIA Fake, compute capability 9.0, driver for CUDA 13.1"


def test_cpu_never_asks_the_driver():
    def fail() -> Any:
        raise AssertionError("the driver was asked")

    assert choose("cpu", load=fail) == Device("cpu", reason="device is 'cpu'")


def test_the_session_with_the_driver_is_closed_even_after_an_error():
    driver = FakeNvml()
    on(driver, "auto")
    assert driver.opened == 0


def test_memory_that_the_driver_does_not_tell_is_none(rapids):
    assert on(FakeNvml(Card("GPU-soc", memory=None))).memory is None


def test_a_gpu_that_cannot_be_opened_is_left_out(rapids):
    assert on(FakeNvml(Card("GPU-lost", error=15), B)).uuid == "GPU-bbbb2222"


def test_a_device_survives_pickling():
    device = Device("gpu", 1, reason="an example", uuid="GPU-aaaa1111", memory=GIB)
    assert pickle.loads(pickle.dumps(device)) == device


def test_an_unknown_choice_names_the_known_ones():
    for choice, suggestion in (("GPU", r"Did you mean 'gpu'\?"), ("cuda", "'gpu' is any")):
        told = f"(?s)device is '{choice}', expected one of auto, cpu, gpu.*{suggestion}"
        with pytest.raises(ConfigError, match=told):
            choose(choice)


def test_choose_lets_spark_say_which_gpu(rapids):
    device = on(FakeNvml(A, B), index=partial(for_spark_task, {}, {}, 3))
    assert str(device) == "gpu:1"


# no GPU is usable: "gpu" is an error, "auto" takes the CPU and keeps the same words


def no_library() -> Any:
    raise ConfigError("the NVIDIA driver is not installed (libnvidia-ml.so.1: cannot open)")


UNUSABLE: dict[str, tuple[Callable[[], Any], str | None, str]] = {
    "library missing": (no_library, None, "the NVIDIA driver is not installed (libnvidia-ml.so.1: cannot open)"),
    "driver not loaded": (
        lambda: FakeNvml(A, init=9),
        None,
        "the NVIDIA driver does not answer. NVML says: Driver Not Loaded (nvmlInit_v2 returned 9)",
    ),
    "driver does not fit its library": (
        lambda: FakeNvml(A, init=18),
        None,
        "the NVIDIA driver does not answer. NVML says: Driver/library version mismatch (nvmlInit_v2 returned 18)",
    ),
    "every GPU refused": (
        lambda: FakeNvml(Card("GPU-x", error=4)),
        None,
        "the NVIDIA driver does not answer. NVML says: Insufficient Permissions "
        "(nvmlDeviceGetHandleByIndex_v2 returned 4)",
    ),
    "no GPU": (FakeNvml, None, "the NVIDIA driver is loaded and lists no GPU"),
    "masked": (lambda: FakeNvml(A), "", "CUDA_VISIBLE_DEVICES is '' and leaves no GPU visible"),
    "driver for an older CUDA": (
        lambda: FakeNvml(A, cuda=12090),
        None,
        "the NVIDIA driver offers CUDA 12.9, the installed cuDF needs 13.0 or newer",
    ),
    "an old GPU": (
        lambda: FakeNvml(Card("GPU-v100", capability=(7, 0))),
        None,
        "GPU 0 (NVIDIA Fake) has compute capability 7.0, the installed cuDF needs 7.5 or newer",
    ),
}


def test_where_no_gpu_is_usable_gpu_is_an_error_and_auto_takes_the_cpu_with_the_same_reason(rapids, subtests):
    for name, (load, mask, reason) in UNUSABLE.items():
        environ = {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
        with subtests.test(name):
            with pytest.raises(ConfigError) as caught:
                choose("gpu", environ=environ, load=load)
            assert caught.value.message == f"device is 'gpu', but {reason}"
            assert choose("auto", environ=environ, load=load) == Device("cpu", reason=reason)


def test_auto_logs_what_it_took_and_why(caplog):
    with caplog.at_level(logging.INFO, logger="penstock.devices"):
        on(FakeNvml(), "auto")
    assert caplog.messages == ["device is 'auto', using cpu: the NVIDIA driver is loaded and lists no GPU"]


def test_a_missing_driver_library_is_named(monkeypatch):
    monkeypatch.setattr("penstock.devices.nvml.LIBRARY", "libnvidia-ml-that-is-not-there.so.1")
    with pytest.raises(ConfigError, match=r"(?s)not installed \(libnvidia-ml-that.*Hint: Install the driver"):
        choose("gpu")


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr("penstock.devices.choice.find_spec", {"cudf": object()}.get)
    with pytest.raises(MissingExtraError, match=rf"(?s)not installed: cupy, rmm.*{re.escape(how_to_install('gpu'))}"):
        on(FakeNvml(A))


def test_packages_for_cuda_12_need_a_driver_and_a_gpu_of_their_time(install):
    install("cudf", "cupy", "rmm", cuda_bindings="12.9.4")
    assert str(on(FakeNvml(Card("GPU-v100", capability=(7, 0)), cuda=12020))) == "gpu:0"
    with pytest.raises(ConfigError, match=r"(?s)offers CUDA 11.8, the installed cuDF needs 12.2.*driver to 535"):
        on(FakeNvml(A, cuda=11080))


def test_gpu_stack_sees_packages_without_importing_them(rapids):
    before = set(sys.modules)
    stack = gpu_stack()
    assert all(stack[name] for name in ("cudf", "cupy", "rmm"))
    assert not {"cudf", "cupy", "rmm"} & (set(sys.modules) - before)


# CUDA_VISIBLE_DEVICES: the expectations are the examples and rules of the CUDA Programming Guide, 5.2.1.1


def test_the_mask_gives_the_visible_gpus_in_its_order(rapids, subtests):
    uuids = [card.uuid for card in (A, B, C)]
    for mask, visible in (
        (None, "012"),
        ("2,1", "21"),
        ("0,2,-1,1", "02"),
        ("1,7,0", "1"),
        (" 1 , 0", "10"),
        ("0,", "0"),
        ("GPU-bbbb2222,GPU-aaaa1111", "10"),
        ("GPU-a", "0"),
        ("GPU-aaaa1111,GPU-bbbb,GPU-bbbb3333", "0"),
        ("GPU-aaaa1111,GPU-cccc,GPU-bbbb3333", "0"),
    ):
        with subtests.test(mask=mask):
            seen = [on(FakeNvml(A, B, C), mask=mask, index=place) for place in range(len(visible))]
            assert [device.index for device in seen] == list(range(len(visible)))
            assert [device.uuid for device in seen] == [uuids[int(number)] for number in visible]
            told = f"GPU {len(visible)} was asked for and {len(visible)} are visible"
            with pytest.raises(ConfigError, match=told):
                on(FakeNvml(A, B, C), mask=mask, index=len(visible))


def test_the_mask_can_leave_no_gpu():
    for mask in ("", "-1", "NoDevFiles", "aaaa1111", "GPU-bbbb", "0,0", "GPU-aaaa1111,0", "MIG-none"):
        reason = on(FakeNvml(A, B, C), "auto", mask=mask).reason
        assert reason == f"CUDA_VISIBLE_DEVICES is {mask!r} and leaves no GPU visible"


def test_a_mig_slice_has_its_own_memory_and_its_gpus_capability(rapids):
    whole = Card("GPU-h100", capability=(9, 0))
    part = Card("MIG-1g", capability=(0, 0), memory=10 * GIB, parent=whole)
    device = on(FakeNvml(whole, mig=(part,)), mask="MIG-1g")
    assert (device.uuid, device.memory) == ("MIG-1g", 10 * GIB)
    assert "compute capability 9.0" in device.reason


def test_a_driver_from_before_mig_sees_no_slice(monkeypatch):
    monkeypatch.delattr(FakeNvml, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle")
    driver = FakeNvml(A, mig=(Card("MIG-1g", parent=A),))
    assert "'MIG-1g' and leaves no GPU" in on(driver, "auto", mask="MIG-1g").reason
