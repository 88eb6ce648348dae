"""Rows scored by `penstock serve` on loopback: how long a row and a thousand take, and what minutes of load do.

The model is that of `pipelines/clicks.py`, 39 columns and 100 trees. Clients keep their connections; each number is of
a whole request, with the JSON of both sides.
"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.side_by_side import arguments, folders, generated  # noqa: E402
from penstock import LocalEngine  # noqa: E402
from penstock.cli.project import load_pipeline  # noqa: E402

_REQUESTS = {"1 row": (1, 2_000), "1,000 rows": (1_000, 100)}
_CLIENTS = 4


@contextmanager
def served(model: Path) -> Iterator[tuple[psutil.Process, int]]:
    """Give the process of a server, and its port."""
    command = [sys.executable, "-m", "penstock", "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        port = int(process.stderr.readline().rsplit(":", 1)[1])
        try:
            yield psutil.Process(process.pid), port
        finally:
            process.terminate()


def ask(connection: http.client.HTTPConnection, body: bytes) -> float:
    """Return the seconds of one request."""
    began = time.perf_counter()
    connection.request("POST", "/predict", body)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise RuntimeError(f"status {answer.status}")
    return time.perf_counter() - began


def latencies(port: int, rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return milliseconds of requests one after the other, after a tenth of them."""
    found = {}
    for name, (count, requests) in _REQUESTS.items():
        body = json.dumps(rows[:count] if count > 1 else rows[0]).encode()
        connection = http.client.HTTPConnection("127.0.0.1", port)
        taken = sorted([ask(connection, body) for _ in range(requests + requests // 10)][requests // 10 :])
        found[name] = {"median_ms": statistics.median(taken) * 1e3, "p99_ms": taken[int(len(taken) * 0.99)] * 1e3}
    return found


def load(port: int, rows: list[dict[str, Any]], seconds: float, server: psutil.Process) -> dict[str, float]:
    """Return what clients at once get done, and how the memory of the server grows after a fifth of the time."""
    bodies = [json.dumps(rows[place]).encode() for place in range(100)]
    end, done, errors = time.monotonic() + seconds, [0] * _CLIENTS, []

    def work(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            while time.monotonic() < end:
                ask(connection, bodies[done[number] % len(bodies)])
                done[number] += 1
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 5)
    before = server.memory_info().rss
    for thread in threads:
        thread.join()
    after = server.memory_info().rss
    growth = (after - before) / 2**20
    return {
        "seconds": seconds, "clients": _CLIENTS, "requests": sum(done), "requests_per_second": sum(done) / seconds,
        "errors": len(errors), "rss_mib": after / 2**20, "rss_growth_mib": growth,
    }  # fmt: skip


def main() -> None:
    """Fit the model, serve it, and print the figures."""
    parser = arguments((__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0, help="of load")
    given = parser.parse_args()
    pipeline = load_pipeline("clicks", ROOT / "pipelines")
    with folders(given.data) as (data, scratch):
        clicks = LocalEngine(device="cpu").read_parquet(f"{generated(generator, given.rows, data)}/*.parquet")
        rows = clicks.head(1_000).drop("label").to_dicts()
        pipeline.build(pipeline.parameters()).fit(clicks).save(scratch / "model")
        with served(scratch / "model") as (server, port):
            figures = {**latencies(port, rows), "load": load(port, rows, given.seconds, server)}
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
