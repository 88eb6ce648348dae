"""What a running Spark offers: slots, cores a task, GPUs a rank, and workers that can run Penstock at all."""

from __future__ import annotations

import importlib
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pyspark.resource import ResourceProfile, ResourceProfileBuilder, TaskResourceRequests

from penstock import devices
from penstock.core.errors import ConfigError, ExecutionError, StageTimeoutError
from penstock.engines.spark.job_errors import SettingLookup
from penstock.engines.spark.python_workers import import_path
from penstock.engines.spark.session import is_local
from penstock.engines.spark.tasks import choose_in_task, open_outcome

_PACKAGES = ("penstock", "narwhals", "polars", "pyarrow")

Everywhere = Callable[[Iterator[Any]], Iterator[Any] | list[Any]]
"""What is done in about as many tasks as there are slots: it takes numbers that mean nothing."""


class Cluster(ABC):
    """The executors behind a Spark session.

    Parameters
    ----------
    master : str
        Spark's name for it; empty where the session does not say.
    settings : SettingLookup
        Those of the application.

    Attributes
    ----------
    local : bool
        Whether all of them are on this machine.
    is_elastic : bool
        Whether Spark asks for executors as tasks wait, and gives them back (``spark.dynamicAllocation.enabled``).
    task_cpus : int
        Cores of a task.
    """

    def __init__(self, master: str, settings: SettingLookup) -> None:
        self.master = master
        self._settings = settings
        self.local = is_local(master)
        elastic = settings.get("spark.dynamicAllocation.enabled", "false") == "true"
        self.is_elastic = elastic and not self.in_one_process
        self.task_cpus = int(settings.get("spark.task.cpus", "1") or 1)
        self._gpus_seen = 0

    @property
    @abstractmethod
    def host(self) -> str:
        """The address of this process that workers can reach."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many tasks run at the same time on the executors that are there."""

    @property
    @abstractmethod
    def executors(self) -> int:
        """How many executors there are."""

    @property
    @abstractmethod
    def task_memory(self) -> int:
        """Bytes of memory for each of the Python tasks that run at the same time."""

    @abstractmethod
    def everywhere(self, function: Everywhere, label: str) -> list[Any]:
        """Return what `function` gives in about as many tasks as there are slots."""

    def variables(self, threads: int) -> dict[str, str]:
        """Return the variables of a Python worker: its threads, and on this machine the import path of this process."""
        path = {"PYTHONPATH": import_path()} if self.local else {}
        # Spark has workers of their own for each set of variables, and gives this one to workers of queries alone:
        # with it those of tasks are the same processes, which import the library once.
        short = self._settings.get("spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled", "true")
        like_queries = {"SPARK_SIMPLIFIED_TRACEBACK": "1"} if short == "true" else {}
        return devices.thread_environment(threads) | path | like_queries

    def environment(self, threads: int) -> AbstractContextManager[None]:
        """Give the Python workers of RDDs and frames that are built inside their `variables`."""
        return nullcontext()

    def await_executors(self) -> None:  # noqa: B027
        """Wait until the executors that were asked for are there, as long as Spark's own scheduler would."""

    @property
    def in_one_process(self) -> bool:
        """Whether driver and executor are one process, whose tasks share the machine."""
        return self.local and not self.master.startswith("local-cluster")

    @property
    def gpus(self) -> int:
        """How many GPUs Spark has given each executor; 0 where it schedules none."""
        return int(self._settings.get("spark.executor.resource.gpu.amount", "0") or 0)

    def ranks(self, kind: str) -> int:
        """Return how many ranks of a gang can run at the same time: on GPUs no more than there are, as NCCL demands."""
        if kind == "cpu":
            return self.slots
        return self.executors * self.gpus if self.gpus else min(self.slots, self._gpus_seen)

    def ranks_by_default(self, kind: str) -> int:
        """Return how many ranks a gang has unless told: one where a ``local[n]`` master makes all share its cores."""
        return 1 if kind == "cpu" and self.in_one_process else max(1, self.ranks(kind))

    def rank_cpus(self, kind: str, size: int) -> int:
        """Return how many cores each of `size` ranks has: those of a task, or its share of the machine or executor."""
        if kind == "cpu" and self.in_one_process:
            return max(self.task_cpus, self.slots * self.task_cpus // size)
        if kind != "gpu" or not self.gpus:
            return self.task_cpus
        return max(1, self.slots * self.task_cpus // max(1, self.ranks(kind)))

    def rank_profile(self, kind: str) -> ResourceProfile | None:
        """Return the resources that keep two ranks off one GPU, where Spark schedules GPUs."""
        if kind != "gpu" or not self.gpus:
            return None
        requests = TaskResourceRequests().cpus(self.rank_cpus(kind, self.ranks(kind))).resource("gpu", 1)
        return ResourceProfileBuilder().require(requests).build

    def check_workers(self) -> None:
        """Run a small task in every slot that imports what Penstock is made of.

        Raises
        ------
        StageTimeoutError
            No worker took the task.
        ConfigError
            Workers cannot start this version of Python or import Penstock, or have other versions than this process.
        """
        survey = _survey(_PACKAGES)
        ((_, mine),) = survey(iter(()))
        try:
            found = self.everywhere(survey, "check workers")
        except StageTimeoutError:
            raise
        except ExecutionError as error:
            raise ConfigError(
                f"workers cannot run Python tasks: {error.message}",
                hint="PYSPARK_PYTHON must name a Python of the driver's version that every worker has; on Spark Connect"
                " spark.sql.execution.pyspark.python does (docs/spark.md).",
                engine="spark",
            ) from error
        for host, theirs in found:
            require_same(mine, theirs, host)

    def choose(self, choice: str) -> devices.Device:
        """Return the device of the workers; for "auto" the CPU, with the reason, if one of them has no usable GPU.

        Raises
        ------
        ConfigError
            `choice` is none that there is; or it is "gpu", and a worker has none usable.
        """
        if choice not in ("auto", "gpu"):
            return devices.choose(choice)
        found = [open_outcome(data) for data in self.everywhere(lambda _: [choose_in_task(choice)], "choose device")]
        self._gpus_seen = len({device.uuid for device in found if device.kind == "gpu"})
        return next((device for device in found if device.kind == "cpu"), found[0])


def require_same(mine: Mapping[str, str], theirs: Mapping[str, str], host: str) -> None:
    """Raise ConfigError for the first package whose version on a worker is another than here.

    Examples
    --------
    >>> require_same({"polars": "2.1.0"}, {"polars": "2.1.0"}, "worker-1")
    """
    for name, version in mine.items():
        if theirs[name] != version:
            raise ConfigError(
                f"{name} is {version} here, but on worker {host}: {theirs[name]}",
                hint="PYSPARK_PYTHON names the Python of the workers. Ship one environment to all: conda-pack or"
                " venv-pack with --archives (jobs/README.md), or one image.",
                engine="spark",
            )


def _survey(names: tuple[str, ...]) -> Callable[[Iterator[Any]], Iterator[tuple[str, dict[str, str]]]]:
    """Return a function that is pickled by value, so that it also runs where Penstock cannot be imported."""

    def version(name: str) -> str:
        try:
            return str(importlib.import_module(name).__version__)
        except Exception as error:
            return f"it cannot be imported ({type(error).__name__}: {error})"

    def survey(_: Iterator[Any]) -> Iterator[tuple[str, dict[str, str]]]:
        yield socket.gethostname(), {name: version(name) for name in names}

    return survey
