"""What a format is, and the options that formats have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import declared
from penstock.core.several import settle_several
from penstock.devices import Device
from penstock.io.fragments import FRAGMENT_BYTES, Fragment, Piece, fragment_bytes_on, pack, row_bytes
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.bad_records import check_limit
from penstock.io.sources.base import Source
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.paths import expand


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What every format takes.

    Parameters
    ----------
    fragment_bytes : int
        Memory that the rows of one fragment take, about.
    """

    fragment_bytes: int = FRAGMENT_BYTES

    def __post_init__(self) -> None:
        settle_several(self)


@dataclass(frozen=True, kw_only=True)
class TableOptions(ReadOptions):
    """What formats of tables take besides.

    Parameters
    ----------
    schema : pyarrow.Schema or dict of name to type, optional
        What is expected; it leads instead of the first file.
    missing_columns : {"error", "null"}
        What to do with a file that lacks a column.
    extra_columns : {"warn", "error"}
        What to do with a column that the first file lacks.
    """

    schema: pa.Schema | None = None
    missing_columns: str = "error"
    extra_columns: str = "warn"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schema is not None:
            object.__setattr__(self, "schema", declared(self.schema))

    @property
    def lead(self) -> list[tuple[str, pa.Schema]]:
        """The declared schema, where there is one, as what the files have to agree with."""
        return [] if self.schema is None else [("the declared schema", self.schema)]


@dataclass(frozen=True, kw_only=True)
class TextOptions(TableOptions):
    """What formats of text take besides.

    Parameters
    ----------
    max_bad_records : int
        How many records may be set aside that cannot be parsed.
    """

    max_bad_records: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limit(self.max_bad_records)


Options = TypeVar("Options", bound=ReadOptions)


class Format(ABC, Generic[Options]):
    """One way to keep rows in files; `register_format` puts one of your own into the table.

    Attributes
    ----------
    name : str
        What ``engine.read`` and ``dataset.write`` call it.
    aliases : tuple of str
        Other names for it.
    suffixes : tuple of str
        How the files of a directory end that are read; that of the writer is one of them.
    options : type of ReadOptions
        A dataclass of what reading takes: ``engine.read`` makes it of its keywords, and tells the nearest name.
    writer : type of PartWriter, optional
        Writes one part of an output of a schema; its other fields are what ``dataset.write`` takes for the format.
    whole_files : bool
        Whether a row is a file, so that one may be named twice and no directory has to say that it is whole.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    suffixes: ClassVar[tuple[str, ...]]
    options: ClassVar[type[ReadOptions]] = TableOptions
    writer: ClassVar[type[PartWriter] | None] = None
    whole_files: ClassVar[bool] = False

    def open(
        self, paths: Any, scheduler: Scheduler, storage: Storage, options: Options, *, allow_unmanifested: bool = False
    ) -> tuple[Source, tuple[Fragment, ...]]:
        """Return what reads pieces of the files that `paths` stand for, and the fragments.

        A format whose files are listed elsewhere than in folders, as in the log of a table, looks there.

        Parameters
        ----------
        paths : path or sequence of paths
        scheduler : Scheduler
        storage : Storage
        options : ReadOptions
        allow_unmanifested : bool
            Read a directory that does not say it is whole.

        Raises
        ------
        InputError
            As `plan`, and where a path stands for no file.
        """
        unmanifested = allow_unmanifested or self.whole_files
        files = expand(paths, self.suffixes, storage, allow_unmanifested=unmanifested, whole_files=self.whole_files)
        return self.plan(files, scheduler, storage, options)

    @abstractmethod
    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: Options
    ) -> tuple[Source, tuple[Fragment, ...]]:
        """Return what reads pieces of the files, and the fragments; no row is lost, none read twice.

        Parameters
        ----------
        files : sequence of InputFile
            In the order of the rows, at least one.
        scheduler : Scheduler
            Looks at files on the workers: ``scheduler.map(task, files, label="footers")``.
        storage : Storage
            Opens files; the source keeps it.
        options : ReadOptions

        Raises
        ------
        InputError
            A file cannot be read, or files do not agree; names it.
        """

    def fragment_bytes(self, device: Device) -> int:
        """Return the memory that the rows of one fragment take, about, where none is asked for."""
        return fragment_bytes_on(device)

    def pack(
        self,
        pieces: Iterable[Piece],
        schema: pa.Schema,
        options: ReadOptions,
        lengths: Mapping[str, float] | None = None,
    ) -> tuple[Fragment, ...]:
        """Return pieces, in their order, put together to fragments of about `fragment_bytes`; see `row_bytes`."""
        return pack(pieces, row_bytes(schema, lengths), options.fragment_bytes)

    def read_options(self, options: Mapping[str, Any]) -> Options:
        """Return the options of a read.

        Raises
        ------
        ConfigError
            The format has no option of a name; says the nearest one.
        """
        check_options(options, [field.name for field in fields(self.options)], f"reading {self.name}")
        return self.options(**options)  # type: ignore[return-value]

    def part_writer(self, schema: pa.Schema, options: Mapping[str, Any]) -> PartWriter:
        """Return what writes parts of a schema.

        Raises
        ------
        ConfigError
            The format is only read, cannot hold a type of the schema, or has no option of a name; says the nearest one.
        """
        if self.writer is None:
            raise ConfigError(
                f"{self.name} is only read, not written", hint="Write parquet, orc, avro, arrow, csv or json_lines."
            )
        known = [field.name for field in fields(self.writer) if field.name != "schema"]
        check_options(options, known, f"writing {self.name}")
        return self.writer(schema, **options)


def check_options(options: Mapping[str, Any], known: Sequence[str], purpose: str) -> None:
    """Raise ConfigError, with the nearest name, for an option that is not known.

    Examples
    --------
    >>> check_options({"delimeter": ";"}, ["delimiter", "quote"], "reading csv")
    Traceback (most recent call last):
    penstock.errors.ConfigError: reading csv takes no option 'delimeter'. Did you mean 'delimiter'?
      Hint: It takes delimiter, quote.
    """
    for name in options:
        if name not in known:
            raise ConfigError(
                f"{purpose} takes no option {name!r}.{did_you_mean(name, known)}",
                hint=f"It takes {', '.join(sorted(known)) or 'none'}.",
            )
