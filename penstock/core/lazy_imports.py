"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from typing import Any

Lazy = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazy_imports(package: str) -> Lazy:
    """Return `__getattr__`, `__dir__` and `__all__` for a package whose names are imported on first use.

    They are the names that its ``if TYPE_CHECKING:`` imports, each in a statement of its module: what a type checker
    sees is what there is, and it is written down once, as with the stubs of Scientific Python's `lazy_loader`.

    Examples
    --------
    >>> get, _, names = lazy_imports("penstock.engines.dask")
    >>> names, get("Nothing")
    Traceback (most recent call last):
    AttributeError: module 'penstock.engines.dask' has no attribute 'Nothing'
    """
    spec = sys.modules[package].__spec__
    source = spec.loader.get_source(package) if spec is not None else None  # type: ignore[union-attr]
    if source is None:
        raise ImportError(f"the source of {package} is not there, which says where its names are")
    homes = {
        alias.name: statement.module
        for block in ast.parse(source).body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module is not None
        for alias in statement.names
    }

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return get, lambda: sorted(homes), sorted(homes)
