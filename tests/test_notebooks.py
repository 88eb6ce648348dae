"""The notebooks: they run from the first cell to the last in a kernel of their own, and show what they promise."""

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

from tools import notebooks

ROOT = Path(__file__).resolve().parents[1]
STORED = sorted(notebooks.FOLDER.glob("*.ipynb"))
MARKS = {"dask": [pytest.mark.dask], "gpu": [pytest.mark.dask], "spark": [pytest.mark.spark]}
NAMES = [pytest.param(path.stem, marks=MARKS.get(path.stem, [])) for path in STORED]
FEWER = {"spark": 2, "search": 3, "gpu": 2}
"""On how many of the seven days a notebook runs here: what is promised of it is so of fewer trips."""

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
            (data,) = [cell for cell in book.cells if cell.id == "data"]
            data.source = data.source.replace("in range(7)", f"in range({FEWER.get(name, 7)})")
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
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient

    work, temporary = folder / "work", folder / "temporary"
    for each in (work, temporary):
        each.mkdir()
    mine = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    environment = os.environ | dict.fromkeys(mine, str(folder / "jupyter"))
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, folder))), "TMPDIR": str(temporary)}
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


def test_all_notebooks_make_the_same_trips_and_are_listed_on_their_page():
    books = [nbformat.read(path, as_version=4) for path in STORED]
    makers = [[cell.source for cell in book.cells if cell.id == "data"] for book in books]
    assert [len(each) for each in makers] == [1] * len(STORED)
    assert len({source for (source,) in makers}) == 1
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

    def test_a_cell_without_an_id_of_its_own_is_refused(self, saved):
        book = json.loads(saved.read_text(encoding="utf-8"))
        book["cells"][1]["id"] = "title"
        with pytest.raises(Warning, match="Non-unique cell id"):
            notebooks.kept(json.dumps(book))
        del book["cells"][1]["id"]
        with pytest.raises(Warning, match="missing an id"):
            notebooks.kept(json.dumps(book))


@pytest.mark.services  # a kernel
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_without_an_error_or_a_warning_and_leaves_nothing_behind(name, executed):
    run = executed(name)
    assert [(error.ename, error.evalue) for error in run.outputs("error")] == []
    assert [line for line in run.told if name not in SAYS_ITSELF or not SAYS_ITSELF[name].fullmatch(line)] == []
    assert run.left_behind == []


@pytest.mark.services
def test_the_local_notebook_shows_what_it_promises(executed, subtests):
    run = executed("local")
    with subtests.test("the dataset shows its rows, files and columns"):
        page = run.page("read")
        assert {"rows 21,000", "files 7"} <= set(page.of("span"))
        assert page.of("th")[2:] == ["zone", "pickup", "miles", "passengers", "payment", "tip"]
    with subtests.test("the zones tip as the data was made"):
        zones = re.findall(r"Airport|Harbour|Market|Old Town|University", run.text("look"))
        assert zones == ["Airport", "Harbour", "Market", "Old Town", "University"]
    with subtests.test("the plan promises the scans that the fit draws"):
        (plan,) = run.page("pipeline").of("pre")
        assert "1 scan(s)" in plan.splitlines()[0]
        assert run.progress("fit") == ["scan 1 of 1 1/1", "train XGBoostClassifier 40/40"]
    with subtests.test("the model shows its stages"):
        stages = "PipelineModel DateParts Imputer Log1p StandardScaler StringIndexer XGBoostClassifier"
        assert run.page("fit").of("b") == stages.split()
    with subtests.test("the evaluation shows metrics and the page of curves"):
        page = run.page("evaluate")
        values = dict(zip(page.of("th")[2:], page.of("td")[::3], strict=True))
        assert 0.7 < float(values["areaUnderROC"]) < 0.85
        (frame,) = [attributes for tag, attributes in page.tags if tag == "iframe"]
        assert "University" in frame["srcdoc"]
    with subtests.test("the features that matter are those of which tips were made"):
        features = re.findall(r"(\w+) +┆ \d", run.text("explain"))
        assert set(features[:3]) == {"zone_code", "payment_code", "miles"}
    with subtests.test("a trip by card gets a tip more likely than one in cash"):
        card, cash = re.findall(r"'probability': ([\d.]+)", run.text("predict"))
        assert float(card) > float(cash)


@pytest.mark.dask
@pytest.mark.services
def test_the_notebook_of_dask_shows_what_it_promises(executed, subtests):
    run = executed("dask")
    with subtests.test("the engine shows its workers and links to the dashboard"):
        page = run.page("cluster")
        assert "workers 2" in page.of("span")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/status", *page.of("a"))
    with subtests.test("a fit draws a bar for each scan of all fragments"):
        assert run.progress("fit")[:1] == ["scan 1 of 1 7/7"]
    with subtests.test("a frame of Dask becomes a dataset and one of Dask again"):
        assert "engine dask" in run.page("from-dask").of("span")
        assert re.findall(r"^[A-Z]\w+", run.text("to-dask"), re.MULTILINE)[:2] == ["Airport", "Harbour"]
    with subtests.test("a model scores a frame of Dask"):
        assert run.page("transform").of("th")[:5] == ["zone", "payment", "tip", "probability", "prediction"]
    with subtests.test("one process learns the same to the bit"):
        assert run.text("digest") == "True"


@pytest.mark.spark
@pytest.mark.services
def test_the_notebook_of_spark_shows_what_it_promises(executed, subtests):
    run = executed("spark")
    with subtests.test("the engine shows its master"):
        assert any(text.startswith("master local[2") for text in run.page("session").of("span"))
    for cell in ("sql", "to-spark", "udf"):
        with subtests.test("zones of a query come in the order in which they tip", cell=cell):
            rows = re.findall(r"^│ (?:[A-Z]\w+ ?)+ *┆.*?(0\.\d+)", run.text(cell), re.MULTILINE)
            assert len(rows) == 5
            assert rows == sorted(rows, reverse=True)
    with subtests.test("a frame of Spark becomes a dataset"):
        assert "engine spark" in run.page("from-spark").of("span")


@pytest.mark.services
def test_the_notebook_on_searches_shows_what_it_promises(executed, subtests):
    run = executed("search")
    with subtests.test("the trials come with the best first, which takes the logarithm as tips do"):
        page = run.page("grid-result")
        assert page.of("th")[:5] == ["trial", "log", "model.reg_param", "areaUnderROC", "std"]
        values = page.of("td")
        assert values[2::4] == sorted(values[2::4], reverse=True)
        assert values[0] == "Log1p(columns=['miles'])"
    with subtests.test("what Optuna proposed is told as it went on"):
        assert "trials 8" in run.page("optuna").of("span")
        assert any(line.startswith("8 of 8 trials: the best has areaUnderROC") for line in run.progress("optuna"))
    with subtests.test("the model ends with a calibration and a threshold"):
        assert run.page("after").of("b")[-2:] == ["ProbabilityCalibrator", "ThresholdTuner"]
    with subtests.test("the threshold is near the one that costs of 1 and 3 imply"):
        (threshold,) = re.findall(r"^\((0\.\d+)", run.text("threshold"))
        assert float(threshold) == pytest.approx(1 / (1 + 3), abs=0.06)


@pytest.mark.dask
@pytest.mark.services
def test_what_a_gpu_learns_stands_beside_what_cpus_learn(executed):
    text = executed("gpu").text("compare")
    rows = re.findall(r"^│ (\w+) +┆ ([\d.]+) +┆ ([\d.]+)", text, re.MULTILINE)
    assert len(rows) == 6
    for metric, on_gpu, on_cpu in rows:
        assert float(on_gpu) == pytest.approx(float(on_cpu), abs=0.02), metric
