"""Connecting to a Dask cluster, or starting one that is open to no other machine unasked."""

from __future__ import annotations

import ast
import importlib
import ipaddress
import multiprocessing
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import dask
import distributed
from distributed.system import MEMORY_LIMIT
from distributed.utils import get_ip

from penstock import devices
from penstock.core.environment import restoring_environment
from penstock.core.errors import ConfigError, InsecureClusterError
from penstock.core.notices import get_logger

Given: TypeAlias = "distributed.Client | str | Mapping[str, Any] | None"

# Or a cluster object gives up a worker that happens to be down 15 seconds after it was down before, nanny and all.
_KEEP_NANNIES = {"distributed.deploy.lost-worker-timeout": "1 day"}
_ON_THIS_MACHINE: Mapping[str, Any] = {"class": "distributed.LocalCluster"}

logger = get_logger(__name__)


def connect(cluster: Given, started: ExitStack, allow_insecure: bool, no_workers_timeout: float) -> distributed.Client:
    """Return a client of `cluster`; what is started for it is closed with `started`."""
    if cluster is None or isinstance(cluster, Mapping):
        return _start(_ON_THIS_MACHINE if cluster is None else cluster, started, allow_insecure, no_workers_timeout)
    client: Any = started.enter_context(_client(cluster)) if isinstance(cluster, str) else cluster
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise ConfigError(
            f"cluster is {cluster!r}, expected a synchronous distributed.Client, the address of a scheduler, or a"
            " mapping with a class and arguments",
            hint="For a cluster object pass its client: cluster.get_client().",
        )
    if not _is_private(client.scheduler.address):
        logger.warning("%s is neither encrypted nor authenticated, and leaves this machine", client.scheduler.address)
    return client


def _client(address: str) -> distributed.Client:
    try:
        return distributed.Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"no Dask scheduler answers at {address!r}: {error}",
            hint="The scheduler prints its address when it starts: tcp://host:8786 or tls://host:8786.",
        ) from error


def _start(
    spec: Mapping[str, Any], started: ExitStack, allow_insecure: bool, no_workers_timeout: float
) -> distributed.Client:
    kind, arguments = _parsed(spec)
    if issubclass(kind, distributed.LocalCluster):
        arguments = _local_arguments(kind, arguments)
        if arguments.get("processes", True):
            require_main_guard()
        if not allow_insecure:
            _require_loopback(arguments)
        started.enter_context(dask.config.set(_KEEP_NANNIES))
    set_before = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    environment = {**set_before, **devices.thread_environment(arguments.get("threads_per_worker") or 1)}
    started.enter_context(restoring_environment(environment))  # nannies, which run in this process, set it here
    with dask.config.set(_settings(environment, no_workers_timeout)):
        try:
            cluster = started.enter_context(kind(**arguments))
        except Exception as error:  # dask-cuda without a driver has one of NVML's own
            problem = f"{kind.__name__} does not start with {', '.join(arguments)}: {error}"
            raise ConfigError(problem, hint=HINT if "Nanny failed" in str(error) else None) from error
    client = started.enter_context(distributed.Client(cluster, set_as_default=False))
    if not allow_insecure and not _is_private(client.scheduler.address):
        raise _insecure(f"the cluster listens on {client.scheduler.address}")
    return client


def _parsed(spec: Mapping[str, Any]) -> tuple[type[Any], dict[str, Any]]:
    """Return the class that a configuration names, and its arguments."""
    unknown = sorted(spec.keys() - {"class", "arguments"})
    if unknown or "class" not in spec:
        raise ConfigError(f"cluster has the keys {sorted(spec)}, expected 'class' and perhaps 'arguments'")
    path = str(spec["class"])
    module, _, name = path.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"cluster class {path!r} cannot be imported: {error}",
            hint="Such as distributed.LocalCluster, dask_cuda.LocalCUDACluster or dask_jobqueue.SLURMCluster.",
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, distributed.deploy.Cluster)):
        raise ConfigError(f"cluster class {path!r} is {kind!r}, expected a subclass of distributed.deploy.Cluster")
    return kind, dict(spec.get("arguments") or {})


def _local_arguments(kind: type[Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for a cluster on this machine, with safe values for those that are not given."""
    # Workers that are threads of this process have no host, and pages that would listen on every address.
    in_threads = not arguments.get("processes", True)
    own = {"worker_dashboard_address": "127.0.0.1:0"} if in_threads else {"host": "127.0.0.1"}
    filled = {"dashboard_address": "127.0.0.1:0", "threads_per_worker": 1, **own, **arguments}
    if kind is distributed.LocalCluster:
        workers = filled.setdefault("n_workers", max(1, devices.usable_cores() // filled["threads_per_worker"]))
        filled.setdefault("memory_limit", MEMORY_LIMIT // max(1, workers))
    return filled


def _settings(environment: Mapping[str, Any], no_workers_timeout: float) -> dict[str, Any]:
    return {
        # Set before the spawn: a worker's process may import Polars, which counts threads then, before it is a worker.
        "distributed.nanny.pre-spawn-environ": environment,
        "distributed.scheduler.allowed-failures": 2,
        "distributed.scheduler.no-workers-timeout": no_workers_timeout,
        # No task waits on a slow worker while a thread of another is free; the scheduler keeps it until then.
        "distributed.scheduler.worker-saturation": 1.0,
    }


def _require_loopback(arguments: Mapping[str, Any]) -> None:
    secured = bool(arguments.get("security"))  # which does not cover the dashboards
    names = ("dashboard_address", "worker_dashboard_address") if secured else (
        "host", "interface", "dashboard_address", "worker_dashboard_address"
    )  # fmt: skip
    for name in names:
        value = arguments.get(name)
        if value is not None and value != "lo" and not is_loopback(str(value)):
            raise _insecure(f"{name} is {value!r}, which other machines can reach")


def _insecure(problem: str) -> InsecureClusterError:
    return InsecureClusterError(
        f"{problem}, without authentication",
        hint="Use 127.0.0.1, or security: true for TLS; allow_insecure=True if a firewall protects it.",
    )


def _is_private(address: str) -> bool:
    return is_loopback(address) or urlsplit(address).scheme in ("tls", "wss")


def is_loopback(address: str) -> bool:
    """Return whether only this machine can connect to an address; one without a host stands for all interfaces.

    Examples
    --------
    >>> is_loopback("tcp://127.0.0.1:8786"), is_loopback("tcp://10.0.0.7:8786"), is_loopback(":8787")
    (True, False, False)
    """
    parts = urlsplit(address if "//" in address else f"//{address}")
    if parts.scheme == "inproc" or parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def is_on_this_machine(client: distributed.Client) -> bool:
    """Return whether scheduler and workers listen on loopback, so that they are where this process is."""
    return all(map(is_loopback, (client.scheduler.address, *client.nthreads())))


def host(client: distributed.Client) -> str:
    """Return the address of this machine that workers can reach."""
    address = client.scheduler.address
    return "127.0.0.1" if is_loopback(address) else get_ip(urlsplit(address).hostname)


HINT = (
    'In a script, put what starts an engine below `if __name__ == "__main__":`, because each worker process imports the'
    " script."
)


def require_main_guard() -> None:
    """Raise ConfigError where a process that is started now would come by the same line, and start another.

    Any ``if`` around the line is taken for a guard; what is typed in, and notebooks, are not run again.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ConfigError("a worker process that is being started would start a Dask cluster itself", hint=HINT)
    place = _line_of_main()
    if place is not None and not isinstance(_statement(*place), ast.If | None):
        file, line = place
        raise ConfigError(
            f"{file}, line {line}, starts a Dask cluster, whose worker processes would all come by that line",
            hint=HINT,
            path=file,
        )


def _line_of_main() -> tuple[str, int] | None:
    """Return the file and the line at which the main module is, if it is being run."""
    main, frame = vars(sys.modules["__main__"]), sys._getframe()
    while frame.f_back is not None and not (frame.f_code.co_name == "<module>" and frame.f_globals is main):
        frame = frame.f_back
    running = frame.f_globals is main and frame.f_code.co_name == "<module>"
    return (frame.f_code.co_filename, frame.f_lineno) if running else None


def _statement(file: str, line: int) -> ast.stmt | None:
    """Return the outermost statement around a line of a script, if that can be read."""
    try:
        body = ast.parse(Path(file).read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return None
    return next((each for each in body if each.lineno <= line <= (each.end_lineno or each.lineno)), None)
