"""Modules of the pipelines folder by name: run, and their functions and parameters checked."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from penstock.core.by_value import import_beside
from penstock.core.errors import ConfigError, PenstockError, class_name, did_you_mean
from penstock.core.locations import local_path
from penstock.dataset.task_errors import translated

PARAMETERS = 'class Parameters(pydantic.BaseModel, extra="forbid")'


def load_module(name: str, folder: str | Path) -> tuple[Path, ModuleType]:
    """Run a module of the pipelines folder, and return its path and what it is.

    It can import modules that lie beside it; they travel to workers as it does itself.

    Parameters
    ----------
    name : str
        ``<folder>/<name>.py``, or the path of a ``.py`` file.
    folder : path

    Raises
    ------
    ConfigError
        There is no such file, or it does not run.
    """
    if name.endswith(".py"):
        path = Path(local_path(name, "pipeline"))
    else:
        path = Path(local_path(folder, "pipelines")) / f"{name}.py"
    if not path.is_file():
        known = sorted(found.stem for found in path.parent.glob("*.py"))
        raise ConfigError(
            f"pipeline {name!r} is not there: {path} is no file.{did_you_mean(path.stem, known)}",
            hint=f"There are: {', '.join(known)}." if known else "Name the folder with --pipelines, or give a path.",
            path=str(path),
        )
    return path, _run(path)


def require_names(module: ModuleType, path: Path, **expected: str) -> None:
    """Raise ConfigError for a name that a module does not define, or that cannot be called; says what is expected."""
    for name, declaration in expected.items():
        if not callable(getattr(module, name, None)):
            raise ConfigError(f"{path} defines no {name}, expected {declaration}", path=str(path))


def checked_function(
    module: ModuleType, name: str, path: Path, expected: str, accepts: Callable[[Any], bool]
) -> Callable[..., Any]:
    """Return a function of a module; what it raises, and what it should not return, is told with its name.

    Parameters
    ----------
    expected : str
        How it is declared.
    accepts : callable
        Whether it may return a value.
    """
    function = getattr(module, name)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            value = function(*arguments, **options)
        except PenstockError:
            raise
        except Exception as error:
            raise translated(error, f"{name} of {path}", ConfigError, path=str(path)) from error
        if not accepts(value):
            problem = f"{name} of {path} returned {class_name(value)}, expected {expected}"
            raise ConfigError(problem, hint="Is there a return?" if value is None else None, path=str(path))
        return value

    return call


def strict_parameters(kind: Any, path: Path) -> type[BaseModel]:
    """Return ``Parameters`` of a module; ConfigError unless it refuses names that it does not know."""
    strict = isinstance(kind, type) and issubclass(kind, BaseModel) and kind.model_config.get("extra") == "forbid"
    if not strict:
        raise ConfigError(
            f"Parameters of {path} is {kind!r}, expected {PARAMETERS}",
            hint='Without extra="forbid" a parameter with a typing error in its name would be left out in silence.',
            path=str(path),
        )
    return kind


def _run(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"pipelines.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import_beside(str(path.parent.absolute()))
    # Known by its name while it runs, as pydantic and dataclasses need, and not after: its functions then travel to
    # workers by value, where nobody could import them.
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (PenstockError, KeyboardInterrupt):
        raise
    except BaseException as error:  # sys.exit too
        line = getattr(error, "lineno", None)
        where = f"{path}, line {line}" if line else str(path)
        raise ConfigError(f"{where} does not run: {type(error).__name__}: {error}", path=str(path)) from error
    finally:
        sys.modules.pop(spec.name)
        if before is not None:
            sys.modules[spec.name] = before
    return module
