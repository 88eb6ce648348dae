"""The pages of docs/: what they say of the stages is so, and the code on them runs."""

import doctest
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import penstock as ps
from penstock import authoring, stages
from penstock.io.formats import FORMATS
from penstock.stages.registry import discover
from penstock.testing import examples_of, tables
from penstock.testing.cases import trains
from tools import stage_table

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@cache
def cells_of_stages() -> list[list[str]]:
    """Return the cells of the rows of all tables of docs/stages.md."""
    lines = (DOCS / "stages.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split(" | ")] for line in lines if line.startswith("| `")]


@pytest.fixture
def page_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A module for the code of a page: stages are pickled by the name of theirs. Formats of a page end with it."""
    module = types.ModuleType("code_of_a_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    known = dict(FORMATS)
    yield module
    FORMATS.clear()
    FORMATS.update(known)


def _run(page: Path, module: types.ModuleType) -> None:
    """Run the blocks of a page one after the other; those with prompts have to give what they show."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        block, line = found[1], text[: found.start()].count("\n") + 1
        if block.startswith(">>>"):
            _run_session(block, module, f"{page.name}, line {line}")
        else:
            exec(compile("\n" * line + block, page, "exec"), vars(module))


def _run_session(block: str, module: types.ModuleType, place: str) -> None:
    session = doctest.DocTestParser().get_doctest(block, {}, place, None, 0)
    session.globs = vars(module)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=told.append, clear_globs=False)
    assert not told, "".join(told)


@pytest.mark.slow
def test_the_code_on_own_stages_runs(page_module, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    _run(DOCS / "own-stages.md", page_module)


SHORT = (
    "relational", "etl", "storage", "persist", "describe", "rules", "energy", "alarms", "runs", "vectors", "refit",
    "telemetry", "placement", "scaling", "parameters", "own-statistic", "own-engine", "own-format", "own-pipeline",
)  # fmt: skip
LONG = ("search", "training", "export", "drift", "evaluation", "own-trainer")


@pytest.mark.parametrize("page", [*SHORT, *(pytest.param(page, marks=pytest.mark.thorough) for page in LONG)])
def test_the_code_on_a_page_runs(page, page_module):
    _run(DOCS / f"{page}.md", page_module)


@pytest.mark.spark
@pytest.mark.thorough
def test_the_code_on_spark_runs(page_module, engines):
    engines.get("spark")
    _run(DOCS / "spark.md", page_module)


def test_files_of_the_checkout_that_commands_name_are_there():
    command = re.compile(r"(?<![\w/.])(?:jobs|tools|conf/(?!local/)\w+)/[\w-]+\.\w+")
    for page in ("docs/spark.md", "docs/dask.md", "docs/kubernetes.md", "jobs/README.md"):
        named = command.findall((DOCS.parent / page).read_text(encoding="utf-8"))
        assert named, page
        assert [path for path in named if not (DOCS.parent / path).is_file()] == []


PUBLIC = {"authoring", "devices", "errors", "frames", "selectors", "stages", "stat", "statistics", "testing"}


def test_the_surface_for_authors_is_small_and_sorted_and_all_that_is_needed():
    assert [name for name in authoring.__all__ if not hasattr(authoring, name)] == []
    assert authoring.__all__ == sorted(authoring.__all__)
    assert len(authoring.__all__) <= 36
    for page in DOCS.glob("own-*.md"):
        imports = re.findall(r"^(?:>>> )?from penstock\.(\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(imports) <= PUBLIC, page.name


@pytest.mark.thorough
def test_the_template_passes_its_own_test(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "templates")
    test = importlib.import_module("test_own_stage").test_own_stage
    (mark,) = test.pytestmark
    for check in mark.args[1]:
        test(check)


def test_the_table_is_what_the_stages_say_and_names_the_engines_of_the_conformance_suite(pytestconfig):
    assert stage_table.PAGE.read_text(encoding="utf-8") == stage_table.page(), "run: make docs"
    assert sorted(cells[0].strip("| `") for cells in cells_of_stages()) == sorted(stages.__all__)
    suite = pytestconfig.pluginmanager.getplugin(str(DOCS.parent / "tests" / "conftest.py"))
    assert tuple(name.lower() for name in stage_table.ENGINES) == suite.ENGINES


def test_a_table_that_differs_is_refused_and_left_alone(monkeypatch, tmp_path, capsys):
    page = tmp_path / "stages.md"
    page.write_text("# Stages")
    monkeypatch.setattr(stage_table, "PAGE", page)
    monkeypatch.setattr(stage_table, "page", lambda: "# Stages, all of them")
    monkeypatch.setattr(sys, "argv", ["stage_table.py", "--check"])
    assert stage_table.main() == 1
    assert "run: make docs" in capsys.readouterr().err
    assert page.read_text() == "# Stages"


@pytest.mark.thorough
def test_a_stage_that_is_said_to_have_a_row_function_has_one(local, subtests):
    of_stages = [cells for cells in cells_of_stages() if len(cells) == len(stage_table.STAGE_COLUMNS)]
    said = {cells[0].strip("| `"): cells[6] == "yes" for cells in of_stages}
    data = local.from_arrow(tables.ordinary())
    for name, kind in discover().items():
        examples = examples_of(kind)
        if not any(map(trains, examples)):
            with subtests.test(stage=name):
                models = [ps.Pipeline(example).fit(data) for example in examples]
                found = [model.stages[0].row_function(model.schema, model.fitted[0]) for model in models]
                assert any(function is not None for function in found) == said[name]


@pytest.mark.parametrize("place, package", [(0, "pyspark.ml"), (1, "sklearn")])
def test_counterparts_are_classes_of_the_library(place, package):
    pytest.importorskip(package.partition(".")[0])
    for name, paths in stage_table.COUNTERPARTS.items():
        assert name in stages.__all__
        for path in paths[place].split():
            module, _, kind = f"{package}.{path}".rpartition(".")
            assert inspect.isclass(getattr(importlib.import_module(module), kind, None)), f"{name}: {path}"
