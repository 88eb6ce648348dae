"""The documentation as a site: its generated pages say what is so; the build, in `make check`, looks at its links."""

import pkgutil
import re
from pathlib import Path

import clicks
import pytest

import penstock as ps
from penstock import errors, integrations
from tools import coming_from, error_table
from tools.site import docstrings, reference, repository

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_landing_page_has_the_quick_start_of_the_readme():
    page, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/index.md", "README.md"))
    assert BLOCK.findall(page) == BLOCK.findall(readme)[:1]


@pytest.mark.thorough
def test_the_quick_start_runs(monkeypatch, tmp_path, capsys):
    clicks.write(tmp_path / "data" / "samples" / "clicks", 2_000)
    monkeypatch.chdir(tmp_path)
    (block,) = BLOCK.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    exec(compile(block, "docs/index.md", "exec"), {})
    assert "areaUnderROC" in capsys.readouterr().out
    assert ps.LocalEngine().read_parquet(tmp_path / "out" / "tour").count() > 300


def test_the_reference_has_every_public_name_once():
    pages = "".join(reference.pages().values())
    assert sorted(re.findall(r"^::: (\S+)$", pages, re.MULTILINE)) == sorted(reference.paths())


def test_every_package_that_users_import_from_is_in_the_reference():
    optional = {f"penstock.integrations.{module.name}" for module in pkgutil.iter_modules(integrations.__path__)}
    assert set(reference.PACKAGES) == {"penstock", *(f"penstock.{name}" for name in ps._MODULES), *optional}


def test_the_page_of_errors_says_when_each_is_raised_and_what_to_do():
    assert error_table.PAGE.read_text(encoding="utf-8") == error_table.page(), "run: make docs"
    for name in errors.__all__:
        if name != "PenstockError":
            *_, when, what = error_table.cells(getattr(errors, name))
            assert (when[-1:], what[-1:]) == (".", "."), name


@pytest.mark.thorough
def test_pages_for_users_of_other_libraries_are_up_to_date_and_name_what_exists():
    for file, text in coming_from.pages().items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: run make docs"
    for library in coming_from.DATA.values():
        for _, names, _ in library["around"]:
            assert [name for name in names.split() if coming_from.ours(name) is None] == []
    assert coming_from.unsaid("mllib") == []


@pytest.mark.parametrize("library", [library for library, data in coming_from.DATA.items() if "module" in data])
def test_names_of_an_installed_library_exist_and_every_estimator_is_on_its_page(library):
    assert [path for path in coming_from.said(library) if coming_from.theirs(library, path) is None] == []
    names = set(re.findall(r"`(?:\w+\.)*(\w+)`", coming_from.page(library)))
    assert [path for path in coming_from.public_estimators(library) if path.rpartition(".")[2] not in names] == []


def test_links_out_of_docs_lead_to_pages_of_what_they_name():
    text = "[a](../dags/trips.py) [b](../jobs/README.md#schedulers) [c](etl.md) [d](https://example.com) [e](#here)"
    assert repository.rewrite(text, "docs/airflow.md", "airflow.md") == (
        "[a](repository/dags/trips.py.md) [b](repository/jobs.md#schedulers) [c](etl.md) [d](https://example.com)"
        " [e](#here)"
    )
    pages = repository.pages({"docs/here.md": "[jobs](../jobs/README.md) [pipelines](../pipelines) [gone](../gone.py)"})
    assert {"jobs/README.md", "pipelines", "pipelines/clicks.py"} <= pages.keys()
    assert "gone.py" not in pages


def test_a_notebook_is_a_page_of_its_texts_and_code():
    page = repository.pages({"docs/dask.md": "[dask](../notebooks/dask.ipynb)"})["notebooks/dask.ipynb"]
    assert page.startswith("# Penstock on your Dask cluster\n")
    assert "\n```python\nclient = Client(" in page
    assert page.count("```") % 2 == 0


def test_a_table_in_a_docstring_becomes_one_of_markdown():
    text = "Text.\n\n=====  ======\nname   is\n=====  ======\na      ``x | y``\n       and z\n=====  ======\n\nMore."
    assert docstrings.as_markdown(text) == "Text.\n\n| name | is |\n| --- | --- |\n| a | ``x \\| y`` and z |\n\nMore."
