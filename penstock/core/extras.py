"""How the optional packages of Penstock are installed, from where this one came."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from penstock.core.errors import MissingExtraError


@contextmanager
def importing(name: str, extra: str, stage: str | None = None) -> Iterator[None]:
    """Raise MissingExtraError, with the command that installs an extra, for what cannot be imported inside.

    Examples
    --------
    >>> with importing("Pillow", "images"):  # doctest: +ELLIPSIS
    ...     import no_such_module
    Traceback (most recent call last):
    penstock.errors.MissingExtraError: Pillow cannot be imported: No module named 'no_such_module'
      Hint: pip install ...
    """
    try:
        yield
    except ImportError as error:
        problem = f"{name} cannot be imported: {error}"
        raise MissingExtraError(problem, hint=how_to_install(extra), stage=stage) from error


def require_module(name: str) -> None:
    """Raise ModuleNotFoundError unless a module is there to be imported; it is not imported.

    Examples
    --------
    >>> require_module("json")
    >>> require_module("no_such_module")
    Traceback (most recent call last):
    ModuleNotFoundError: No module named 'no_such_module'
    """
    if find_spec(name) is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def how_to_install(extra: str, package: str | Path = Path(__file__).parents[1]) -> str:
    """Return the command that installs an extra of setup.cfg: from this checkout, or else for the package installed.

    Parameters
    ----------
    extra : str
    package : str or Path
        The folder of the package.

    Examples
    --------
    >>> how_to_install("spark", "/usr/lib/python3/site-packages/penstock")
    "pip install 'penstock[spark]'"
    """
    checkout = Path(package).parent
    if not (checkout / "setup.cfg").is_file():
        return f"pip install 'penstock[{extra}]'"
    return f"pip install --editable {shlex.quote(f'{checkout}[{extra}]')}"
