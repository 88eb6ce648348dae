"""Files of YAML with one list of entries under one name, such as rules and alarms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from penstock.config import strict_yaml
from penstock.core.errors import ConfigError

Entry = TypeVar("Entry")


def read_entries(path: str | Path, name: str, example: str, make: Callable[[Any], Entry]) -> list[Entry]:
    r"""Return what is made of each entry of a file.

    Parameters
    ----------
    path : path
    name : str
        What the list stands under: the plural of what an entry is, with an s.
    example : str
        The hint where there is no such list.
    make : callable
        Takes an entry; ConfigError where it is none.

    Raises
    ------
    ConfigError
        It is no such file, see `strict_yaml.read`; or an entry is none: says file, line, which entry, and why.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "limits.yaml")
    ...     _ = path.write_text("limits:\n- 1\n- 20\n")
    ...     read_entries(path, "limits", 'Write "- 1".', float)
    [1.0, 20.0]
    """
    values, places = strict_yaml.read(path)
    entries = values.get(name)
    unknown = [each for each in values if each != name]
    if unknown or not isinstance(entries, list) or not entries:
        found = f"has {unknown[0]!r}" if unknown else f"has no list of {name}"
        raise ConfigError(f"{path} {found}, expected '{name}:' and a list", hint=example, path=str(path))
    made = []
    for place, entry in enumerate(entries):
        try:
            made.append(make(entry))
        except ConfigError as error:
            problem = f"{places[name, place].where}: {name.removesuffix('s')} {place + 1}: {error.message}"
            raise ConfigError(problem, hint=error.hint, path=str(path)) from error
    return made
