"""Writes docs/coming-from/ from the stages' counterparts, installed libraries, and docs/coming_from.toml."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import penstock as ps
from penstock import stages
from tools.pages import code, table, write_or_check
from tools.stage_table import COUNTERPARTS

DOCS = Path(__file__).resolve().parents[1] / "docs"
DATA: dict[str, dict[str, Any]] = tomllib.loads((DOCS / "coming_from.toml").read_text(encoding="utf-8"))
COLUMNS = {"inputCol", "inputCols", "outputCol", "outputCols", "featuresCol", "labelCol", "predictionCol", "weightCol"}
"""What names columns in MLlib, of which its page says in general how they are named here."""

WRAPPED = """## By `SklearnEstimator`

`SklearnEstimator(estimator, ...)` fits an estimator on one rank, on a matrix of all rows in memory, and scores every
partition where it is. What could not be saved is refused before the fit: of neighbours what has a tree, as most have
unless `algorithm="brute"`, and what is below.

"""


def ours(name: str) -> Any:
    """Return what a name of Penstock names: of `penstock`, below it, or of `penstock.stages`."""
    return getattr(stages, name) if name in stages.__all__ else attrgetter(name)(ps)


def theirs(library: str, path: str) -> Any:
    """Return what a name below the package of an installed library names."""
    module, _, name = f"{DATA[library]['module']}.{path}".rpartition(".")
    return getattr(importlib.import_module(module), name)


def counterparts(library: str) -> dict[str, list[str]]:
    """Return by the path of a class of MLlib or scikit-learn the stages that are like it."""
    found: dict[str, list[str]] = {}
    for stage, (mllib, sklearn) in COUNTERPARTS.items():
        for path in {"mllib": mllib, "scikit-learn": sklearn}[library].split():
            found.setdefault(path, []).append(stage)
    return dict(sorted(found.items()))


def public_estimators(library: str) -> list[str]:
    """Return the paths of all estimators and evaluators that a library has."""
    if DATA[library].get("estimators"):
        from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
        from sklearn.utils import all_estimators  # of experimental ones those that anyone in this process has enabled

        return sorted(_public_path(kind) for _, kind in all_estimators())
    names = (
        (module, name)
        for module in DATA[library]["modules"]
        for name in importlib.import_module(f"{DATA[library]['module']}.{module}").__all__
    )
    return sorted(f"{module}.{name}" for module, name in names if not name.endswith(("Model", "Summary", "Evaluator")))


def said(library: str) -> list[str]:
    """Return the paths of which the data of a library says something."""
    return [line[0] for part in ("around", "absent") for line in DATA[library][part]]


def unsaid(library: str) -> list[str]:
    """Return the paths of a library's estimators that have no counterpart, and of which nothing is said."""
    known = {*counterparts(library), *said(library)}
    return [path for path in public_estimators(library) if path not in known]


def parameters(library: str, path: str, names: Iterable[str]) -> tuple[str, str]:
    """Return the cells of the parameters that a class shares with stages, with other defaults, and of its others.

    Examples
    --------
    >>> parameters("mllib", "feature.StandardScaler", ["StandardScaler"])
    ('`with_mean` (False; here True), `with_std`', '')
    """
    own = {name: each for stage in names for name, each in inspect.signature(ours(stage)).parameters.items()}
    shared, others = [], []
    for name, parameter in inspect.signature(theirs(library, path)).parameters.items():
        same = renamed(library, name)
        if name in COLUMNS:
            continue
        if same in own:
            cell = f"`{name}` is `{same}`" if name in DATA[library]["renamed"] else f"`{same}`"
            shared.append(f"{cell}{_other_default(parameter, own[same])}")
        else:
            others.append(f"`{name}`")
    return ", ".join(shared), ", ".join(others)


def renamed(library: str, parameter: str) -> str:
    """Return what a parameter of a library is called here, if it is there.

    Examples
    --------
    >>> renamed("mllib", "probabilityCol"), renamed("scikit-learn", "random_state")
    ('probability', 'seed')
    """
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", parameter.removesuffix("Col")).lower()
    return DATA[library]["renamed"].get(parameter, snake)


def page(library: str) -> str:
    """Return the page of a library."""
    return "\n".join([_head(library), *_sections(library)])


def pages() -> dict[Path, str]:
    """Return the pages, by their files."""
    return {DOCS / "coming-from" / f"{library}.md": page(library) for library in DATA}


def main() -> int:
    """Write the pages, or tell whether they are as they should be."""
    return write_or_check(__doc__, pages, "libraries and docs/coming_from.toml")


def _head(library: str) -> str:
    title = DATA[library]["title"]
    written = "Written by `make docs` from docs/coming_from.toml"
    written += " and the installed library." if "module" in DATA[library] else "."
    return f"# Coming from {title}\n\n{written}\n\n{DATA[library]['intro'].strip()}\n"


def _sections(library: str) -> Iterator[str]:
    data = DATA[library]
    if "module" in data:
        rows = [_stage_row(library, path, names) for path, names in counterparts(library).items()]
        note = f"Names are below `{data['module']}`. Of a parameter of both, defaults are shown where they differ.\n\n"
        columns = (data["title"], "Penstock", "parameters of both", "others: not there, or said differently")
        yield f"## Stage by stage\n\n{note}{table(columns, rows)}"
    around = [(code([path]), code(names.split()), note) for path, names, note in data["around"]]
    heading = "Around the stages" if "module" in data else "Name by name"
    yield f"## {heading}\n\n{table((data['title'], 'Penstock', ''), around)}"
    absent = [(code([path]), instead) for path, instead in data["absent"]]
    if data.get("estimators"):
        yield _wrapped(library)
        absent += [(code([path]), "") for path in unsaid(library) if not _scores(theirs(library, path))]
    yield f"## Not in Penstock\n\n{table((data['title'], 'instead'), absent)}"


def _stage_row(library: str, path: str, names: list[str]) -> tuple[str, ...]:
    return (code([path]), code(names), *parameters(library, path, names))


def _wrapped(library: str) -> str:
    modules: dict[str, list[str]] = {}
    for path in unsaid(library):
        if _scores(theirs(library, path)):
            module, _, name = path.rpartition(".")
            modules.setdefault(module, []).append(name)
    rows = [(code([module]), code(names)) for module, names in modules.items()]
    return f"{WRAPPED}{table(('module', 'estimators'), rows)}"


def _scores(kind: type) -> bool:
    """Return whether an estimator scores rows that it was not fitted on, which `SklearnEstimator` needs."""
    return hasattr(kind, "predict") or hasattr(kind, "transform")


def _public_path(kind: type) -> str:
    """Return where users of scikit-learn import a class from: the shortest of its modules that has it."""
    parts = [part for part in kind.__module__.split(".")[1:] if not part.startswith("_")]
    for length in range(1, len(parts) + 1):
        if hasattr(importlib.import_module(".".join(["sklearn", *parts[:length]])), kind.__name__):
            return ".".join([*parts[:length], kind.__name__])
    raise LookupError(f"no public module has {kind}")


def _other_default(there: inspect.Parameter, here: inspect.Parameter) -> str:
    if there.default == here.default or here.default is inspect.Parameter.empty:
        return ""
    shown = ["required" if each.default is each.empty else f"{each.default!r}" for each in (there, here)]
    return f" ({shown[0]}; here {shown[1]})"


if __name__ == "__main__":
    sys.exit(main())
