"""A server of Spark Connect that does not answer: PySpark asks it again for more than ten minutes, in silence."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from penstock.core.errors import ConfigError
from penstock.engines.spark.pandas_warning import no_pandas_warning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 10.0
_TRIES = 6
"""Each waits four times as long as the one before: about a minute in all."""
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy", "GRPC_PROXY", "HTTPS_PROXY", "HTTP_PROXY")


def refuse_silent(remote: str) -> None:
    """Raise ConfigError where nothing listens at the address of a server, unless there is a proxy on the way."""
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
