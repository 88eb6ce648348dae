"""A server that scores rows by a saved model until it is stopped."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING

from penstock.core.errors import ConfigError
from penstock.core.extras import importing
from penstock.core.notices import get_logger
from penstock.core.several import settle_several

if TYPE_CHECKING:
    import uvicorn

    from penstock.core.progress import Progress

_PATIENCE = 3
"""Seconds in which requests are answered after the signal to stop; see `penstock.cli.reporting`."""

logger = get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class ServeRequest:
    """A saved model, and where it listens.

    Parameters
    ----------
    model : str
        Directory of the saved model, its URL, or a model of a registry: registry/clicks@champion.
    host : str
        Address to listen at; 0.0.0.0 for all, behind something that keeps strangers away.
    port : int
        0 for one that is free, which is printed.
    columns : sequence of str
        A column to answer; what the last stage makes, unless given.
    max_rows : int
        Rows of one request, at most.
    expect : str, optional
        The digest that the saved model must have: sha256:...
    """

    model: str
    host: str = "127.0.0.1"
    port: int = 8000
    columns: Sequence[str] = ()
    max_rows: int = 10_000
    expect: str | None = None

    def __post_init__(self) -> None:
        settle_several(self)
        if not 0 <= self.port < 2**16:
            raise ConfigError(f"port is {self.port}, expected 0 to 65535")
        if self.max_rows < 1:
            raise ConfigError(f"max_rows is {self.max_rows}, expected at least 1")


@dataclass(frozen=True, kw_only=True)
class ServeResult:
    """Which model was served, where, and how many rows it scored until the server was stopped."""

    model: str
    digest: str
    url: str
    requests: int
    rows: int


def serve(request: ServeRequest, progress: "Progress | None" = None) -> ServeResult:
    """Answer requests until Ctrl-C or SIGTERM; those that are being answered then are.

    Raises
    ------
    MissingExtraError
        The extra ``serve`` is not installed.
    ConfigError
        The address cannot be listened at.
    InputError, ArtifactError
        There is no such model, or it is damaged.
    """
    with importing("uvicorn", "serve"):
        import uvicorn

        from penstock.integrations.serving import create_app
        from penstock.integrations.serving.patience import PatientProtocol
    from penstock.pipeline.model import PipelineModel

    model = PipelineModel.load(request.model, expect=request.expect)
    app = create_app(model, columns=list(request.columns) or None, max_rows=request.max_rows)
    with _listen(request) as listener:
        host, port = listener.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        logger.warning("serving %s at %s", request.model, url)
        config = uvicorn.Config(
            app, http=PatientProtocol, log_level="warning", access_log=False, timeout_graceful_shutdown=_PATIENCE
        )
        _run(uvicorn.Server(config), listener)
    meters = app.state.meters
    return ServeResult(model=request.model, digest=model.digest, url=url, requests=meters.requests, rows=meters.rows)


def _run(server: "uvicorn.Server", listener: socket.socket) -> None:
    """Run the server in a thread, so that this one is told of signals; what is being answered then is."""
    ended = Event()

    def answer() -> None:
        try:
            server.run(sockets=[listener])
        finally:
            ended.set()

    # Not by join(): once it was interrupted, Python 3.11 takes the thread for one that has ended.
    Thread(target=answer, name="penstock-serving").start()
    try:
        ended.wait()
    except KeyboardInterrupt:
        server.should_exit = True
        ended.wait()


def _listen(request: ServeRequest) -> socket.socket:
    family = socket.AF_INET6 if ":" in request.host else socket.AF_INET
    try:
        listener = socket.create_server((request.host, request.port), family=family)
        # Connections inherit it; asyncio leaves it off, so that answers would wait 40 ms for what clients acknowledge.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise ConfigError(
            f"{request.host}:{request.port} cannot be listened at: {error.strerror or error}",
            hint="Choose another --port, 0 for any that is free, or an address of this machine for --host.",
        ) from error
