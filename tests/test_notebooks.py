"""The notebooks: they run from the first cell to the last in a kernel of their own, and show what they promise."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest
from displays import Page
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

from tools import notebooks

ROOT = Path(__file__).resolve().parents[1]
STORED = sorted(notebooks.FOLDER.glob("*.ipynb"))
MARKS = {"dask": [pytest.mark.dask], "gpu": [pytest.mark.dask], "spark": [pytest.mark.spark]}
NAMES = [pytest.param(path.stem, marks=MARKS.get(path.stem, [pytest.mark.thorough])) for path in STORED]

SECONDS_OF_A_CELL = 120
# Its workers are threads, which start sooner.
STAND_IN = """
import distributed


class LocalCUDACluster(distributed.LocalCluster):
    def __init__(self, *, CUDA_VISIBLE_DEVICES, **arguments):
        super().__init__(n_workers=len(CUDA_VISIBLE_DEVICES.split(",")), processes=False, protocol="tcp", **arguments)
"""
# What the launcher of Spark, its JVM, and its logger until it has read its level, print whatever one does.
SPARK_STARTS = re.compile(
    r"WARNING: .*|Using Spark's default log4j profile: .*|Setting default log level to .*|To adjust logging level .*"
    r"|\d\d/\d\d/\d\d \S+ WARN NativeCodeLoader: .*|Setting Spark log level to .*|"
)
# A nanny of Dask says so after 4 seconds, which a worker takes to end on a machine that does much else.
DASK_ENDS = re.compile(r".* - distributed\.nanny - WARNING - Worker process still alive after 4\.0 seconds, killing")
SAYS_ITSELF = {"spark": SPARK_STARTS, "dask": DASK_ENDS}


class Executed:
    """A notebook after its run."""

    def __init__(self, book: nbformat.NotebookNode, left_behind: list[Path]) -> None:
        self.left_behind = left_behind
        self.cells = {cell.id: cell for cell in book.cells if cell.cell_type == "code"}

    def outputs(self, kind: str) -> list[nbformat.NotebookNode]:
        return [each for cell in self.cells.values() for each in cell.outputs if each.output_type == kind]

    @property
    def told(self) -> list[str]:
        """Lines on stderr."""
        return "".join(each.text for each in self.outputs("stream") if each.name == "stderr").splitlines()

    def text(self, cell: str) -> str:
        """Return the result of a cell as a prompt shows it."""
        return self._result(cell, "execute_result")["text/plain"]

    def page(self, cell: str) -> Page:
        """Return the result of a cell as the notebook shows it."""
        return Page(self._result(cell, "execute_result")["text/html"])

    def progress(self, cell: str) -> list[str]:
        """Return the lines of the progress that a cell has drawn, without their times."""
        return re.sub(r" \d+\.\d s", "", self._result(cell, "display_data")["text/plain"]).splitlines()

    def _result(self, cell: str, kind: str) -> dict[str, str]:
        (output,) = [each for each in self.cells[cell].outputs if each.output_type == kind]
        return output["data"]


@pytest.fixture(scope="session")
def executed(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Executed]:
    """A function that runs a notebook by its name, once a run of the tests."""
    runs: dict[str, Executed] = {}

    def run(name: str) -> Executed:
        if name not in runs:
            book = nbformat.read(notebooks.FOLDER / f"{name}.ipynb", as_version=4)
            folder = tmp_path_factory.mktemp(name)
            if name == "gpu" and pytestconfig.getoption("--device") == "cpu":
                _replace_gpu(book, folder)
            runs[name] = _run(book, folder)
        return runs[name]

    return run


def _replace_gpu(book: nbformat.NotebookNode, folder: Path) -> None:
    (cell,) = [cell for cell in book.cells if 'device="gpu"' in cell.source and cell.cell_type == "code"]
    cell.source = cell.source.replace('device="gpu"', 'device="cpu"')
    (folder / "dask_cuda.py").write_text(STAND_IN)


def _run(book: nbformat.NotebookNode, folder: Path) -> Executed:
    """Run a notebook in a new folder, with temporary folders of its own, in the Python of the tests."""
    work, temporary = folder / "work", folder / "temporary"
    for each in (work, temporary):
        each.mkdir()
    mine = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    environment = os.environ | dict.fromkeys(mine, str(folder / "jupyter"))
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, folder))), "TMPDIR": str(temporary)}
    # A JVM of tests ends before it is compiled well.
    environment["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    with TemporaryDirectory() as sockets:  # whose paths have to be short
        python_of_the_tests = KernelSpecManager(kernel_dirs=[])
        manager = AsyncKernelManager(
            kernel_spec_manager=python_of_the_tests, transport="ipc", ip=f"{sockets}/kernel", autorestart=False
        )
        resources = {"metadata": {"path": str(work)}}
        client = NotebookClient(book, km=manager, timeout=SECONDS_OF_A_CELL, resources=resources, allow_errors=True)
        client.execute(env=environment, cleanup_kc=True)
    left = (path for each in (work, temporary) for path in each.iterdir())
    return Executed(book, [path for path in left if path.name != "dask-scratch-space"])  # Dask keeps it for its locks


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs_and_notes_of_an_editor(path):
    assert notebooks.kept(path.read_text(encoding="utf-8")) == path.read_text(encoding="utf-8")


def test_all_notebooks_make_the_same_trips():
    books = [nbformat.read(path, as_version=4) for path in STORED]
    makers = [[cell.source for cell in book.cells if cell.id == "data"] for book in books]
    assert [len(each) for each in makers] == [1] * len(STORED)
    assert len({source for (source,) in makers}) == 1


def test_all_notebooks_are_listed_on_their_page():
    page = (notebooks.FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[(\w+\.ipynb)\]\(\1\)", page, re.MULTILINE)) == [path.name for path in STORED]


class TestStored:
    """What the tool makes of a notebook that was saved in an editor."""

    @pytest.fixture
    def saved(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder with a notebook that was run and saved."""
        book = json.loads(STORED[0].read_text(encoding="utf-8"))
        book["metadata"]["language_info"]["version"] = "3.11.7"
        for cell in book["cells"]:
            cell["metadata"] = {"collapsed": True}
            if cell["cell_type"] == "code":
                output = {"output_type": "stream", "name": "stdout", "text": ["7\n"]}
                cell |= {"execution_count": 3, "outputs": [output]}
        path = tmp_path / STORED[0].name
        path.write_text(json.dumps(book), encoding="utf-8")
        monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
        return path

    def test_outputs_and_notes_are_removed_and_the_rest_stays(self, saved, monkeypatch):
        monkeypatch.setattr(sys, "argv", ["notebooks.py"])
        assert notebooks.main() == 0
        assert saved.read_text(encoding="utf-8") == STORED[0].read_text(encoding="utf-8")

    def test_a_check_names_the_notebook_and_changes_nothing(self, saved, monkeypatch, capsys):
        before = saved.read_text(encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["notebooks.py", "--check"])
        assert notebooks.main() == 1
        assert saved.name in capsys.readouterr().err
        assert saved.read_text(encoding="utf-8") == before

    @pytest.mark.parametrize("identity", [None, "title"])
    def test_a_cell_without_an_id_of_its_own_is_refused(self, saved, identity):
        book = json.loads(saved.read_text(encoding="utf-8"))
        book["cells"][1]["id"] = identity
        if identity is None:
            del book["cells"][1]["id"]
        with pytest.raises(Warning, match=r"missing an id|Non-unique cell id"):
            notebooks.kept(json.dumps(book))


class TestEvery:
    @pytest.mark.parametrize("name", NAMES)
    def test_it_runs_without_an_error(self, name, executed):
        assert [(error.ename, error.evalue) for error in executed(name).outputs("error")] == []

    @pytest.mark.parametrize("name", NAMES)
    def test_it_warns_of_nothing(self, name, executed):
        lines = executed(name).told
        assert [line for line in lines if name not in SAYS_ITSELF or not SAYS_ITSELF[name].fullmatch(line)] == []

    @pytest.mark.parametrize("name", NAMES)
    def test_it_leaves_nothing_behind(self, name, executed):
        assert executed(name).left_behind == []


class TestLocal:
    def test_the_dataset_shows_its_rows_files_and_columns(self, executed):
        page = executed("local").page("read")
        assert {"rows 21,000", "files 7"} <= set(page.of("span"))
        assert page.of("th")[2:] == ["zone", "pickup", "miles", "passengers", "payment", "tip"]

    def test_the_zones_tip_as_the_data_was_made(self, executed):
        zones = re.findall(r"Airport|Harbour|Market|Old Town|University", executed("local").text("look"))
        assert zones == ["Airport", "Harbour", "Market", "Old Town", "University"]

    def test_the_plan_promises_the_scans_that_the_fit_draws(self, executed):
        run = executed("local")
        (plan,) = run.page("pipeline").of("pre")
        assert "1 scan(s)" in plan.splitlines()[0]
        assert run.progress("fit") == ["scan 1 of 1 1/1", "train XGBoostClassifier 40/40"]

    def test_the_model_shows_its_stages(self, executed):
        assert executed("local").page("fit").of("b") == [
            "PipelineModel", "DateParts", "Imputer", "Log1p", "StandardScaler", "StringIndexer", "XGBoostClassifier",
        ]  # fmt: skip

    def test_the_evaluation_shows_metrics_and_the_page_of_curves(self, executed):
        page = executed("local").page("evaluate")
        values = dict(zip(page.of("th")[2:], page.of("td")[::3], strict=True))
        assert 0.7 < float(values["areaUnderROC"]) < 0.85
        (frame,) = [attributes for tag, attributes in page.tags if tag == "iframe"]
        assert "University" in frame["srcdoc"]

    def test_the_features_that_matter_are_those_of_which_tips_were_made(self, executed):
        features = re.findall(r"(\w+) +┆ \d", executed("local").text("explain"))
        assert set(features[:3]) == {"zone_code", "payment_code", "miles"}

    def test_a_trip_by_card_gets_a_tip_more_likely_than_one_in_cash(self, executed):
        card, cash = re.findall(r"'probability': ([\d.]+)", executed("local").text("predict"))
        assert float(card) > float(cash)


@pytest.mark.dask
class TestDask:
    def test_the_engine_shows_its_workers_and_links_to_the_dashboard(self, executed):
        page = executed("dask").page("cluster")
        assert "workers 2" in page.of("span")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/status", *page.of("a"))

    def test_a_fit_draws_a_bar_for_each_scan_of_all_fragments(self, executed):
        assert executed("dask").progress("fit")[:1] == ["scan 1 of 1 7/7"]

    def test_a_frame_of_dask_becomes_a_dataset_and_one_of_dask_again(self, executed):
        run = executed("dask")
        assert "engine dask" in run.page("from-dask").of("span")
        assert re.findall(r"^[A-Z]\w+", run.text("to-dask"), re.MULTILINE)[:2] == ["Airport", "Harbour"]

    def test_a_model_scores_a_frame_of_dask(self, executed):
        assert executed("dask").page("transform").of("th")[:5] == [
            "zone",
            "payment",
            "tip",
            "probability",
            "prediction",
        ]

    def test_one_process_learns_the_same_to_the_bit(self, executed):
        assert executed("dask").text("digest") == "True"


@pytest.mark.spark
class TestSpark:
    def test_the_engine_shows_its_master(self, executed):
        assert any(text.startswith("master local[2") for text in executed("spark").page("session").of("span"))

    @pytest.mark.parametrize("cell", ["sql", "to-spark", "udf"])
    def test_zones_of_a_query_come_in_the_order_in_which_they_tip(self, cell, executed):
        rows = re.findall(r"^│ (?:[A-Z]\w+ ?)+ *┆.*?(0\.\d+)", executed("spark").text(cell), re.MULTILINE)
        assert len(rows) == 5
        assert rows == sorted(rows, reverse=True)

    def test_a_frame_of_spark_becomes_a_dataset(self, executed):
        assert "engine spark" in executed("spark").page("from-spark").of("span")


@pytest.mark.thorough
class TestSearch:
    def test_the_trials_come_with_the_best_first_which_takes_the_logarithm_as_tips_do(self, executed):
        page = executed("search").page("grid-result")
        assert page.of("th")[:5] == ["trial", "log", "model.reg_param", "areaUnderROC", "std"]
        values = page.of("td")
        assert values[2::4] == sorted(values[2::4], reverse=True)
        assert values[0] == "Log1p(columns=['miles'])"

    def test_what_optuna_proposed_is_told_as_it_went_on(self, executed):
        run = executed("search")
        assert "trials 8" in run.page("optuna").of("span")
        assert any(line.startswith("8 of 8 trials: the best has areaUnderROC") for line in run.progress("optuna"))

    def test_the_model_ends_with_a_calibration_and_a_threshold(self, executed):
        assert executed("search").page("after").of("b")[-2:] == ["ProbabilityCalibrator", "ThresholdTuner"]

    def test_the_threshold_is_near_the_one_that_costs_of_1_and_3_imply(self, executed):
        (threshold,) = re.findall(r"^\((0\.\d+)", executed("search").text("threshold"))
        assert float(threshold) == pytest.approx(1 / (1 + 3), abs=0.06)


@pytest.mark.dask
def test_what_a_gpu_learns_stands_beside_what_cpus_learn(executed):
    text = executed("gpu").text("compare")
    rows = re.findall(r"^│ (\w+) +┆ ([\d.]+) +┆ ([\d.]+)", text, re.MULTILINE)
    assert len(rows) == 6
    for metric, on_gpu, on_cpu in rows:
        assert float(on_gpu) == pytest.approx(float(on_cpu), abs=0.02), metric
