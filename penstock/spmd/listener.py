"""Where ranks arrive: a port of the coordinator that lets in who knows the key, and keeps nobody waiting for others."""

from __future__ import annotations

import queue
import socket
import struct
import threading
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge, wait
from typing import Self


class Listener:
    """Listens while it is open; ranks enter with `multiprocessing.connection.Client` and the same key.

    Each arrival proves that it knows the key in a thread of its own, so that one who connects and says nothing, as
    port scanners do, holds up no rank.

    Parameters
    ----------
    host : str
        The address to listen on; the system chooses the port.
    key : bytes
    timeout : float
        Seconds that the transfer of a message may stand still, either way: one who has frozen in the middle of it
        holds up nobody for longer.
    backlog : int
        How many may wait to be accepted.

    Examples
    --------
    >>> from multiprocessing.connection import Client
    >>> with Listener("127.0.0.1", b"secret", 5.0, backlog=2) as listener:
    ...     outside = threading.Thread(target=lambda: Client(listener.address, authkey=b"secret").send("hello"))
    ...     outside.start()
    ...     arrived = listener.arrivals(5.0) or listener.arrivals(5.0)
    ...     arrived[0].recv()
    'hello'
    """

    def __init__(self, host: str, key: bytes, timeout: float, *, backlog: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._server = socket.create_server((host, 0), family=family, backlog=backlog)
        self._key = key
        self._timeout = struct.pack("@ll", int(timeout), int(timeout % 1 * 1e6))
        self._authenticated: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._closed = False
        self.address: tuple[str, int] = self._server.getsockname()[:2]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Listen no more, and turn away those who were not taken in."""
        self._closed = True
        self._server.close()
        for arrival in self._take():
            arrival.close()

    def arrivals(self, seconds: float) -> list[Connection]:
        """Accept who has come within so many seconds, and return those who have proved that they know the key."""
        if wait([self._server], timeout=seconds):
            accepted, _ = self._server.accept()
            accepted.setblocking(True)
            for direction in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                accepted.setsockopt(socket.SOL_SOCKET, direction, self._timeout)
            arrival = Connection(accepted.detach())
            threading.Thread(target=self._check, args=(arrival,), name="penstock-listener", daemon=True).start()
        return self._take()

    def _take(self) -> list[Connection]:
        return [self._authenticated.get() for _ in range(self._authenticated.qsize())]

    def _check(self, arrival: Connection) -> None:
        try:
            deliver_challenge(arrival, self._key)
            answer_challenge(arrival, self._key)
        except Exception:  # a wrong key, or gone again
            arrival.close()
        else:
            self._authenticated.put(arrival)
            if self._closed:
                self.close()
