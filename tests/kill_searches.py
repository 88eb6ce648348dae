"""Kill searches at random times, and see that what they come to in the end is what one left alone comes to.

    python tests/kill_searches.py --kills 10
    python tests/kill_searches.py --engine dask --kills 10 --victims driver,worker

A search is a study of 24 trials by Optuna's TPE sampler, four at a time, on 3 folds of 2,000 rows. A driver that was
killed is started again, and goes on with the study; a worker that was killed is replaced by its cluster.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from kills import ROOT

PATIENCE = 600.0


def search(engine: str, study: str, table: str) -> None:
    """Run the search, or go on with it, and write its table."""
    import penstock as ps
    from penstock import stages as st
    from tests.search.rows import labelled

    pipeline = ps.Pipeline(
        st.Imputer("x"),
        st.StringIndexer("c"),
        ("model", st.XGBoostClassifier("clicked", features=("x", "z", "c"), num_boost_round=10)),
    )
    space = ps.optuna_search(
        {"model.max_depth": [2, 3, 4], "model.learning_rate": [0.1, 0.3, 0.5], "Imputer.strategy": ["mean", "median"]},
        n_trials=24,
    )
    evaluator = st.BinaryClassificationEvaluator(label="clicked")
    cluster = {"class": "distributed.LocalCluster", "arguments": {"n_workers": 2, "threads_per_worker": 1}}
    with ps.DaskEngine(cluster) if engine == "dask" else ps.LocalEngine() as opened:
        Path(study).with_suffix(".open").write_text(str(os.getpid()))
        data = opened.from_arrow(labelled(2000), fragment_bytes=30_000)
        result = ps.CrossValidator(pipeline, space, evaluator, folds=3, study=study).fit(data)
    rows = result.table.drop_columns(["train_seconds"]).to_pylist()
    assert result.best_model is not None
    Path(table).write_text(json.dumps([rows, result.best_params, result.best_model.digest], sort_keys=True))


def run(engine: str, folder: Path, name: str, victims: list[str], kills: int, choose: random.Random) -> tuple[str, int]:
    """Return the table of a search, of which the driver, or a worker, is killed so often, and how often it was."""
    table, killed, began = folder / f"{name}.json", 0, time.monotonic()
    while not table.exists():
        if time.monotonic() - began > PATIENCE:
            raise SystemExit(f"{name}: the search has not ended after {PATIENCE:g} s")
        with open(folder / f"{name}.log", "ab") as log:
            command = [sys.executable, __file__, "--search", engine, str(folder / f"{name}.db"), str(table)]
            child = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        while killed < kills and child.poll() is None:
            time.sleep(choose.uniform(1.0, 5.0))
            if not is_open(folder / f"{name}.open", child) or not kill(child, choose.choice(victims)):
                continue
            killed += 1
            if child.poll() is not None or not child_lives(child):
                break
        code = child.wait(PATIENCE)
        if code not in (0, -signal.SIGKILL):
            raise SystemExit(f"{name}: the search ended with {code}: {(folder / f'{name}.log').read_text()[-3000:]}")
    return table.read_text(), killed


def is_open(file: Path, child: subprocess.Popen[bytes]) -> bool:
    """Return whether the engine of this child has started: the start of a cluster is not what is tried here."""
    return file.exists() and file.read_text() == str(child.pid)


def child_lives(child: subprocess.Popen[bytes]) -> bool:
    time.sleep(0.2)
    return child.poll() is None


def kill(child: subprocess.Popen[bytes], victim: str) -> bool:
    """Kill the driver, or one of its workers; return whether there was one."""
    try:
        process = psutil.Process(child.pid)
        workers = [each for each in process.children(recursive=True) if "spawn_main" in " ".join(each.cmdline())]
        target = process if victim == "driver" else workers[-1]
        target.kill()
    except (psutil.Error, IndexError):
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--victims", default="driver")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    choose, victims = random.Random(options.seed), options.victims.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone, _ = run(options.engine, folder, "alone", victims, 0, choose)
        killed, times = run(options.engine, folder, "killed", victims, options.kills, choose)
    print(f"{options.engine}: killed {times} times, the same table and model: {alone == killed}")
    raise SystemExit(alone != killed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--search"]:
        sys.path.insert(0, str(ROOT))
        search(*sys.argv[2:])
    else:
        main()
