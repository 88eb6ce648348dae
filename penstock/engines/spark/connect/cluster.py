"""The executors behind a server of Spark Connect, which says nothing of them: their tasks are asked."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock import devices
from penstock.core.errors import ConfigError
from penstock.engines.spark.cluster import Cluster, Everywhere
from penstock.engines.spark.connect.job import FrameJob
from penstock.engines.spark.pandas_warning import no_pandas_warning

_MOST_SLOTS = 65_536
_REACHING = 10.0


class SessionSettings:
    """The settings of a session, of which a server may keep some to itself."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def get(self, key: str, default: str, /) -> str | None:
        """Return a setting; `default` where it is not set, or not for a client to know."""
        try:
            setting: str | None = self._session.conf.get(key, default)
        except PySparkException:
            return default
        return setting


class FrameCluster(Cluster):
    """The executors behind a session of Spark Connect.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
    """

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.settings = SessionSettings(session)
        super().__init__(self.settings.get("spark.master", "") or "", self.settings)

    @cached_property
    def host(self) -> str:
        """The address of this process by which it reaches the server.

        Raises
        ------
        ConfigError
            Workers cannot connect to it.
        """
        if self.local:
            return "127.0.0.1"
        address = _own_address(self.session.client.host)
        with socket.create_server((address, 0), family=_family(address)) as server:
            problems = [text for text in self.everywhere(_connects(*server.getsockname()[:2]), "reach") if text]
        if problems:
            raise ConfigError(
                f"workers of Spark cannot connect to this process at {address}, as the ranks of a training do:"
                f" {problems[0]}",
                hint="Run this process in the cluster's network. What has no ranks works from here: preprocessing,"
                " LinearRegression, NaiveBayes, scores.",
                engine="spark",
            )
        return address

    @cached_property
    def slots(self) -> int:
        return len(self._tasks)

    @cached_property
    def executors(self) -> int:
        return len({(host, executor) for host, executor, _ in self._tasks})

    @cached_property
    def task_memory(self) -> int:
        memory = {host: limit for host, _, limit in self._tasks}
        return min(memory.values()) // max(1, self.slots // len(memory))

    @cached_property
    def _tasks(self) -> list[tuple[str, int, int]]:
        """Of a task for each slot the host, a number of its executor on it, and the memory that its worker may use."""
        return self.everywhere(lambda _: [(socket.gethostname(), os.getppid(), devices.memory_limit())], "survey")

    def everywhere(self, function: Everywhere, label: str) -> list[Any]:
        """Return what `function` gives in a task for each slot: as many as Spark cuts a range into unless told."""
        with no_pandas_warning():
            frame = self.session.range(_MOST_SLOTS).mapInArrow(_once(function), "found binary")
        with FrameJob(frame, label, self.settings) as job:
            return [found for (data,) in job.rows_of("Spark") for found in cloudpickle.loads(data)]


def _once(function: Everywhere) -> Any:
    """Return a function for a partition, pickled by value so that it also runs where Penstock cannot be imported."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle

        import pyarrow

        rows = sum(batch.num_rows for batch in batches)
        found = pickle.dumps(list(function(iter(range(rows)))))
        yield pyarrow.record_batch({"found": [found]})

    return run


def _connects(host: str, port: int) -> Everywhere:
    """Return a function that tries to connect, and gives why it could not; nothing where it could."""

    def connect(_: Iterator[Any]) -> list[str]:
        try:
            socket.create_connection((host, port), timeout=_REACHING).close()
        except OSError as error:
            return [f"{socket.gethostname()}: {error}"]
        return []

    return connect


def _own_address(server: str) -> str:
    """Return the address of this machine on the way to a server; nothing is sent."""
    family, kind, _, _, address = socket.getaddrinfo(server.strip("[]"), 1, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as way:
        way.connect(address)
        return str(way.getsockname()[0])


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
