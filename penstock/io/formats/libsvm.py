"""libsvm (svmlight): text with a label and a sparse vector in a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import unify
from penstock.io.formats.base import Format, ReadOptions
from penstock.io.fragments import Fragment
from penstock.io.sources.bad_records import check_limit
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.libsvm import TYPES, LibsvmSource
from penstock.io.sources.scanning import ParseTask, open_files, scan_ranges


@dataclass(frozen=True, kw_only=True)
class LibsvmOptions(ReadOptions):
    """What `Engine.read_libsvm` takes."""

    zero_based: bool = False
    num_features: int | None = None
    max_bad_records: int = 0

    def __post_init__(self) -> None:
        check_limit(self.max_bad_records)
        if self.num_features is not None and self.num_features < 1:
            raise ConfigError(f"num_features is {self.num_features!r}, expected 1 or more")


class Libsvm(Format[LibsvmOptions]):
    """Text with a label and a sparse vector in a line; see `Engine.read_libsvm`."""

    name = "libsvm"
    aliases = ("svmlight",)
    suffixes = tuple(kind + codec for kind in (".libsvm", ".svm", ".svmlight") for codec in ("", ".gz", ".zst"))
    options = LibsvmOptions

    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: LibsvmOptions
    ) -> tuple[LibsvmSource, tuple[Fragment, ...]]:
        """Parse all lines once and return the source and its fragments.

        Raises
        ------
        CorruptFileError, BadRowsError, SchemaDriftError
        """
        source = LibsvmSource(pa.schema([]), storage, zero_based=options.zero_based, num_features=options.num_features)
        items = open_files(scheduler, source, files, options.fragment_bytes)
        columns = [(item.file.path, pa.schema([(name, TYPES[name]) for name in item.names])) for item in items]
        schema = unify(columns, missing="error", extra="error")
        scanned = scan_ranges(scheduler, ParseTask(source, None, options.max_bad_records), items)
        return source.planned(schema, scanned, options.fragment_bytes)
