"""Asking the workers of a Dask cluster: how many there are, what they have installed, which device each has."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import distributed

from penstock import devices
from penstock.core.errors import ConfigError, StageTimeoutError
from penstock.core.notices import get_logger
from penstock.devices import Device

_PACKAGES = ("penstock", "polars", "pyarrow", "numpy", "narwhals")
_TICK = 0.1
_ANSWER = 5.0

Answer = TypeVar("Answer")

logger = get_logger(__name__)


def expected_workers(client: distributed.Client) -> int:
    """Return how many workers the cluster object of a client keeps, those included that are being started again."""
    return len(getattr(client.cluster, "workers", ()))


def await_workers(client: distributed.Client, count: int, seconds: float) -> list[str]:
    """Return the addresses of `count` workers, in a fixed order.

    Raises
    ------
    StageTimeoutError
        There were not so many within `seconds`.
    """
    deadline = time.monotonic() + seconds
    while len(workers := sorted(client.nthreads())) < count:
        if time.monotonic() > deadline:
            raise too_few(client, count, len(workers), seconds)
        time.sleep(_TICK)
    return workers[:count]


def too_few(client: distributed.Client, wanted: int, found: int, seconds: float) -> StageTimeoutError:
    """Return the error for workers that did not come."""
    return StageTimeoutError(
        f"the Dask cluster at {client.scheduler.address} had {found} of {wanted} worker(s) after {seconds:g} s",
        hint="Start workers with: dask worker <address of the scheduler>.",
        engine="dask",
    )


def check_versions(client: distributed.Client) -> None:
    """Compare the packages whose objects travel between this process and the workers.

    Raises
    ------
    ConfigError
        Names the first worker that differs, its versions and those here.
    """
    found = client.get_versions(packages=list(_PACKAGES))
    here = _relevant(found["client"])
    for worker, versions in found["workers"].items():
        there = _relevant(versions)
        if there != here:
            pairs = [f"{name} {there[name]} (here {here[name]})" for name in here if there[name] != here[name]]
            raise ConfigError(
                f"worker {worker} has {', '.join(pairs)}",
                hint="Install the same versions on the workers and here: what is pickled here is read there.",
                engine="dask",
            )


def task_memory(client: distributed.Client) -> int:
    """Return the bytes of memory that each thread of each worker can count on."""
    limits = ask(client, devices.memory_limit)
    known = client.scheduler_info(n_workers=-1)["workers"]
    shares = [
        min(limit, known[worker]["memory_limit"] or limit) // known[worker]["nthreads"]
        for worker, limit in limits.items()
        if worker in known
    ]
    return min(shares, default=devices.memory_limit())


def ask(client: distributed.Client, function: Callable[..., Answer], *arguments: object) -> dict[str, Answer]:
    """Return what a function gives on each worker; of none, where one does not answer within seconds."""
    try:
        answers: dict[str, Answer] = client.sync(
            client.run, function, *arguments, on_error="ignore", callback_timeout=_ANSWER
        )
    except (TimeoutError, OSError, RuntimeError) as error:  # the last two of a scheduler that is gone
        logger.debug("the workers do not answer: %s", error)
        return {}
    return answers


def _relevant(versions: Mapping[str, Any]) -> dict[str, str | None]:
    packages = versions["packages"]
    python = ".".join(packages["python"].split(".")[:2])
    return {"python": python, **{name: packages.get(name) for name in _PACKAGES}}


def choose_device(client: distributed.Client, choice: str) -> Device:
    """Return the device that all workers have, each its own.

    Raises
    ------
    ConfigError
        Names the worker that cannot tell, or that has another kind of device than the others.
    """
    found = client.run(_choose, choice, on_error="return")
    for worker, answer in found.items():
        if isinstance(answer, ConfigError):
            raise type(answer)(f"worker {worker}: {answer.message}", hint=answer.hint, engine="dask")
        if isinstance(answer, Exception):
            raise ConfigError(
                f"worker {worker} cannot run Penstock: {answer!r}",
                hint="Install penstock on all workers.",
                engine="dask",
            )
    return _agreed(found, choice)


def _choose(choice: str) -> Device | ConfigError:
    try:
        return devices.choose(choice)
    except ConfigError as error:
        return error


def _agreed(found: Mapping[str, Device], choice: str) -> Device:
    worker, device = next(iter(found.items()))
    for other, unlike in found.items():
        if unlike.kind != device.kind:
            raise ConfigError(
                f"worker {worker} is on {device} ({device.reason}), but worker {other} on {unlike} ({unlike.reason})",
                hint="Use workers that are alike, or device='cpu'.",
                engine="dask",
            )
    if device.kind == "gpu" and len({gpu.uuid for gpu in found.values()}) < len(found):
        return _shared_gpu(found, choice)
    return replace(device, reason=f"{len(found)} worker(s): {device.reason}")


def _shared_gpu(found: Mapping[str, Device], choice: str) -> Device:
    gpus = {gpu.uuid for gpu in found.values()}
    problem = f"{len(found)} workers share {len(gpus)} GPU(s), and a GPU is for one worker"
    if choice == "gpu":
        raise ConfigError(
            f"device is 'gpu', but {problem}",
            hint="Start the workers with dask_cuda.LocalCUDACluster or `dask cuda worker`.",
            engine="dask",
        )
    return Device("cpu", reason=problem)
