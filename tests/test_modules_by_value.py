"""Modules that lie beside a pipeline: imported here, and there on workers that have no such folder."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from small_projects import pipeline_module

from penstock.cli.project import load_pipeline
from penstock.core import by_value
from penstock.engines.base import Engine

SOURCE = pipeline_module('st.Clip("x", lower=0)')

HELPERS = """
import narwhals as nw
from penstock.stages.preprocessing import Log1p

FACTOR = 10

def scaled(frame):
    return frame.select(y=nw.col("x") * FACTOR)

class OwnStage(Log1p):
    pass
"""
LATE = """
def shifted(frame):
    return frame.with_columns(frame["y"] + 1)
"""
PIPELINE = (
    SOURCE
    + """
from helpers import OwnStage, scaled

def build(parameters):
    from parts.late import shifted
    ps.register_function("tests: scaled")(lambda frame: shifted(scaled(frame)))
    return ps.Pipeline(st.FunctionStage("tests: scaled", "x", {"y": "float64"}))
"""
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(by_value, "_folders", [])
    monkeypatch.setattr(by_value, "_appended", [])
    yield _project(tmp_path / "one")
    for module in by_value.modules_beside():
        del sys.modules[module.__name__]


def _project(root: Path, factor: int = 10) -> Path:
    (root / "pipelines" / "parts").mkdir(parents=True)
    (root / "pipelines" / "mine.py").write_text(PIPELINE)
    (root / "pipelines" / "helpers.py").write_text(HELPERS.replace("10", str(factor)))
    (root / "pipelines" / "parts" / "late.py").write_text(LATE)
    return root / "pipelines"


def _fit_transform(engine: Engine, folder: Path) -> list[float]:
    module = load_pipeline("mine", folder)
    data = engine.from_arrow(pa.table({"x": [1.0, 2.0]}))
    return module.build(module.parameters()).fit(data).transform(data).to_arrow()["y"].to_pylist()


def test_functions_of_modules_beside_a_pipeline_run_on_the_workers_of_every_engine(engine, folder):
    assert _fit_transform(engine, folder) == [11.0, 21.0]


def test_stages_of_modules_beside_a_pipeline_are_its_own(folder):
    assert list(load_pipeline("mine", folder).stages) == ["OwnStage"]


@pytest.mark.thorough
def test_each_pipeline_has_the_modules_of_its_own_folder(local, folder, tmp_path):
    other = _project(tmp_path / "two", factor=100)
    assert _fit_transform(local, folder) == [11.0, 21.0]
    assert _fit_transform(local, other) == [101.0, 201.0]
    assert str(folder) not in sys.path


def test_a_folder_that_was_taken_off_the_import_path_does_not_refuse_the_next_pipeline(folder, tmp_path):
    other = _project(tmp_path / "two")
    load_pipeline("mine", folder)
    sys.path.remove(str(folder))
    load_pipeline("mine", other)
    assert sys.path[-1] == str(other)


def test_a_pipeline_may_be_called_as_a_module_of_python_is(folder):
    (folder / "colorsys.py").write_text(SOURCE)
    sys.modules.pop("colorsys", None)
    load_pipeline("colorsys", folder)
    import colorsys

    assert colorsys.rgb_to_hsv(1, 0, 0) == (0.0, 1.0, 1)


def test_what_lies_below_the_folder_but_is_not_imported_from_it_is_no_module_beside_the_pipeline(folder, monkeypatch):
    site = folder / ".venv" / "site-packages"
    site.mkdir(parents=True)
    (site / "installed_for_test.py").write_text("")
    load_pipeline("mine", folder)
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])  # syspath_prepend would restore the path of this test
    __import__("installed_for_test")
    assert sorted(module.__name__ for module in by_value.modules_beside()) == ["helpers"]
    del sys.modules["installed_for_test"]
