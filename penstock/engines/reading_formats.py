"""Readers of formats by their own names: what `read` takes, with the options of each format written out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.dataset.dataset import Dataset
from penstock.devices import Device
from penstock.io.fragments import fragment_bytes_on

Paths = str | Path | list[str] | list[Path]


def options_in(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reader was called with, defaults too, as `read` takes it: `arguments` are its ``locals()``."""
    return {name: value for name, value in arguments.items() if name != "self"}


class ReadingFormats(ABC):
    """Ways into `read`, one for each format."""

    device: Device

    @property
    def fragment_bytes(self) -> int:
        """Memory that the rows of one fragment take, about, unless a reader says otherwise; see `fragment_bytes_on`."""
        return fragment_bytes_on(self.device)

    @abstractmethod
    def read(
        self,
        format: str,
        paths: Paths,
        *,
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Dataset:
        """Plan a dataset of files of any format."""

    def read_orc(
        self,
        paths: Paths,
        *,
        schema: pa.Schema | dict[str, Any] | None = None,
        missing_columns: str = "error",
        extra_columns: str = "warn",
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of ORC files from all their footers; parameters and errors are those of `read_parquet`.

        Times are nanoseconds, as pyarrow reads them; `schema` may give them another unit or zone, and whole numbers the
        type that they were written from, which is checked value by value. A time outside the years 1678 to 2261 is an
        error. pyarrow does not say how many rows a stripe has, so that a file of several is planned from a narrow
        column of it.

        Examples
        --------
        >>> import tempfile, pyarrow as pa, penstock as ps
        >>> engine = ps.LocalEngine(device="cpu")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = engine.from_arrow(pa.table({"x": [1, None]})).write(f"{folder}/out", format="orc")
        ...     engine.read_orc(f"{folder}/out").to_arrow().to_pydict()
        {'x': [1, None]}
        """
        return self.read("orc", **options_in(locals()))

    def read_avro(
        self,
        paths: Paths,
        *,
        schema: pa.Schema | dict[str, Any] | None = None,
        missing_columns: str = "error",
        extra_columns: str = "warn",
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of Avro files from the heads of all their blocks, with the extra ``avro``.

        Parameters and errors are those of `read_parquet`, and SchemaError, which names the column, for a map, a
        duration, or a union of anything but null and one type. Enums are strings. Days, times, decimals and times of a
        day are of their types in Arrow; an unknown logical type is the type under it, as Avro has it. A file that was
        cut off between two blocks is a whole one to Avro: only a manifest tells.
        """
        return self.read("avro", **options_in(locals()))

    def read_arrow(
        self,
        paths: Paths,
        *,
        schema: pa.Schema | dict[str, Any] | None = None,
        missing_columns: str = "error",
        extra_columns: str = "warn",
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of files of Arrow IPC, Feather (version 2) or streams, from all their record batches.

        Parameters and errors are those of `read_parquet`. A stream is read once as a whole when it is planned, and has
        to end with the mark of its end.
        """
        return self.read("arrow", **options_in(locals()))

    def read_libsvm(
        self,
        paths: Paths,
        *,
        num_features: int | None = None,
        zero_based: bool = False,
        max_bad_records: int = 0,
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        r"""Plan a dataset of libsvm (svmlight) files, lines of ``label index:value ...``; they are parsed once here.

        Columns are ``label`` (float64), ``qid`` (int64, where the first line has it), ``features_indices`` (list of
        int32, from 0) and ``features_values`` (list of float64): a sparse vector, as trainers take it. What follows
        ``#`` is a comment.

        Parameters
        ----------
        num_features : int, optional
            How many features there are: an index beyond is refused. A vector does not say how long it is.
        zero_based : bool
            Whether the first feature is written as 0, not 1; nothing is guessed.
        max_bad_records : int
            How many lines may be set aside because they are not of this form; see `read_csv`.

        Raises
        ------
        MissingInputError, CorruptFileError, SchemaDriftError
            Also where only some of the files have queries.
        BadRowsError
            Names file and line: a label or value that is no number, NaN among the values, indices that do not ascend.

        Examples
        --------
        >>> import tempfile, penstock as ps
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.libsvm").write_text("1 1:0.5 3:2\n0 2:1\n")
        ...     ps.LocalEngine(device="cpu").read_libsvm(f"{folder}/a.libsvm").to_arrow().to_pydict()
        {'label': [1.0, 0.0], 'features_indices': [[0, 2], [1]], 'features_values': [[0.5, 2.0], [1.0]]}
        """
        return self.read("libsvm", **options_in(locals()))
