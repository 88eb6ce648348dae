"""Kill writes to S3 at random steps, and let writes race; count what is mixed, lost or left behind.

    python tests/kill_stores.py --kills 100 --races 50 --queries 50

Each write puts a dataset of three parts, a folder of files like a model's, and a page into moto's S3 on loopback, all
under one run, in a process of its own. Half of the kills come at a random time, half at a random step. After each, one
of the three targets is entered as the next run would: all outputs then have to be whole and of one run. Then a write is
left alone, after which nothing but the outputs may lie there. Queries that stage their rows in the store are killed in
the same way: after the next one has run, nothing of them may lie there.
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import logging
import os
import random
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import s3fs  # noqa: F401
from kills import ROOT, in_turns, kill_later, report

import penstock as ps
from penstock.engines.local import results
from penstock.errors import CommitConflictError
from penstock.io.sinks import OutputCommit, output_directory, output_file
from penstock.io.sinks.failpoints import VARIABLE

FOLDER = "s3://kills/out"
STAGING = "s3://kills/staging"
PARTS = 3
ROWS = 50_000


def write(run_id: str) -> None:
    """Write three outputs together; exit with 5 where another run has won."""
    rows, model = (output_directory(f"{FOLDER}/{name}", overwrite=True, run_id=run_id) for name in ("rows", "model"))
    page = output_file(f"{FOLDER}/page.html", run_id=run_id)

    def content(path: str) -> None:
        Path(path).write_text(run_id)

    with OutputCommit(rows, model, page) as joint:
        put = rows.parts.put
        rows.seal([put(f"part-{part:05d}.csv", content, rows=1, kind="csv") for part in range(PARTS)])
        model.seal([model.parts.put("state/0.json", content, rows=None, kind="json")])
        page.seal(run_id.encode())
        joint.commit()


def query() -> None:
    """Run a query on staged rows, whose rows are staged."""
    results.TABLE_BYTES = 0
    engine = ps.LocalEngine(device="cpu", staging_dir=STAGING)
    data = engine.from_arrow(pa.table({"x": range(ROWS), "many": [[1, 2]] * ROWS}), fragment_bytes=2**20)
    made = data.explode("many").unique("x").sort("x")
    assert made.to_arrow()["x"].to_pylist() == list(range(ROWS))
    del data, made
    gc.collect()  # as the end of a process does, which a child that was forked for this has not


def write_in_children() -> None:
    """Write in a process forked for each line of stdin: a run, and perhaps a step; print its id and exit status."""
    for line in sys.stdin:
        run_id, _, failpoint = line.strip().partition(" ")
        child = os.fork()
        if child == 0:
            os.environ |= {VARIABLE: failpoint} if failpoint else {}
            try:
                query() if run_id == "query" else write(run_id)
            except CommitConflictError:
                os._exit(5)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


class Writer:
    """A process that has imported everything, and connects to nothing itself."""

    def __init__(self) -> None:
        environment, pipe = os.environ | {"PYTHONPATH": str(ROOT)}, subprocess.PIPE
        command = [sys.executable, "-W", "ignore", __file__, "--write"]
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    def start(self, run_id: str, failpoint: str | None = None) -> int:
        """Start a write, and return its process."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{run_id} {failpoint or ''}\n")
        self.process.stdin.flush()
        return self.result()

    def result(self) -> int:
        """Return the next number that it tells: the exit status of what was started."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


class Shop:
    """The outputs, and what was found of them."""

    def __init__(self, choose: random.Random) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.random, self._runs, self.seconds = choose, 0, 1.0
        self.writers = [Writer(), Writer()]

    def start(self, writer: int = 0, failpoint: str | None = None) -> int:
        """Start a write under the next run."""
        self._runs += 1
        return self.writers[writer].start(f"run-{self._runs}", failpoint)

    def run_alone(self) -> None:
        """Write undisturbed; then nothing else may be there."""
        self._alone(self.start)
        self.check({f"run-{self._runs}"})
        self._count_left(self.left())

    def _alone(self, start: Callable[[], int]) -> None:
        began = time.monotonic()
        start()
        self.counts["undisturbed writes that failed"] += self.writers[0].result() != 0
        self.seconds = time.monotonic() - began

    def _count_left(self, left: Collection[str]) -> None:
        """Count where something lies there that is of no output."""
        self.counts["left behind"] += bool(left)
        if left:
            print("left:", *left, file=sys.stderr)

    def _kill(self, start: Callable[..., int], steps: int, what: str) -> None:
        """Start something, and have it killed at any step or at any time."""
        at_step = self.random.random() < 0.5
        child = start(failpoint=str(self.random.randrange(1, steps)) if at_step else None)
        if not at_step:
            kill_later(child, self.random.uniform(0, self.seconds * 1.1))
        self.counts[f"exit code {self.writers[0].result()}{what}"] += 1

    def kill_one(self) -> None:
        """Kill a write, enter one of its targets, and see what is there."""
        before = self.state()
        self._kill(self.start, 35, "")
        self.counts["mixed until the next run"] += len(set(self.state().values())) > 1
        self.enter()
        self.check({*before.values(), f"run-{self._runs}"})
        self.counts["came to be"] += f"run-{self._runs}" in self.state().values()
        self.run_alone()

    def kill_query(self) -> None:
        """Kill a query, and let the next one run: nothing of either may be there then."""
        self._kill(partial(self.writers[0].start, "query"), 12, " of a query")
        self.counts["queries that left rows until the next"] += bool(_files(STAGING))
        self.query_alone()

    def query_alone(self) -> None:
        """Run a query undisturbed; then nothing may be there."""
        self._alone(partial(self.writers[0].start, "query"))
        self._count_left(_files(STAGING))

    def race(self) -> None:
        """Let two writes race, and see that one has won whole."""
        for writer in (0, 1):
            self.start(writer)
        names = [f"run-{self._runs - 1}", f"run-{self._runs}"]
        codes = [writer.result() for writer in self.writers]
        self.counts[f"exit codes {sorted(codes)}"] += 1
        self.counts["other exit codes"] += sorted(codes) not in ([0, 0], [0, 5])
        self.check({name for name, code in zip(names, codes, strict=True) if code == 0})
        self._count_left(self.left())

    def enter(self) -> None:
        """Do what a run on one of the targets does first."""
        name = self.random.choice(["rows", "model", "page.html"])
        made = output_file if name == "page.html" else output_directory
        options: dict[str, Any] = {} if name == "page.html" else {"overwrite": True}
        OutputCommit(made(f"{FOLDER}/{name}", run_id="enters", **options)).check()

    def check(self, expected: set[str]) -> None:
        """Count what must not be."""
        state = self.state()
        self.counts["mixed"] += len(set(state.values())) > 1
        self.counts["lost"] += "lost" in state.values()
        self.counts["of another run"] += not set(state.values()) <= expected
        if len(set(state.values())) > 1 or "lost" in state.values():
            print(state, file=sys.stderr)

    def state(self) -> dict[str, str]:
        """Return the run of each output, "lost" for one that is not whole."""
        files = _files()
        return {"page.html": files.get("page.html", b"lost").decode()} | {
            name: _run_of(name, files) for name in ("rows", "model")
        }

    def left(self) -> list[str]:
        """Return what is of no output."""
        files = _files()
        listed = {"page.html"}
        for name in ("rows", "model"):
            entries = json.loads(files[f"{name}/_manifest.json"])["files"]
            listed |= {f"{name}/_manifest.json", *(f"{name}/{entry['path']}" for entry in entries)}
        return sorted(files.keys() - listed)


def _files(folder: str = FOLDER) -> dict[str, bytes]:
    filesystem, root = fsspec.core.url_to_fs(folder)
    filesystem.invalidate_cache()
    return {name.removeprefix(f"{root}/"): filesystem.cat_file(name) for name in filesystem.find(root)}


def _run_of(name: str, files: dict[str, bytes]) -> str:
    if f"{name}/_manifest.json" not in files:
        return "lost"
    manifest = json.loads(files[f"{name}/_manifest.json"])
    contents = {files.get(f"{name}/{entry['path']}", b"lost").decode() for entry in manifest["files"]}
    return manifest["run_id"] if contents == {manifest["run_id"]} else "lost"


def main() -> int:
    """Kill and race as the command line says; the exit code is 1 where something was mixed, lost or left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--races", type=int, default=10)
    parser.add_argument("--queries", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="be a process that writes what stdin tells")
    arguments = parser.parse_args()
    if arguments.write:
        write_in_children()
        return 0
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ |= {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests"}
    fsspec.filesystem("s3").call_s3("create_bucket", Bucket="kills")
    shop = Shop(random.Random(arguments.seed))
    shop.run_alone()
    turns = ((arguments.kills, shop.kill_one), (arguments.races, shop.race), (arguments.queries, shop.kill_query))
    for count, action in turns:
        in_turns(count, action, shop.counts)
    for writer in shop.writers:
        writer.process.communicate()
    server.stop()
    never = ("mixed", "lost", "left behind", "of another run", "other exit codes", "undisturbed writes that failed")
    return report(shop.counts, never)


if __name__ == "__main__":
    sys.exit(main())
