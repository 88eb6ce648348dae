"""The pieces of pylibcudf that read Parquet, and make a column of an array."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cudf_stand_in import spec
from cudf_stand_in.arrays import ndarray
from cudf_stand_in.spec import Checked


class Column(Checked, owner="pylibcudf.Column"):
    """Values without labels; of a matrix, its rows as lists."""

    @classmethod
    def from_array(cls, obj: ndarray) -> Column:
        made = cls.__new__(cls)
        host = obj._host.copy()
        made._values = pa.array(host) if host.ndim == 1 else _lists(host)
        return made


def _lists(matrix: np.ndarray) -> pa.Array:
    rows, width = matrix.shape
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * width)
    return pa.ListArray.from_arrays(offsets, pa.array(matrix.ravel()))


class SourceInfo(Checked, owner="pylibcudf.io.SourceInfo"):
    def __init__(self, sources: list[str]) -> None:
        self._paths = sources


class TableWithMetadata(Checked, owner="pylibcudf.io.TableWithMetadata"):
    @classmethod
    def _of(cls, table: pa.Table) -> TableWithMetadata:
        made = cls.__new__(cls)
        made._table = table
        return made


class ParquetReaderOptions(Checked, owner="pylibcudf.io.parquet.ParquetReaderOptions"):
    @staticmethod
    def builder(source: SourceInfo) -> ParquetReaderOptionsBuilder:
        return ParquetReaderOptionsBuilder._of(source)

    def set_column_names(self, col_names: list[str]) -> None:
        self._names = col_names

    def set_skip_rows(self, skip_rows: int) -> None:
        self._first = skip_rows

    def set_num_rows(self, nrows: int) -> None:
        self._rows = nrows


class ParquetReaderOptionsBuilder(Checked, owner="pylibcudf.io.parquet.ParquetReaderOptionsBuilder"):
    @classmethod
    def _of(cls, source: SourceInfo) -> ParquetReaderOptionsBuilder:
        made = cls.__new__(cls)
        made._source = source
        return made

    def use_pandas_metadata(self, val: bool) -> ParquetReaderOptionsBuilder:
        if val:
            raise NotImplementedError("an index of pandas is not in the stand-in")
        return self

    def build(self) -> ParquetReaderOptions:
        made = ParquetReaderOptions.__new__(ParquetReaderOptions)
        made._paths, made._names, made._first, made._rows = self._source._paths, None, 0, None
        return made


def read_parquet(options: ParquetReaderOptions) -> TableWithMetadata:
    """Read rows of files, which are counted through; binary columns come as strings, as from libcudf."""
    files = [pq.ParquetFile(path).read(options._names) for path in options._paths]
    table = pa.concat_tables(files).slice(options._first, options._rows)
    kinds = [(each.name, pa.string() if pa.types.is_binary(each.type) else each.type) for each in table.schema]
    return TableWithMetadata._of(table.cast(pa.schema(kinds), safe=False))


def modules() -> dict[str, ModuleType]:
    """Return what is imported as pylibcudf."""
    library, io, parquet = (ModuleType(name) for name in ("pylibcudf", "pylibcudf.io", "pylibcudf.io.parquet"))
    library.__dict__.update(Column=Column, io=io)
    io.__dict__.update(SourceInfo=SourceInfo, TableWithMetadata=TableWithMetadata, parquet=parquet)
    read = spec.checked("pylibcudf.io.parquet", "read_parquet", read_parquet)
    parquet.__dict__.update(ParquetReaderOptions=ParquetReaderOptions, read_parquet=read)
    return {each.__name__: each for each in (library, io, parquet)}
