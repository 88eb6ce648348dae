"""Formats by their names."""

from __future__ import annotations

from typing import Any

from penstock.core.errors import ConfigError, check_one_of, class_name
from penstock.io.formats.arrow import Arrow
from penstock.io.formats.avro import Avro
from penstock.io.formats.base import Format
from penstock.io.formats.csv import Csv
from penstock.io.formats.delta import Delta
from penstock.io.formats.iceberg import Iceberg
from penstock.io.formats.json_lines import JsonLines
from penstock.io.formats.libsvm import Libsvm
from penstock.io.formats.orc import Orc
from penstock.io.formats.parquet import Parquet
from penstock.io.formats.whole_files import WholeFiles

_OURS: tuple[Format[Any], ...] = (
    Parquet(), Csv(), JsonLines(), WholeFiles(), Orc(), Avro(), Arrow(), Libsvm(), Delta(), Iceberg(),
)  # fmt: skip
FORMATS = {each.name: each for each in _OURS}
"""Every format by its name."""


def find_format(name: str) -> Format[Any]:
    """Return a format by its name, or another name that it has.

    Raises
    ------
    ConfigError
        None is called so; says the nearest name.

    Examples
    --------
    >>> find_format("csv").suffixes[0], find_format("jsonl").name
    ('.csv', 'json_lines')
    """
    known = {alias: each for each in FORMATS.values() for alias in (each.name, *each.aliases)}
    check_one_of("format", name, known, hint="A format of your own is made known by penstock.register_format.")
    return known[name]


def register_format(format: Format[Any]) -> None:
    """Make a format of your own known to ``engine.read``, ``dataset.write`` and the command line, by its name.

    Call it where the format is defined, and import that module in the program that reads or writes: workers need not
    know the format, but have to be able to import its source and its writer. Registered again, as in a notebook, a
    format takes the place of the one of the same class name.

    Parameters
    ----------
    format : Format

    Raises
    ------
    ConfigError
        It is no format, or another one has its name or an alias of it.

    Examples
    --------
    >>> class Nothing(Format):
    ...     name = "nothing"
    ...     suffixes = (".nothing",)
    ...     def plan(self, files, scheduler, storage, options): ...
    >>> register_format(Nothing())
    >>> find_format("nothing").name
    'nothing'
    >>> _ = FORMATS.pop("nothing")
    """
    if not isinstance(format, Format):
        raise ConfigError(
            f"register_format takes a Format, found {class_name(format)}",
            hint="Derive a class from penstock.authoring.Format, and pass an instance of it.",
        )
    names = {format.name, *format.aliases}
    for other in FORMATS.values():
        clashes = sorted(names & {other.name, *other.aliases})
        if clashes and type(other).__qualname__ != type(format).__qualname__:
            raise ConfigError(
                f"format {clashes[0]!r} is there already: {class_name(other)}", hint="Choose another name."
            )
    FORMATS[format.name] = format
