"""Kill fits at random times, and let fits race for the same outputs; count what is mixed, lost, hung or left behind.

    python tests/kill_runs.py --engine local --kills 100 --races 50
    python tests/kill_runs.py --engine spark --kills 50 --victims driver,worker

Each fit is ``penstock fit clicks --out --score --report --overwrite`` on 2,000 rows with a seed of its own. Half of the
kills of drivers come at any time, half in the moments in which outputs are put in place. After each, what the next run
does first is done: all outputs then have to be whole and of one run, and nothing else may lie beside them. Every tenth
kill, and the last, is followed by a fit that is left alone; then nothing may lie in the temporary directory either.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from kills import ROOT, in_turns, report

from penstock import PipelineModel
from penstock.errors import PenstockError
from penstock.io.sinks import (
    JointCommit,
    StagedDirectory,
    StagedFile,
    file_entry,
    new_run_id,
    read_manifest,
    verify_files,
)

PATIENCE = 300.0
_RUN = re.compile(r"\d{8}T\d{12}-[0-9a-f]{8}")


@dataclass
class Workplace:
    """A folder with data, outputs and a temporary directory of its own, in which fits are run.

    ``counts`` has how many runs were killed as what, ended how, and everything that must not be; ``aimed`` is the share
    of drivers that are killed while outputs are put in place.
    """

    folder: Path
    engine: str
    random: random.Random
    pipeline: Sequence[str] = ("clicks", "--set", "num_boost_round=3", "--pipelines", str(ROOT / "pipelines"))
    options: Sequence[str] = ()
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    seconds: float = 0.0
    aimed: float = 0.5
    _seeds: Iterator[int] = field(default_factory=lambda: iter(range(10**6)))

    def prepare(self) -> None:
        """Run a fit that is left alone, and note how long it takes."""
        (self.folder / "tmp").mkdir()
        (self.folder / "out").mkdir()
        began = time.monotonic()
        self.run_alone()
        self.seconds = time.monotonic() - began

    def start(self) -> subprocess.Popen[bytes]:
        """Start a fit with the next seed."""
        seed = str(next(self._seeds))
        places = ["--out", "out/model", "--score", "out/scores", "--report", "out/page.html", "--overwrite"]
        command = [sys.executable, "-m", "penstock", "fit", *self.pipeline, "--data", "data", *places]
        command += ["--engine", self.engine, "--seed", seed, "--json", *self.options]
        environment = os.environ | {"TMPDIR": str(self.folder / "tmp"), "PYTHONPATH": str(ROOT)}
        with open(self.folder / f"{seed}.log", "wb") as log, open(self.folder / f"{seed}.err", "wb") as errors:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=errors, start_new_session=True
            )

    def kill_one(self, victims: Sequence[str]) -> None:
        """Kill a part of a fit, and see what the next run finds."""
        process = self.start()
        victim = self.random.choice(victims)
        self._wait_for_moment(process, victim)
        with contextlib.suppress(psutil.NoSuchProcess):
            self._kill(psutil.Process(process.pid), victim)
        self._await(process)
        self.counts["mixed until the next run"] += len(set(self.outputs().values())) > 1
        self.settle()
        self.check()

    def race(self) -> None:
        """Let two fits write to the same outputs, and see that one has won whole."""
        processes = [self.start()]
        time.sleep(self.random.uniform(0, self.seconds / 20))
        processes.append(self.start())
        runs = dict(map(self._result, processes))
        codes = sorted(process.returncode for process in processes)
        self.counts[f"exit codes {codes}"] += 1
        self.counts["other exit codes"] += codes not in ([0, 0], [0, 5])
        self.counts["not of a winner"] += codes == [0, 5] and set(self.outputs().values()) != {runs[0]}
        self.check()

    def run_alone(self) -> None:
        """Run a fit to its end; then nothing may lie in the temporary directory."""
        process = self.start()
        code, run = self._result(process)
        self.counts["undisturbed runs that failed"] += code != 0
        self.counts["lost"] += set(self.outputs().values()) != {run}
        self.check()
        left = [str(path) for path in (self.folder / "tmp").iterdir() if "penstock" in path.name]
        self.counts["left in the temporary directory"] += bool(left)
        if left:
            print("left:", *left, file=sys.stderr)

    def settle(self) -> None:
        """Do what a run does first."""
        run_id = new_run_id()
        model, scores, bad = (
            StagedDirectory(self.folder / "out" / name, overwrite=True, run_id=run_id)
            for name in ("model", "scores", "scores.quarantine")
        )
        with JointCommit(model, scores, bad, StagedFile(self.folder / "out" / "page.html", run_id=run_id)):
            pass

    def check(self) -> None:
        """Count what must not be."""
        outputs = self.outputs()
        left = sorted(path.name for path in (self.folder / "out").iterdir() if path.name not in outputs)
        self.counts["mixed"] += len(set(outputs.values())) > 1
        self.counts["lost"] += "lost" in outputs.values() or not {"model", "scores", "page.html"} <= outputs.keys()
        self.counts["left behind"] += bool(left)
        if left or len(set(outputs.values())) > 1:
            print(outputs, left, file=sys.stderr)

    def outputs(self) -> dict[str, str]:
        """Return the run of each output, "lost" for one that is not whole."""
        found = {}
        for name in ("model", "scores", "scores.quarantine"):
            if (self.folder / "out" / name).exists():
                found[name] = self._run_of(self.folder / "out" / name)
        page = self.folder / "out" / "page.html"
        text = page.read_text() if page.exists() else ""
        named = _RUN.search(text)
        found["page.html"] = named[0] if named and text.rstrip().endswith("</html>") else "lost"
        return found

    def _run_of(self, directory: Path) -> str:
        try:
            manifest = read_manifest(directory)
            assert manifest is not None
            verify_files(directory, manifest)
            for entry in manifest.files:
                assert file_entry(directory / entry.path, directory, entry.rows, kind=entry.kind) == entry
            if directory.name == "model":
                PipelineModel.load(directory)
        except (PenstockError, AssertionError) as error:
            print(directory, error, file=sys.stderr)
            return "lost"
        return manifest.run_id

    def _wait_for_moment(self, process: subprocess.Popen[bytes], victim: str) -> None:
        """Wait for a time at random: within the whole run, or where a driver puts its outputs in place."""
        if victim != "driver" or self.random.random() >= self.aimed:
            time.sleep(self.random.uniform(0.1, 1.1) * self.seconds)
            return
        while process.poll() is None and not list((self.folder / "out").glob(".*.sealed")):
            time.sleep(0.001)
        time.sleep(self.random.uniform(0, 0.05))

    def _kill(self, driver: psutil.Process, victim: str) -> None:
        """Kill the driver or one of the processes that it started; those of a dead driver have to end by themselves."""
        started = driver.children(recursive=True)
        workers = [each for each in started if victim in ("worker", _kind(each))] if victim != "driver" else []
        if victim != "driver" and not workers:
            self.counts["no such process yet"] += 1
            return
        self.counts[f"killed: {victim}"] += 1
        (driver if victim == "driver" else self.random.choice(workers)).send_signal(signal.SIGKILL)
        if victim == "driver":
            _, alive = psutil.wait_procs(started, timeout=60)
            self._end(alive)

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        started = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._end([*started, psutil.Process(process.pid)])
            process.wait()
        self.counts[f"exit code {process.returncode}"] += 1

    def _end(self, hung: Sequence[psutil.Process]) -> None:
        """Count processes that do not end, and end them."""
        self.counts["hung"] += bool(hung)
        for each in hung:
            with contextlib.suppress(psutil.NoSuchProcess):
                print("hung:", each.pid, each.cmdline()[:6], file=sys.stderr)
                each.kill()

    def _result(self, process: subprocess.Popen[bytes]) -> tuple[int, str | None]:
        """Return the exit code of a fit, and the run that it says to have been."""
        log = process.args[process.args.index("--seed") + 1] + ".log"  # type: ignore[index, union-attr]
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._end([psutil.Process(process.pid)])
        if process.returncode:
            return process.returncode, None
        return 0, json.loads((self.folder / log).read_text().splitlines()[-1])["scored"]["run_id"]


def _kind(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return "java" if "java" in process.name() else "python"
    return "gone"


NEVER = (
    "mixed", "lost", "hung", "left behind", "left in the temporary directory", "other exit codes", "not of a winner",
    "undisturbed runs that failed",
)  # fmt: skip


def main() -> int:
    """Kill and race as the command line says; the exit code is 1 where something was mixed, lost, hung or left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--races", type=int, default=0)
    parser.add_argument("--victims", default="driver", help="of driver, worker (any process it started), python, java")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", default="", help="more options for each fit")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        data = [sys.executable, str(ROOT / "data" / "clicks.py"), "--rows", str(arguments.rows)]
        data += ["--rows-per-file", str(arguments.rows // 4), "--out", f"{folder}/data"]
        subprocess.run(data, check=True, stdout=subprocess.DEVNULL)
        choose = random.Random(arguments.seed)
        workplace = Workplace(Path(folder), arguments.engine, choose, options=arguments.options.split())
        workplace.prepare()
        print(f"a run takes {workplace.seconds:.1f} s", flush=True)
        for number in range(arguments.kills):
            workplace.kill_one(arguments.victims.split(","))
            if number % 10 == 9 or number == arguments.kills - 1:
                workplace.run_alone()
                print(number + 1, dict(+workplace.counts), flush=True)
        in_turns(arguments.races, workplace.race, workplace.counts)
        return report(workplace.counts, NEVER)


if __name__ == "__main__":
    sys.exit(main())
