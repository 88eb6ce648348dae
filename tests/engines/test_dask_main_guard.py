"""Scripts that start a Dask cluster: their worker processes import them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.dask

ROOT = Path(__file__).parents[2]


def _run(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(source)
    return subprocess.run(
        [sys.executable, script], env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_cluster_started_by_the_body_of_a_script_is_refused_in_a_few_lines(tmp_path):
    done = _run(tmp_path, "import penstock as ps\ndef start(): return ps.DaskEngine()\nstart()\n")
    assert done.returncode == 1
    assert "script.py, line 3, starts a Dask cluster" in done.stderr
    assert 'Hint: In a script, put what starts an engine below `if __name__ == "__main__":`' in done.stderr
    assert len(done.stderr.splitlines()) < 25


GUARD = "from penstock.engines.dask.session import require_main_guard\n"


def test_a_guarded_script_may_start_one(tmp_path):
    done = _run(
        tmp_path,
        GUARD + "if __name__ == '__main__':\n    require_main_guard()\n"
        "def main():\n    require_main_guard()\nif __name__ == '__main__':\n    main()\n"
        "import multiprocessing\nif multiprocessing.parent_process() is None:\n    require_main_guard()\n",
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_that_is_being_started_is_told_by_its_parent(tmp_path):
    source = (
        "import multiprocessing, sys\n"
        "if __name__ == '__main__':\n"
        "    child = multiprocessing.get_context('spawn').Process(target=print)\n"
        "    child.start(); child.join(); sys.exit(child.exitcode)\n"
        "if __name__ == '__mp_main__':\n"
        "    require_main_guard()\n"
    )
    done = _run(tmp_path, GUARD + source)
    assert done.returncode == 1
    assert "a worker process that is being started would start a Dask cluster itself" in done.stderr


def test_a_cluster_of_threads_needs_no_guard(tmp_path):
    arguments = {"processes": False, "n_workers": 1, "protocol": "tcp://"}
    spec = {"class": "distributed.LocalCluster", "arguments": arguments}
    done = _run(tmp_path, f"import penstock as ps\nwith ps.DaskEngine({spec}) as engine:\n    print(engine.slots)\n")
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_what_is_typed_in_needs_no_guard():
    code = GUARD + "require_main_guard()"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == 0
