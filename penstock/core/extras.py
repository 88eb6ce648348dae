"""How the optional packages of Penstock are installed, from where this one came."""

from __future__ import annotations

import shlex
from pathlib import Path


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
