"""The Spark session of an engine: settings, Java, loopback, and nothing left behind in the environment."""

from __future__ import annotations

import os
import re
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from penstock.core.environment import restoring_environment
from penstock.core.errors import ConfigError, PenstockError
from penstock.core.extras import importing
from penstock.engines.spark.java import find_java
from penstock.engines.spark.job_errors import cause
from penstock.engines.spark.pandas_warning import no_pandas_warning

_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.app.name": "penstock",
    "spark.python.worker.reuse": "true",
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.barrier.sync.timeout": "300",
    # As the Dask engine has it; Spark leaves out barrier stages, and runs no task twice on one machine.
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "2",
    "spark.speculation.minTaskRuntime": "2s",
    # Fragments of tables in memory travel inside their tasks; Spark's own limit is half of one.
    "spark.rpc.message.maxSize": "1024",
}
_LOCAL_DEFAULTS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "8",
}
"""Only on this machine: a cluster has its own settings, a page that its manager links to, and joins of any size."""
_LOCAL_FAILURES = 4
_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""The variable that PySpark sets once there is a session of Spark Connect; it stays."""
_SUBMITTED_TO_CONNECT = "PYSPARK_REMOTE_INIT_CONF_LEN"
"""The variable that ``spark-submit --remote`` sets for the driver."""


def given(session: SparkSession | None, conf: Mapping[str, Any] | None) -> SparkSession | None:
    """Return the session to use without owning it: the one passed, or the one that already runs in this process.

    Raises
    ------
    ConfigError
        Settings are passed for a session that already runs.
    """
    running = session or _running()
    if running is not None and conf:
        raise ConfigError(
            f"conf is given ({', '.join(conf)}), but a Spark session already runs in this process",
            hint="Stop that session first, or set these when it is made and leave conf out.",
        )
    return running


def is_connect(session: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect, which has no JVM in this process."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def _running() -> SparkSession | None:
    if _CONNECT_MODE in os.environ:
        with suppress(PySparkRuntimeError):  # none is active
            return SparkSession.active()
    if SparkContext._active_spark_context is not None:
        return SparkSession(SparkContext.getOrCreate())
    return None


def start(conf: Mapping[str, Any] | None) -> SparkSession:
    """Start a session from Spark's own settings by name; those of spark-submit hold where `conf` says nothing.

    Raises
    ------
    ConfigError
        A name does not start with ``spark.``; there is no Java; or Spark does not start.
    """
    settings = _texts(conf or {})
    if (remote := _remote_of(settings)) is not None:
        return _start_remote(remote, settings)
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()  # started by spark-submit: its JVM knows what was submitted
    spark_conf = SparkConf()
    for name, value in settings.items():
        spark_conf.set(name, value)
    for name, value in _DEFAULTS.items():
        spark_conf.setIfMissing(name, value)
    master = spark_conf.get("spark.master", "")
    if is_local(master):
        spark_conf.set("spark.master", retrying(master))
        for name, value in _LOCAL_DEFAULTS.items():
            spark_conf.setIfMissing(name, value)
    variables = _variables(master)
    with restoring_environment(variables):
        os.environ.update(variables)
        return _started(spark_conf)


def _remote_of(conf: Mapping[str, str]) -> str | None:
    """Return where a new session would be one of Spark Connect: a URL, or the master of a server to be started."""
    if "spark.remote" in conf or "spark.master" in conf:
        return conf.get("spark.remote")
    return os.environ.get("SPARK_REMOTE", "" if _SUBMITTED_TO_CONNECT in os.environ else None)


def _start_remote(remote: str, settings: Mapping[str, str]) -> SparkSession:
    local = is_local(remote)
    if local:  # PySpark starts a server in this process
        remote = retrying(remote)
        settings = {**_DEFAULTS, **_LOCAL_DEFAULTS, "spark.connect.grpc.binding.address": "127.0.0.1", **settings}
        settings = {name: value for name, value in settings.items() if name != "spark.master"}
    settings = {**settings, "spark.remote": remote} if remote else settings
    variables = _variables(remote) if local else {}
    with (
        importing("Spark Connect", "connect"),
        restoring_environment(variables),
        _naming_failure("Spark Connect does not start a session"),
    ):
        os.environ.update(variables)
        return _connected(settings)


def _connected(settings: Mapping[str, str]) -> SparkSession:
    refuse_silent(settings.get("spark.remote", ""))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Failed to set", UserWarning)  # what the server has been started with
        session = SparkSession.builder.config(map=settings).getOrCreate()
    be_less_patient(session)
    return session


_SECONDS = 10.0
_TRIES = 6
"""Each waits four times as long as the one before: about a minute in all."""
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy", "GRPC_PROXY", "HTTPS_PROXY", "HTTP_PROXY")


def refuse_silent(remote: str) -> None:
    """Raise ConfigError where nothing listens at the address of a server, unless there is a proxy on the way.

    PySpark asks a server that does not answer again for more than ten minutes, in silence.
    """
    if not remote.startswith("sc://") or any(name in os.environ for name in _PROXIES):
        return
    with no_pandas_warning():
        from pyspark.sql.connect.client.core import DefaultChannelBuilder
    host, port = DefaultChannelBuilder(remote).endpoint.rsplit(":", 1)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
    except OSError as error:
        raise ConfigError(
            f"no server of Spark Connect answers at {host}:{port}: {error}",
            hint="Start one (sbin/start-connect-server.sh), or correct spark.remote or SPARK_REMOTE.",
            engine="spark",
        ) from error


def be_less_patient(session: SparkSession) -> None:
    """Have a session of ours give up on a server that is gone within a minute or two."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES)])


def is_local(master: str) -> bool:
    """Return whether all processes of a Spark master of this name are on this machine.

    Examples
    --------
    >>> is_local("local[4]"), is_local("local-cluster[2,1,1024]"), is_local("spark://host:7077")
    (True, True, False)
    """
    return master.startswith("local")


def retrying(master: str) -> str:
    """Return a local master that tries a task again, as clusters do, when its Python worker died.

    Examples
    --------
    >>> retrying("local[2]"), retrying("local[2,1]"), retrying("local")
    ('local[2,4]', 'local[2,1]', 'local[1,4]')
    """
    match = re.fullmatch(r"local(?:\[\s*(\d+|\*)\s*\])?", master)
    return f"local[{match[1] or 1},{_LOCAL_FAILURES}]" if match else master


def _texts(conf: Mapping[str, Any]) -> dict[str, str]:
    foreign = [name for name in conf if not name.startswith("spark.")]
    if foreign:
        raise ConfigError(
            f"conf has {foreign[0]!r}, expected names of Spark settings, which start with 'spark.'",
            hint=f"Did you mean 'spark.{foreign[0]}'?",
        )
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in conf.items()}


def _variables(master: str) -> dict[str, str]:
    """Return what the processes of a new Spark have to find in their environment."""
    variables = {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)} if is_local(master) else {}
    if SparkContext._gateway is None:  # a JVM that runs already keeps its own
        variables["JAVA_HOME"] = str(find_java())
        variables |= {"SPARK_LOCAL_IP": "127.0.0.1"} if is_local(master) else {}
    return variables


def _started(conf: SparkConf) -> SparkSession:
    with _naming_failure(f"Spark does not start with master {conf.get('spark.master')!r}"):
        return SparkSession(SparkContext(conf=conf))


@contextmanager
def _naming_failure(problem: str) -> Iterator[None]:
    try:
        yield
    except (ImportError, PenstockError):
        raise
    except Exception as error:
        raise ConfigError(f"{problem}: {cause(error)}", hint="Spark's own messages on stderr say more.") from error
