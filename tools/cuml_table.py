"""Write the table of cuML's estimators that `CumlEstimator` reads; with --check, say what has changed in cuML.

Run with the Python of the GPU environment: cuML is imported, and needs no GPU for that.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = Path(__file__).parents[1] / "penstock" / "stages" / "training" / "cuml" / "_table.py"
PACKAGE = "cuml-cu13"
COLUMNS = ("name", "kind", "scores by", "weights", "labels", "twin", "kept as", "several GPUs")
METHODS = ("predict_proba", "decision_function", "predict", "transform")
STAGES = {
    "ElasticNet": "LinearRegression",
    "KMeans": "KMeans",
    "Lasso": "LinearRegression",
    "LinearRegression": "LinearRegression",
    "LogisticRegression": "LogisticRegression",
    "PCA": "PCA",
    "Ridge": "LinearRegression",
    "TruncatedSVD": "TruncatedSVD",
}
"""The stage whose `transform` does what the estimator does to new rows."""
SOLVERS = {"ElasticNet": "CD", "Lasso": "CD"}
"""The estimator as which `cuml.dask` fits another on several GPUs."""
IN_PART = {"SVC": "sklearn, two classes", "TargetEncoder": "refused: converts in part"}
"""What to do with those that, once they are fitted, cuML converts under a condition only."""
_ASIDE = {"accel", "benchmark", "comm", "dask", "health_checks", "internals", "testing", "thirdparty_adapters"}

HEAD = '''"""The estimators of cuML, by `tools/cuml_table.py`, which `make check-gpu` has compare them with cuML.

Of each: its name below ``cuml``; what it is; the methods that score rows it was not fitted on; the argument of `fit`
for weights; whether `fit` takes no label, one, or several; its twin on a CPU; how what it learns is kept; and the class
that fits it on several GPUs, itself where it can.
"""

VERSION = "{version}"
TABLE = """\\
{table}
"""  # noqa: E501
'''


def estimators() -> dict[str, type]:
    """Return the public classes with a `fit` that cuML defines, by their shortest name below ``cuml``."""
    names: dict[type, list[str]] = {}
    for module in (importlib.import_module("cuml"), *_packages()):
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name, None)
            if inspect.isclass(value) and hasattr(value, "fit") and value.__module__.startswith("cuml."):
                names.setdefault(value, []).append(f"{module.__name__}.{name}".removeprefix("cuml."))
    return {min(each, key=lambda name: (len(name), name)): value for value, each in names.items()}


def _packages() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(importlib.import_module("cuml").__path__, "cuml."):
        parts = found.name.split(".")[1:]
        if found.ispkg and parts[0] not in _ASIDE and not any(part.startswith("_") for part in parts):
            yield importlib.import_module(found.name)


def row(name: str, cls: type) -> tuple[str, ...]:
    """Return the cells of a class, "-" where there is nothing."""
    methods = " ".join(method for method in METHODS if hasattr(cls, method)) if "X" in _fit(cls) else ""
    weights = " ".join(argument for argument in _fit(cls) if "weight" in argument)
    twin = getattr(cls, "_cpu_class_path", "")
    cells = (name, kind(cls, twin), methods, weights, labels(cls), twin, kept(name, cls, methods, twin))
    return tuple(cell or "-" for cell in (*cells, several(name, cls)))


def _fit(cls: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(cls.fit).parameters)


def kind(cls: Any, twin: str) -> str:
    """Return what an estimator is, in the words of scikit-learn's tags: its own, or those of its twin."""
    told = getattr(cls, "_estimator_type", None)
    if told is None and twin.startswith("sklearn."):
        told = getattr(_tags(_loaded(twin)), "estimator_type", None)
    return told or ("transformer" if hasattr(cls, "transform") or hasattr(cls, "fit_transform") else "other")


def _loaded(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _tags(cls: Any) -> Any:
    """Return scikit-learn's tags of a class, None for one that is not made without arguments."""
    from sklearn.utils import get_tags

    try:
        return get_tags(cls())
    except TypeError:
        return None


def labels(cls: Any) -> str:
    """Return how many labels `fit` has to be given: "none", "one", or "several" where it takes more than one."""
    label = _fit(cls).get("y")
    if label is None or label.default is not label.empty:
        return "none"
    tags = _tags(cls)
    return "several" if tags is not None and tags.target_tags.multi_output else "one"


def kept(name: str, cls: Any, methods: str, twin: str) -> str:
    """Return how what a class learns is kept, or why it cannot be."""
    if hasattr(cls, "forecast"):
        return "refused: time series"
    if list(_fit(cls))[:2] == ["self", "y"]:
        return "refused: learns labels alone"
    if not methods and (twin or "X" in _fit(cls)):
        transductive = hasattr(cls, "fit_predict") or hasattr(cls, "fit_transform")
        return "refused: transductive" if transductive else "refused: scores no rows"
    if not twin:
        return "refused: no twin"
    if not twin.startswith("sklearn."):
        return "refused: twin outside scikit-learn"
    if converts_in_part(cls):
        return IN_PART[cls.__name__]
    return f"stage:{STAGES[name]}" if name in STAGES else "sklearn"


def converts_in_part(cls: type) -> bool:
    """Return whether the conversion of what was learned can refuse, as its source says."""
    owners = [base for base in cls.__mro__ if "_attrs_to_cpu" in vars(base)]
    return any("raise UnsupportedOnCPU" in _source(base, "_attrs_to_cpu") for base in owners)


def _source(cls: type, method: str) -> str:
    """Return the source of a method; that of a compiled class lies beside what was compiled."""
    path = Path(str(sys.modules[cls.__module__].__file__))
    path = path if path.suffix == ".py" else path.with_name(f"{path.name.partition('.')[0]}.pyx")
    (body,) = re.findall(
        rf"^class {cls.__name__}\b.*?^    def {method}\b(.*?)(?=^    def |^    @|^\S|\Z)", path.read_text(), re.M | re.S
    )
    return str(body)


def several(name: str, cls: type) -> str:
    """Return the class that fits one on several GPUs, the nearest of those that are made from it."""
    if hasattr(cls, "_allreduce_validation_status"):
        return name
    one = getattr(importlib.import_module("cuml"), SOLVERS[name]) if name in SOLVERS else cls
    made = {path: each.__mro__.index(one) for path, each in of_several_gpus().items() if one in each.__mro__}
    return min(made, key=made.__getitem__, default="")


@functools.cache
def of_several_gpus() -> dict[str, type]:
    """Return the classes of several GPUs by their names below ``cuml``."""
    found = {}
    for each in pkgutil.walk_packages(importlib.import_module("cuml").__path__, "cuml."):
        if each.name.endswith("_mg"):
            module = importlib.import_module(each.name)
            own = [value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == each.name]
            found |= {f"{each.name}.{value.__name__}".removeprefix("cuml."): value for value in own}
    return found


def lines() -> list[str]:
    """Return the table, a line for each class under a line of titles, in columns.

    Raises
    ------
    ValueError
        Two classes have one name, by which estimators are looked up.
    """
    classes = estimators()
    if len({cls.__name__ for cls in classes.values()}) < len(classes):
        raise ValueError("two estimators of cuML have one name")
    rows = [COLUMNS, *(row(name, cls) for name, cls in sorted(classes.items(), key=lambda item: item[0].lower()))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [" | ".join(map(str.ljust, cells, widths)).rstrip() for cells in rows]


def main() -> int:
    """Write the module, or with --check print how it differs from what is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when an estimator differs")
    text = HEAD.format(version=version(PACKAGE), table="\n".join(lines()))
    if not parser.parse_args().check:
        FILE.write_text(text, encoding="utf-8")
        return 0
    written = FILE.read_text(encoding="utf-8").splitlines()
    changes = list(difflib.unified_diff(written, text.splitlines(), FILE.name, "installed", n=0, lineterm=""))
    print("\n".join(changes), end="\n" if changes else "")
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main())
