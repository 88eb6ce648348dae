"""What a running Spark offers: slots, cores a task, GPUs a rank, and workers that can run Penstock at all."""

from __future__ import annotations

import importlib
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from pyspark import RDD, SparkContext
from pyspark.resource import ResourceProfile, ResourceProfileBuilder, TaskResourceRequests

from penstock import devices
from penstock.core.errors import ConfigError, ExecutionError, StageTimeoutError
from penstock.engines.spark.jobs import Job
from penstock.engines.spark.session import is_local
from penstock.engines.spark.tasks import chosen, opened

_PACKAGES = ("penstock", "narwhals", "polars", "pyarrow")
_NO_WORKERS = 300.0
_SURVEYED = 64

_building = threading.Lock()


class Cluster:
    """The executors behind a Spark context.

    Parameters
    ----------
    context : SparkContext

    Attributes
    ----------
    local : bool
        Whether all of them are on this machine.
    is_elastic : bool
        Whether Spark asks for executors as tasks wait, and gives them back (``spark.dynamicAllocation.enabled``).
    task_cpus : int
        Cores of a task.
    """

    def __init__(self, context: SparkContext) -> None:
        self.context = context
        self._conf = context.getConf()
        self.local = is_local(context.master)
        self.is_elastic = (
            self._conf.get("spark.dynamicAllocation.enabled", "false") == "true" and not self._in_one_process()
        )
        self.task_cpus = int(self._conf.get("spark.task.cpus", "1") or 1)
        self._gpus_seen = 0

    @property
    def host(self) -> str:
        """The address of the driver that workers can reach."""
        return "127.0.0.1" if self.local else str(self._conf.get("spark.driver.host"))

    @property
    def slots(self) -> int:
        """How many tasks run at the same time on the executors that are there."""
        scala = self.context._jsc.sc()
        return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))

    @cached_property
    def task_memory(self) -> int:
        """Bytes of memory for each of the Python tasks that run at the same time."""
        machines = dict(self.everywhere(lambda _: [(socket.gethostname(), devices.memory_limit())], "ask for memory"))
        shares = [min(machines.values()) // max(1, self.slots // len(machines))]
        allowed = self.context._jsc.sc().conf().getSizeAsMb("spark.executor.pyspark.memory", "0") * 2**20
        if allowed:
            shares.append(allowed // max(1, self.slots // self._executors()))
        return int(min(shares))

    @property
    def gpus(self) -> int:
        """How many GPUs Spark has given each executor; 0 where it schedules none."""
        return int(self._conf.get("spark.executor.resource.gpu.amount", "0") or 0)

    def ranks(self, kind: str) -> int:
        """Return how many ranks of a gang can run at the same time: on GPUs no more than there are, as NCCL demands."""
        if kind == "cpu":
            return self.slots
        return self._executors() * self.gpus if self.gpus else min(self.slots, self._gpus_seen)

    def ranks_by_default(self, kind: str) -> int:
        """Return how many ranks a gang has unless told: one where a ``local[n]`` master makes all share its cores."""
        return 1 if kind == "cpu" and self._in_one_process() else max(1, self.ranks(kind))

    def rank_cpus(self, kind: str, size: int) -> int:
        """Return how many cores each of `size` ranks has: those of a task, or its share of the machine or executor."""
        if kind == "cpu" and self._in_one_process():
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

    def await_executors(self) -> None:
        """Wait until the executors that were asked for are there, as long as Spark's own scheduler would."""
        setting = "spark.scheduler.maxRegisteredResourcesWaitingTime"
        seconds = self.context._jsc.sc().conf().getTimeAsSeconds(setting, "30s")
        deadline = time.monotonic() + seconds
        while self._executors() < self._asked_for() and time.monotonic() < deadline:
            time.sleep(0.1)

    def check_workers(self) -> None:
        """Run a small task in every slot that imports what Penstock is made of.

        Raises
        ------
        StageTimeoutError
            No worker took the task.
        ConfigError
            Workers cannot start this version of Python or import Penstock, or have other versions than this process.
        """
        mine = _versions(_PACKAGES)
        try:
            found = self.everywhere(_survey(_PACKAGES), "check workers")
        except StageTimeoutError:
            raise
        except ExecutionError as error:
            raise ConfigError(
                f"workers cannot run Python tasks: {error.message}",
                hint="PYSPARK_PYTHON must name a Python of the driver's version that every worker has.",
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
        found = [opened(data) for data in self.everywhere(lambda _: [chosen(choice)], "choose device")]
        self._gpus_seen = len({device.uuid for device in found if device.kind == "gpu"})
        device: devices.Device = next((device for device in found if device.kind == "cpu"), found[0])
        return device

    def everywhere(self, function: Callable[[Iterator[Any]], Iterator[Any] | list[Any]], label: str) -> list[Any]:
        """Return what `function` gives in about as many tasks as there are slots."""
        tasks = min(_SURVEYED, max(1, self.slots))
        with self.environment(self.task_cpus):
            rdd = built(self.context.parallelize(range(tasks), tasks).mapPartitions(function))
        with Job(self.context, rdd, label) as job:
            if not job.wait(_NO_WORKERS):
                raise StageTimeoutError(
                    f"no worker of {self.context.master} took a task within {_NO_WORKERS:g} s",
                    hint="Look whether the cluster has free executors for this application.",
                )
            return job.rows()

    @contextmanager
    def environment(self, threads: int) -> Iterator[None]:
        """Hold the libraries in the Python workers of RDDs that are built inside to this many threads.

        On this machine they also get the import path of this process. Jobs of others on the same session keep theirs:
        Spark starts other Python workers for another environment.
        """
        variables = devices.thread_environment(threads)
        if self.local:
            variables["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        with _building:
            before = dict(self.context.environment)
            self.context.environment.update(variables)
            try:
                yield
            finally:
                self.context.environment.clear()
                self.context.environment.update(before)

    def _executors(self) -> int:
        known = len(self.context._jsc.sc().statusTracker().getExecutorInfos())
        return max(1, known - 1) if self._in_one_process() else known - 1

    def _in_one_process(self) -> bool:
        return self.local and not self.context.master.startswith("local-cluster")

    def _asked_for(self) -> int:
        if self.is_elastic:  # Spark asks for them when there is work
            return 0
        size = re.match(r"local-cluster\[\s*(\d+)", self.context.master)
        return int(size[1]) if size else int(self._conf.get("spark.executor.instances", "1") or 1)


def built(rdd: RDD[Any]) -> RDD[Any]:
    """Return the RDD, its function pickled together with the environment of this moment."""
    rdd.id()
    return rdd


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


def _versions(names: tuple[str, ...]) -> dict[str, str]:
    ((_, versions),) = _survey(names)(iter(()))
    return versions


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
