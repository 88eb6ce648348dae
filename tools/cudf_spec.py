"""Write the names and parameters of RAPIDS that tests hold their stand-in to; with --check, say what has changed.

Run with the Python of the GPU environment: RAPIDS is imported, and needs no GPU for that.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import json
import sys
from collections.abc import Mapping
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "tests" / "cudf_stand_in" / "spec.json"
MODULES = {
    "cudf": "",
    "cupy": "",
    "cupy.linalg": "",
    "cupyx.scipy.special": "",
    "pylibcudf": "Column Table",
    "pylibcudf.io": "SourceInfo TableWithMetadata",
    "pylibcudf.io.parquet": "read_parquet",
    "rmm": "mr",
    "rmm.mr": "",
    "rmm.allocators.cupy": "rmm_cupy_allocator",
}
"""The names of each module that are written down; all that are public where none is said."""
CLASSES = {
    "cudf": "DataFrame Series Index RangeIndex CategoricalDtype ListDtype StructDtype Decimal128Dtype",
    "cudf.core.accessors.string": "StringMethods",
    "cudf.core.accessors.lists": "ListMethods",
    "cudf.core.accessors.categorical": "CategoricalAccessor",
    "cudf.core.series": "DatetimeProperties TimedeltaProperties",
    "cudf.core.groupby.groupby": "DataFrameGroupBy SeriesGroupBy",
    "cupy": "ndarray",
    "pylibcudf": "Column Table",
    "pylibcudf.io": "SourceInfo TableWithMetadata",
    "pylibcudf.io.parquet": "ParquetReaderOptions ParquetReaderOptionsBuilder",
    "rmm.mr": "CudaMemoryResource CudaAsyncMemoryResource",
}
PACKAGES = ("cudf-cu13", "cupy-cuda13x", "pylibcudf-cu13", "rmm-cu13")

Members = dict[str, str | None]


def parameters(value: Any, drop: int = 0) -> str:
    """Return the parameters of a callable without types and with ``...`` for a default, the first `drop` left out.

    Examples
    --------
    >>> parameters(lambda self, x, *, y=1: x, drop=1)
    'x, *, y=...'
    """
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # written in C, or a kernel
        return "*args, **kwargs"
    bare = [
        each.replace(annotation=each.empty, default=each.empty if each.default is each.empty else ...)
        for each in list(signature.parameters.values())[drop:]
    ]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))[1:-1].replace("Ellipsis", "...")


def member(cls: type, name: str) -> str | None:
    """Return the parameters of a method, without ``self``, or None for a property."""
    static, value = inspect.getattr_static(cls, name), getattr(cls, name)
    if not callable(value) or isinstance(static, property):
        return None
    return parameters(value, drop=0 if isinstance(static, classmethod | staticmethod) or inspect.ismethod(value) else 1)


def members(cls: type) -> Members:
    """Return what a class has that is public, and the special methods that are its own."""
    return {name: member(cls, name) for name in sorted(dir(cls)) if _is_written(cls, name)}


def _is_written(cls: type, name: str) -> bool:
    if not name.startswith("_"):
        return True
    static = inspect.getattr_static(cls, name)
    is_own = static is not inspect.getattr_static(object, name, None)
    return is_own and name.endswith("__") and callable(getattr(cls, name, None))


def functions(module: str, names: str) -> Members:
    """Return what a module has: parameters of what can be called, None for the rest."""
    loaded = importlib.import_module(module)
    chosen = names.split() or [name for name in sorted(dir(loaded)) if not name.startswith("_")]
    values = {name: getattr(loaded, name) for name in chosen}
    return {name: parameters(value) if callable(value) else None for name, value in values.items()}


def spec() -> dict[str, Any]:
    """Return the versions, and the members of each module and class by its name."""
    found = {module: functions(module, names) for module, names in MODULES.items()}
    for module, names in CLASSES.items():
        loaded = importlib.import_module(module)
        found |= {f"{module}.{name}": members(attrgetter(name)(loaded)) for name in names.split()}
    return {"versions": {name: version(name) for name in PACKAGES}, "members": found}


def lines(spec: Mapping[str, Any]) -> list[str]:
    """Return a line for each version and each name, to be compared.

    Examples
    --------
    >>> lines({"versions": {"rmm": "1"}, "members": {"a.B": {"c": "x, y=...", "d": None}}})
    ['rmm 1', 'a.B.c(x, y=...)', 'a.B.d']
    """
    members = [
        f"{owner}.{name}" if parameters is None else f"{owner}.{name}({parameters})"
        for owner, names in spec["members"].items()
        for name, parameters in names.items()
    ]
    return [f"{name} {number}" for name, number in spec["versions"].items()] + members


def main() -> int:
    """Write the file, or with --check print how it differs from what is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when a name or parameter differs")
    text = json.dumps(spec(), indent=1, sort_keys=True) + "\n"
    if not parser.parse_args().check:
        FILE.write_text(text, encoding="utf-8")
        return 0
    written, installed = (lines(json.loads(each)) for each in (FILE.read_text(encoding="utf-8"), text))
    changes = list(difflib.unified_diff(written, installed, FILE.name, "installed", n=0, lineterm=""))
    print("\n".join(changes), end="\n" if changes else "")
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main())
