"""The inputs of a run, as its module takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.cli.etl.catalog import Entry
from penstock.cli.inputs import read
from penstock.cli.results import InputRows
from penstock.core.errors import ConfigError, did_you_mean
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine


def read_inputs(engine: Engine, entries: Mapping[str, Entry], schemas: Mapping[str, pa.Schema]) -> dict[str, Dataset]:
    """Return the datasets of a catalog by name; of their files only footers, headers or lines are looked at.

    Raises
    ------
    ConfigError
        There are types of an input that the catalog does not have; or an option is wrong, with where it stands.
    InputError
        As the engine's readers say.
    """
    for name in schemas:
        if name not in entries:
            raise ConfigError(
                f"SCHEMAS has input {name!r}, which the catalog does not have.{did_you_mean(name, entries)}",
                hint=_add(name, entries),
            )
    return {name: _read(engine, entry, schemas.get(name)) for name, entry in entries.items()}


def _read(engine: Engine, entry: Entry, types: pa.Schema | None) -> Dataset:
    options = dict(entry.options)
    named: dict[str, Any] = {
        each: options.pop(each) for each in ("format", "allow_unmanifested", "max_bad_records") if each in options
    }
    with entry.located():
        return read(engine, entry.paths, types=types, options=options, **named)


def count_rows(entry: Entry, dataset: Dataset) -> InputRows:
    """Return how many rows an input has, and how many records cannot be parsed; nothing is read for it."""
    unparsed = sum(dataset.reader.unparsed(fragment).num_rows for fragment in dataset.fragments)
    return InputRows(path=list(entry.paths), rows=dataset.count(), unparsed=unparsed)


@dataclass(frozen=True)
class Inputs(Mapping[str, Dataset]):
    """Datasets by name, with a note of those that are taken."""

    datasets: Mapping[str, Dataset]
    taken: set[str] = field(default_factory=set)

    def __getitem__(self, name: str) -> Dataset:
        if name not in self.datasets:
            raise ConfigError(
                f"run takes input {name!r}, which the catalog does not have.{did_you_mean(name, self.datasets)}",
                hint=_add(name, self.datasets),
            )
        self.taken.add(name)
        return self.datasets[name]

    def __contains__(self, name: object) -> bool:
        return name in self.datasets

    def get(self, name: str, default: Any = None) -> Any:
        """Return an input, or a default where the catalog does not have it."""
        known = name in self.datasets
        return self[name] if known else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.datasets)

    def __len__(self) -> int:
        return len(self.datasets)

    def untaken(self) -> list[str]:
        """Return the names of the inputs that nobody took."""
        return [name for name in self.datasets if name not in self.taken]


def _add(name: str, known: Mapping[str, Any]) -> str:
    there = f" There are: {', '.join(known)}." if known else ""
    return f"Add it below catalog: inputs: in the file of the job, or with --in {name}=PATH.{there}"
