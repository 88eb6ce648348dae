"""The pages of the reference: every public name of the library, in the packages that users import from."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from types import ModuleType

import penstock as ps
from penstock import stages
from penstock.stages.evaluation.base import Evaluator
from penstock.stages.registry import discover
from penstock.testing import tables
from tools.stage_table import FAMILIES, family

PACKAGES = {
    "penstock": "engines, datasets, pipelines, models, searches",
    "penstock.stages": "what stands in a pipeline: preprocessing, trainers, evaluators, networks",
    "penstock.selectors": "columns by what they are",
    "penstock.errors": "everything that Penstock raises",
    "penstock.rules": "rules over all rows of a dataset, and what a check reports",
    "penstock.runs": "records of runs, and what follows from them: time, energy, alarms, predictions, placement",
    "penstock.stat": "statistics of datasets, correlations and tests of hypotheses",
    "penstock.statistics": "what is learned from partitions and merged",
    "penstock.authoring": "the surface for stages, statistics, trainers, engines and formats of your own",
    "penstock.frames": "the door to dataframe libraries",
    "penstock.testing": "checks that a stage of your own can be put through",
    "penstock.integrations.sklearn": "pipelines as estimators of scikit-learn",
    "penstock.integrations.serving": "a model behind HTTP",
    "penstock.integrations.airflow": "jobs as tasks of Airflow",
    "penstock.integrations.mlflow": "models and runs in MLflow",
    "penstock.integrations.opentelemetry": "runs as traces and metrics of OpenTelemetry",
    "penstock.integrations.openlineage": "runs as events of OpenLineage",
}
"""All that users import from, and what is in it."""

INHERITED = {"penstock", "penstock.integrations.sklearn"}
"""Packages whose classes show what they inherit, as users call that on them."""

ALIKE = {"penstock.DaskEngine", "penstock.SparkEngine"}
"""Classes that show only what is theirs: the rest is as of `LocalEngine`."""

WITH_MEMBERS = {*INHERITED, "penstock.authoring", "penstock.frames", "penstock.selectors", "penstock.testing"}
"""Packages whose classes show their methods; those of others are the ones of their bases, in `penstock.authoring`."""


def public_names(package: str) -> list[str]:
    """Return the public names of a package: its `__all__`, or what it defines where it has none."""
    module = importlib.import_module(package)
    return [name for name in getattr(module, "__all__", None) or _defined(module) if not name.startswith("__")]


def paths() -> list[str]:
    """Return all public names with the package that users import them from."""
    return [f"{package}.{name}" for package in PACKAGES for name in public_names(package)]


def pages() -> dict[str, str]:
    """Return the pages of the reference, by their place below docs/."""
    found = {"reference/index.md": _index()}
    for package in PACKAGES:
        if package == "penstock.stages":
            found.update(_stage_pages())
        elif package.startswith("penstock.integrations"):
            text = found.get("reference/integrations.md", "# penstock.integrations\n")
            found["reference/integrations.md"] = text + _objects(package, public_names(package), heading=2)
        else:
            page = package.removeprefix("penstock.")
            found[f"reference/{page}.md"] = _objects(package, public_names(package), heading=1)
    return found


def page_of_family(name: str) -> str:
    """Return the page of the stages of a family.

    Examples
    --------
    >>> page_of_family("Text and lists")
    'reference/stages/text-and-lists.md'
    """
    return f"reference/stages/{name.lower().replace(' ', '-')}.md"


def _stage_pages() -> dict[str, str]:
    schema = ps.LocalEngine(device="cpu").from_arrow(tables.ordinary()).schema
    names: dict[str, list[str]] = {each: [] for each in FAMILIES}
    for name in public_names("penstock.stages"):
        kind = getattr(stages, name)
        group = "Evaluation" if issubclass(kind, Evaluator) else family(discover()[name], schema)
        names[group].append(name)
    return {page_of_family(each): f"# {each}\n\n" + _names("penstock.stages", names[each], 2) for each in FAMILIES}


def _index() -> str:
    lines = (f"| `{name}` | {what} | {len(public_names(name))} |\n" for name, what in PACKAGES.items())
    head = "# Reference\n\nWhat is here keeps its name; other modules may change from version to version.\n\n"
    return f"{head}| import from | | names |\n| --- | --- | --- |\n{''.join(lines)}"


def _objects(package: str, names: Iterable[str], heading: int) -> str:
    about = inspect.getdoc(importlib.import_module(package)) or ""
    title = f"{'#' * heading} {package}\n\n{about.split(chr(10) + chr(10))[0]}\n\n"
    return title + _names(package, names, heading + 1)


def _names(package: str, names: Iterable[str], heading: int) -> str:
    return "".join(_object(f"{package}.{name}", package, heading) for name in names)


def _object(path: str, package: str, heading: int) -> str:
    inherited = package in INHERITED and path not in ALIKE
    options = {"heading_level": heading, "inherited_members": inherited}
    if package not in WITH_MEMBERS:
        options["members"] = False
    text = "".join(f"      {name}: {str(value).lower()}\n" for name, value in options.items())
    note = "Readers, queries and all else that engines have in common: see `LocalEngine`.\n\n" if path in ALIKE else ""
    return f"::: {path}\n    options:\n{text}\n{note}"


def _defined(module: ModuleType) -> list[str]:
    members = inspect.getmembers(module, inspect.isfunction)
    return [name for name, member in members if member.__module__ == module.__name__ and name[0] != "_"]
