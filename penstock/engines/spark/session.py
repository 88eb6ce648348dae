"""A Spark session of our own: settings, Java, loopback, and nothing left behind in the environment."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from penstock.core.environment import restoring_environment
from penstock.core.errors import ConfigError
from penstock.engines.spark.java import find_java
from penstock.engines.spark.jobs import cause

_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.app.name": "penstock",
    "spark.python.worker.reuse": "true",
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.barrier.sync.timeout": "300",
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
_SUBMITTED_TO_CONNECT = "PYSPARK_REMOTE_INIT_CONF_LEN"
"""The variable that ``spark-submit --remote`` sets for the driver."""


def given(session: SparkSession | None, conf: Mapping[str, Any] | None) -> SparkSession | None:
    """Return the session to use without owning it: the one passed, or the one that already runs in this process.

    Raises
    ------
    ConfigError
        Settings are passed for a session that already runs; or the session is one of Spark Connect.
    """
    if session is None and _is_connect(conf or {}):
        raise _connect_refused()
    if session is None and SparkContext._active_spark_context is None:
        return None
    running = session or SparkSession(SparkContext.getOrCreate())
    if conf:
        raise ConfigError(
            f"conf is given ({', '.join(conf)}), but a Spark session already runs in this process",
            hint="Stop that session first, or set these when it is made and leave conf out.",
        )
    if not hasattr(running, "sparkContext"):
        raise _connect_refused()
    return running


def _is_connect(conf: Mapping[str, Any]) -> bool:
    """Return whether the session of this process is one of Spark Connect, or a new one would be."""
    if "SPARK_CONNECT_MODE_ENABLED" in os.environ:  # set by PySpark, once there is one
        return True
    starts_one = SparkContext._active_spark_context is None and "spark.master" not in conf
    return starts_one and any(name in os.environ for name in ("SPARK_REMOTE", _SUBMITTED_TO_CONNECT))


def _connect_refused() -> ConfigError:
    return ConfigError(
        "the session is one of Spark Connect, which runs queries only: no tasks and no ranks of an engine",
        hint="model.transform(frame) and model.to_spark_udf() work with it. To fit, submit the job (spark-submit), or"
        " write the frame as Parquet, and read that with a LocalEngine or a DaskEngine.",
        engine="spark",
    )


def start(conf: Mapping[str, Any] | None) -> SparkSession:
    """Start a session from Spark's own settings by name; those of spark-submit hold where `conf` says nothing.

    Raises
    ------
    ConfigError
        A name does not start with ``spark.``; there is no Java; or Spark does not start.
    """
    settings = _texts(conf or {})
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
    try:
        return SparkSession(SparkContext(conf=conf))
    except Exception as error:
        raise ConfigError(
            f"Spark does not start with master {conf.get('spark.master')!r}: {cause(error)}",
            hint="Spark's own messages on stderr say more.",
        ) from error
