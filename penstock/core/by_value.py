"""Modules beside a pipeline: imported from its folder here, and sent by value to workers, which have no such folder."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Protocol

_folders: list[str] = []
"""The folder of the pipeline that was loaded last; empty where there is none."""
_appended: list[str] = []
"""The same, where it is on the import path because of that."""


class Pickler(Protocol):
    """What is used of cloudpickle, of which Spark has a copy of its own."""

    def register_pickle_by_value(self, module: ModuleType) -> None:
        """Pickle functions and classes of a module whole, not by their names."""


def import_beside(folder: str) -> None:
    """Have modules imported from a folder, and no more from that of the pipeline before, which may have equal names.

    It is last on the import path, so that a pipeline may be called as a module of Python's own is.
    """
    if _appended not in ([], [folder]):
        for module in modules_beside():
            del sys.modules[module.__name__]
        before = _appended.pop()
        if before in sys.path:  # whoever put an earlier path back has taken the folder off
            sys.path.remove(before)
    if folder not in sys.path:
        sys.path.append(folder)
        _appended[:] = [folder]
    _folders[:] = [folder]
    importlib.invalidate_caches()


def modules_beside() -> list[ModuleType]:
    """Return the modules that were imported from the folder of the pipeline that was loaded last."""
    return [
        module
        for folder in _folders
        for name, module in list(sys.modules.items())
        if getattr(module, "__name__", None) == name and _lies_in(module, folder)
    ]


def register_modules(pickler: Pickler) -> bool:
    """Have modules beside the pipeline pickled by value; return whether there are any."""
    modules = modules_beside()
    for module in modules:
        pickler.register_pickle_by_value(module)
    return bool(modules)


def _lies_in(module: ModuleType, folder: str) -> bool:
    """Return whether a module is imported from a folder, and not from somewhere below it; Penstock never is."""
    top = module.__name__.partition(".")[0]
    base, place = os.path.join(folder, top), _place(module)
    return top != "penstock" and (place in (f"{base}.py", base) or place.startswith(f"{base}{os.sep}"))


def _place(module: ModuleType) -> str:
    """Return the file of a module, or the folder of a package that has none."""
    return getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
