"""The catalog of a job: where its inputs lie and its outputs go, from files and options."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from inspect import Parameter, signature
from typing import Any

from pydantic import BaseModel

from penstock.cli.etl.placeholders import check_placeholders, fill_placeholders, placeholders
from penstock.config.settings import Settings, read_assignments
from penstock.config.strict_yaml import shorten
from penstock.core.errors import ConfigError
from penstock.dataset.dataset import Dataset
from penstock.io.formats import FORMATS, Format, find_format
from penstock.io.formats.table_format import TableFormat

_OF_INPUTS = ("path", "format", "allow_unmanifested", "storage_options")


@dataclass(frozen=True)
class Entry:
    """One input or output of a catalog.

    Attributes
    ----------
    name : str
    paths : tuple of str
        Of an output one.
    options : dict
        Of the reader, or of `Dataset.write`.
    settings : Settings
        What was read, and where it stands.
    """

    name: str
    paths: tuple[str, ...]
    options: Mapping[str, Any]
    settings: Settings

    @property
    def where(self) -> str:
        """Where the path stands."""
        return self.settings.where("path")

    @property
    def path(self) -> str:
        """The one path of an output."""
        return self.paths[0]

    @property
    def is_table(self) -> bool:
        """Whether it is a table that keeps a log of its own."""
        return "format" in self.options and isinstance(find_format(self.options["format"]), TableFormat)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Say of a ConfigError where the option that it names, or else the path, stands."""
        try:
            yield
        except ConfigError as error:
            at = next((word for word in re.findall(r"\w+", error.message) if word in self.options), "path")
            message = f"{self.settings.where(at)}: {error.message}"
            raise type(error)(message, hint=error.hint, **error.place) from error


@dataclass(frozen=True)
class Catalog:
    """The inputs and outputs of a job by name."""

    inputs: Mapping[str, Entry]
    outputs: Mapping[str, Entry]

    def uses(self, placeholder: str) -> bool:
        """Return whether a path has a placeholder."""
        entries = [*self.inputs.values(), *self.outputs.values()]
        return any(placeholder in placeholders(path, each.where) for each in entries for path in each.paths)

    def fill(self, values: Mapping[str, Any]) -> Catalog:
        """Return the catalog with placeholders of its paths filled; ConfigError where one has no value."""
        return Catalog(
            {name: _filled(entry, values) for name, entry in self.inputs.items()},
            {name: _filled(entry, values) for name, entry in self.outputs.items()},
        )


def read_catalog(
    sections: Sequence[Settings], inputs: Sequence[str], outputs: Sequence[str], known: Collection[str]
) -> Catalog:
    """Return the catalog that files and options say.

    Parameters
    ----------
    sections : sequence of Settings
        Sections ``catalog`` of files; of two that have an entry of one name, the first wins.
    inputs, outputs : sequence of str
        ``name=path``, which win over the paths of all.
    known : collection of str
        The names of placeholders.

    Raises
    ------
    ConfigError
        A name or a placeholder is not known, or a path is none; says where it stands.

    Examples
    --------
    >>> section = Settings({"inputs": {"trips": "trips/{date}.csv"}, "outputs": {"daily": {"path": "out/daily"}}})
    >>> catalog = read_catalog([section], [], ["daily=elsewhere"], ["date"])
    >>> catalog.inputs["trips"].paths, catalog.outputs["daily"].path, catalog.uses("date")
    (('trips/{date}.csv',), 'elsewhere', True)
    """
    return Catalog(
        {
            name: _entry(name, settings, _reader_options, known, several=True)
            for name, settings in _entries(sections, "inputs", inputs, "--in").items()
        },
        {
            name: _entry(name, settings, _writer_options, known, several=False)
            for name, settings in _entries(sections, "outputs", outputs, "--out").items()
        },
    )


def _entries(sections: Sequence[Settings], kind: str, assignments: Sequence[str], option: str) -> dict[str, Settings]:
    """Return the settings of each input, or output."""
    entries: dict[str, Settings] = {}
    for section in reversed(sections):
        named = section.only("inputs", "outputs").section(kind)
        entries |= {name: _mapping(named, name) for name in named.values}
    given = read_assignments(assignments, BaseModel, option)
    for name in given.values:
        path = Settings({"path": given.values[name]}, {("path",): given.places[name,]})
        entries[name] = path.over(entries.get(name, Settings()))
    return entries


def _mapping(section: Settings, name: str) -> Settings:
    """Return an entry as a mapping, of which a path alone is short."""
    value = section.values[name]
    if isinstance(value, str | list):
        places = {("path", *at[1:]): place for at, place in section.places.items() if at[:1] == (name,)}
        return Settings({"path": value}, places)
    entry = section.section(name)
    if "path" not in entry.values:
        problem = f"{section.where(name)}: {name!r} has no path"
        raise ConfigError(problem, hint=f"Write {name}: {{path: ...}}, or {name}: and the path alone.")
    return entry


def _entry(name: str, settings: Settings, options: Any, known: Collection[str], *, several: bool) -> Entry:
    paths = _paths(name, settings, several)
    for path in paths:
        check_placeholders(path, known, settings.where("path"))
    entry = Entry(name, paths, {key: value for key, value in settings.values.items() if key != "path"}, settings)
    with entry.located():
        named = settings.values.get("format")
        formats = list(FORMATS.values()) if named is None else [find_format(named)]
    if several or not entry.is_table:  # which says itself what else it takes
        settings.only("path", *options(formats))
    return entry


def _paths(name: str, settings: Settings, several: bool) -> tuple[str, ...]:
    value = settings.values["path"]
    paths = value if several and isinstance(value, list) else [value]
    if not paths or not all(isinstance(path, str) and path for path in paths):
        expected = "a path, or a list of them" if several else "a path"
        raise ConfigError(f"{settings.where('path')}: path of {name!r} is {shorten(value)}, expected {expected}")
    return tuple(paths)


def _reader_options(formats: Sequence[Format[Any]]) -> list[str]:
    names = [*_OF_INPUTS, *(field.name for each in formats for field in fields(each.options))]
    return list(dict.fromkeys(names))


def _writer_options(formats: Sequence[Format[Any]]) -> list[str]:
    own = [each.name for each in signature(Dataset.write).parameters.values() if each.kind is Parameter.KEYWORD_ONLY]
    of_formats = [field.name for each in formats if each.writer for field in fields(each.writer)]
    return [name for name in dict.fromkeys(["path", *own, *of_formats]) if name not in ("run_id", "schema")]


def _filled(entry: Entry, values: Mapping[str, Any]) -> Entry:
    return replace(entry, paths=tuple(fill_placeholders(path, values, entry.where) for path in entry.paths))
