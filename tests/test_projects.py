"""A new project runs as it is, and what a project has is listed without running it."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.commands import main
from penstock.cli.projects.listing import list_pipelines
from penstock.cli.projects.new_project import new_project
from penstock.cli.projects.requests import ListPipelinesRequest, NewProjectRequest
from penstock.core.errors import ConfigError, OutputExistsError


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "demo"
    new_project(NewProjectRequest(folder=str(folder)))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.thorough
def test_the_pipeline_of_a_new_project_is_fitted_and_its_tests_pass(demo, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make_sample.py", "data/sample.parquet", "0"])
    runpy.run_path("data/make_sample.py", run_name="__main__")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    fit = ["fit", "demo", "--data", "data/sample.parquet", "--out", "models/demo", "--device", "cpu"]
    assert main(fit) == 0
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_names_stand_in_paths_and_in_texts(tmp_path):
    made = new_project(NewProjectRequest(folder=str(tmp_path / "churn_2")))
    assert {"pipelines/churn_2.py", "tests/test_churn_2.py", ".gitignore", "Makefile"} <= set(made.files)
    assert "penstock fit churn_2 " in (tmp_path / "churn_2" / "Makefile").read_text()


def test_an_empty_folder_is_filled_and_one_that_has_something_left_alone(tmp_path):
    folder = tmp_path / "demo"
    folder.mkdir()
    new_project(NewProjectRequest(folder=str(folder)))
    assert (folder / "pipelines" / "demo.py").is_file()
    before = sorted(folder.rglob("*"))
    with pytest.raises(OutputExistsError, match="demo is not empty"):
        new_project(NewProjectRequest(folder=str(folder)))
    assert sorted(folder.rglob("*")) == before


def test_a_name_that_is_none_of_a_module_is_refused_with_one_that_is(tmp_path):
    for name in ("My-Project", "2nd", "ünder", "a.b"):
        with pytest.raises(ConfigError, match="expected lower-case letters"):
            new_project(NewProjectRequest(folder=str(tmp_path / name)))
    assert list(tmp_path.iterdir()) == []


def test_where_no_folder_can_be_made_nothing_is_left(tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["init", str(tmp_path / "file" / "demo")]) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_modules_are_listed_by_what_they_define_and_none_is_run(tmp_path):
    sources = {
        "churn": '"""Who leaves.\n\nMore."""\nraise SystemExit\ndef build(parameters): ...',
        "days": '"""Days."""\ndef run(inputs, parameters): ...',
        "shared": "x = 1",
        "cut": "def (",
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
    listed = list_pipelines(ListPipelinesRequest(pipelines=str(tmp_path))).pipelines
    assert [(each.name, each.kind) for each in listed] == [
        ("churn", "pipeline"),
        ("cut", "module"),
        ("days", "etl"),
        ("shared", "module"),
    ]
    assert [each.summary for each in listed][0::2] == ["Who leaves.", "Days."]
    assert listed[1].summary.startswith("cannot be read: invalid syntax")


def test_a_folder_that_is_not_there_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["list"]) == 2
    assert "pipelines is no folder" in capsys.readouterr().err
