"""What the options and files of spark-submit say, in the order in which Spark itself takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import MissingInputError

_SWITCHES = frozenset(
    {"--help", "-h", "--load-spark-defaults", "--supervise", "--usage-error", "--verbose", "-v", "--version"}
)
_SHORT = {"-c": "--conf"}


@dataclass(frozen=True)
class SparkOptions:
    """The arguments of spark-submit, and the properties behind them.

    Attributes
    ----------
    before : tuple of str
        The arguments before the application: options of spark-submit.
    application : tuple of str
        The file and what it takes.
    values : mapping of str to str
        Options by their long names; of one given twice the last.
    properties : mapping of str to str
        ``--conf`` over ``--properties-file``, or ``spark-defaults.conf`` where that is not given.
    """

    before: tuple[str, ...]
    application: tuple[str, ...]
    values: Mapping[str, str]
    properties: Mapping[str, str]

    @classmethod
    def of(cls, arguments: Sequence[str], home: Path, environ: Mapping[str, str]) -> SparkOptions:
        """Read the arguments, and the files that they and the variables name.

        Raises
        ------
        MissingInputError
            There is no file of that name.
        """
        pairs, end = _parse(arguments)
        values = dict(pairs)
        settings = dict(text.partition("=")[::2] for option, text in pairs if option == "--conf")
        files = _files(values, home, environ, defaults_too="--load-spark-defaults" in arguments[:end])
        properties = {name: value for file in files for name, value in read_properties(file).items()} | settings
        return cls(tuple(arguments[:end]), tuple(arguments[end:]), values, properties)

    def get(self, option: str, name: str) -> str:
        """Return the value of an option, or else of a property; empty where neither is set."""
        return self.values.get(option) or self.properties.get(name, "")


def _parse(arguments: Sequence[str]) -> tuple[list[tuple[str, str]], int]:
    """Return the options with their values, and the place of the application, which is the first that is no option."""
    pairs, place = [], 0
    while place < len(arguments) and arguments[place].startswith("-"):
        option, assigned, value = arguments[place].partition("=")
        place += 1
        if not assigned and option not in _SWITCHES:
            value = arguments[place] if place < len(arguments) else ""
            place += 1
        pairs.append((_SHORT.get(option, option), value))
    return pairs, min(place, len(arguments))


def _files(values: Mapping[str, str], home: Path, environ: Mapping[str, str], *, defaults_too: bool) -> list[Path]:
    """Return the files of properties; what a later one sets wins."""
    folder = Path(environ.get("SPARK_CONF_DIR") or home / "conf")
    defaults = [path for path in [folder / "spark-defaults.conf"] if path.is_file()]
    if not (name := values.get("--properties-file")):
        return defaults
    if not Path(name).is_file():
        raise MissingInputError(f"--properties-file is {name!r}, and there is no such file", path=name)
    return [*(defaults if defaults_too else []), Path(name)]


def read_properties(path: Path) -> dict[str, str]:
    """Return what a file of Java properties sets, one setting a line, as Spark's own files are written."""
    lines = (line.strip() for line in path.read_text("utf-8", errors="replace").splitlines())
    split = (re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and line[0] not in "#!")
    return {name: value for name, *rest in split for value in rest or [""]}
