"""A run whose numbers are known, and a server on loopback that keeps what it is sent."""

import gzip
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.core.recording import PHASES

STARTED = 1_800_000_000.0


@pytest.fixture
def run_of() -> Callable[..., ps.runs.Run]:
    """Make a run of 10 s: a step, and in it a scan of 4 s whose task `i` decodes for 0.25 s and computes for `i` s."""

    def run_of(tasks: int = 3, **info: Any) -> ps.runs.Run:
        step = {"name": "prepare", "kind": "step", "start": STARTED + 1, "seconds": 5.0, "items": 0, "parent": None}
        scan = {"name": "fit", "kind": "scan", "start": STARTED + 1.5, "seconds": 4.0, "items": tasks, "parent": 0}
        facts = {
            "format": 1, "run_id": "20270115T080000000000-0a1b2c3d", "kind": "fit", "name": "clicks",
            "started": STARTED, "seconds": 10.0, "status": "done", "error": None, "spans": [step, scan],
            "versions": {"penstock": "0.1.0", "pyspark": "4.1.0"}, "machine": {"host": "driver"},
            "inputs": [], "outputs": [],
        }  # fmt: skip
        rows = [_task(place) for place in range(tasks)]
        return ps.runs.Run({**facts, **info}, pa.Table.from_pylist(rows, schema=ps.runs.TASKS))

    return run_of


def _task(place: int) -> dict[str, Any]:
    return {
        "span": 1, "label": "fit", "kind": "task", "fragment": place, "host": "w", "worker": "w:1", "slot": 0,
        "device": "cpu", "start": round((STARTED + 2 + place) * 1e6), "seconds": 0.25 + place, "wait": 0.0,
        **dict.fromkeys(PHASES, 0.0),
        "decode": 0.25, "compute": float(place),
        "rows_in": 100, "rows_out": 90, "bytes_in": 800, "bytes_out": 0, "cpu_seconds": 0.5, "peak_memory": 1000,
    }  # fmt: skip


class Receiver:
    """Answers every request with one status, and keeps the paths and bodies."""

    def __init__(self, status: int = 200) -> None:
        self.status, self.requests, self.came = status, [], threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                is_packed = self.headers.get("content-encoding") == "gzip"
                with receiver.came:
                    receiver.requests.append((self.path, gzip.decompress(body) if is_packed else body))
                    receiver.came.notify_all()
                self.send_response(receiver.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def wait_for(self, requests: int) -> list[tuple[str, bytes]]:
        """Return what came, as soon as it is so many requests."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.requests) >= requests, timeout=60), self.requests
        return self.requests


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server on loopback."""
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()
