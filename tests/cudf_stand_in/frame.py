"""A table: columns by their names, with one index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cudf_stand_in import casts
from cudf_stand_in.arrays import ndarray
from cudf_stand_in.arrow import to_arrow
from cudf_stand_in.dtypes import arrow_type, dtype_of
from cudf_stand_in.frame_rows import FrameRows
from cudf_stand_in.groupby import DataFrameGroupBy
from cudf_stand_in.index import Index, unlabelled
from cudf_stand_in.refusals import Refusals
from cudf_stand_in.selection import places, require_same_index
from cudf_stand_in.series import Series
from cudf_stand_in.spec import Checked
from cudf_stand_in.values import is_null, is_scalar, nans_to_nulls, values_of


class DataFrame(FrameRows, Refusals, Checked, owner="cudf.DataFrame"):
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Any = None, index: Any = None, columns: Any = None) -> None:
        matrix = data._host if isinstance(data, ndarray) else None
        given = dict(data or {}) if matrix is None else dict(zip(columns, map(ndarray._of, matrix.T), strict=True))
        series = [each for each in given.values() if isinstance(each, Series)]
        for each in series:
            require_same_index(series[0], each)
        self._columns = {name: values_of(each) for name, each in given.items()}
        labels = series[0].index if index is None and series else index
        self._index = unlabelled(len(next(iter(self._columns.values()), ()))) if labels is None else labels
        self._names = pd.Index(list(given))

    @staticmethod
    def _of(columns: Mapping[Any, pa.Array], index: Index) -> DataFrame:
        made = DataFrame.__new__(DataFrame)
        made._columns, made._index, made._names = dict(columns), index, pd.Index(list(columns))
        return made

    def _like(self, columns: Mapping[Any, pa.Array]) -> DataFrame:
        return DataFrame._of(columns, self._index)

    @classmethod
    def from_dict(cls, data: Mapping[Any, Any]) -> DataFrame:
        return cls(data)

    @classmethod
    def from_arrow(cls, table: pa.Table) -> DataFrame:
        columns = {name: values_of(table[name], nan_as_null=False) for name in table.column_names}
        return cls._of(columns, unlabelled(len(table)))

    @classmethod
    def from_pylibcudf(cls, table: Any) -> DataFrame:
        return cls.from_arrow(table._table)

    def to_arrow(self, preserve_index: bool | None = None) -> pa.Table:
        _refuse_index(preserve_index)
        return pa.table({name: to_arrow(values) for name, values in self._columns.items()})

    def to_parquet(self, path: Any, compression: str | None = "snappy", index: bool | None = None) -> None:
        _refuse_index(index)
        pq.write_table(pa.table(self._columns), path, compression=compression or "none")

    def to_cupy(self, dtype: Any = None, na_value: Any = None) -> ndarray:
        """Return a matrix, its columns one after the other in memory."""
        columns = [self[name].to_cupy(dtype, na_value=na_value)._host for name in self._columns]
        return ndarray._of(np.asfortranarray(np.stack(columns, axis=1)))

    @property
    def columns(self) -> pd.Index:
        return self._names

    @columns.setter
    def columns(self, names: Any) -> None:
        self._columns = dict(zip(names, self._columns.values(), strict=True))
        self._names = pd.Index(list(names))

    @property
    def dtypes(self) -> pd.Series:
        return pd.Series({name: dtype_of(values.type) for name, values in self._columns.items()}, dtype=object)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self._columns)

    @property
    def empty(self) -> bool:
        return 0 in self.shape

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, arg: Any) -> Any:
        if isinstance(arg, Series):
            return self.loc[arg]
        if isinstance(arg, slice):
            return self._taken(places(arg, len(self)))
        if is_scalar(arg):
            return Series._of(self._columns[arg], self._index, arg)
        return self._like({name: self._columns[name] for name in arg})

    def items(self) -> Iterator[tuple[Any, Series]]:
        return ((name, Series._of(values, self._index, name)) for name, values in self._columns.items())

    def assign(self, **kwargs: Any) -> DataFrame:
        for value in kwargs.values():
            require_same_index(self, value)
        return self._like({**self._columns, **{name: values_of(new, length=len(self)) for name, new in kwargs.items()}})

    def astype(self, dtype: Any) -> DataFrame:
        kinds = dtype if isinstance(dtype, Mapping) else dict.fromkeys(self._columns, dtype)
        made = {name: casts.cast(self._columns[name], arrow_type(kind)) for name, kind in kinds.items()}
        return self._like({**self._columns, **made})

    def isna(self) -> DataFrame:
        return self._like({name: pa.array(is_null(values)) for name, values in self._columns.items()})

    def nans_to_nulls(self) -> DataFrame:
        return self._like({name: nans_to_nulls(values) for name, values in self._columns.items()})

    def sum(self) -> Series:
        return Series(np.array([pc.sum(values).as_py() or 0 for values in self._columns.values()]))

    def copy(self, deep: bool = True) -> DataFrame:
        return self._like(self._columns)

    def rename(self, columns: Mapping[Any, Any]) -> DataFrame:
        return self._like({columns.get(name, name): values for name, values in self._columns.items()})

    def drop(self, columns: Any) -> DataFrame:
        return self._like({name: values for name, values in self._columns.items() if name not in columns})

    def groupby(
        self, by: Any = None, sort: bool = False, as_index: bool = True, observed: bool = True, dropna: bool = True
    ) -> DataFrameGroupBy:
        if sort or not as_index:
            raise NotImplementedError("groups that are sorted, or whose keys are columns, are not in the stand-in")
        return DataFrameGroupBy._of(self, by, dropna)

    def min(self, axis: Any = 0) -> Series:
        return self._across(np.fmin, axis)

    def max(self, axis: Any = 0) -> Series:
        return self._across(np.fmax, axis)

    def _across(self, function: np.ufunc, axis: Any) -> Series:
        """Return the extreme of each row, of NaN where there is null, so that integers become floating."""
        if axis != 1:
            raise NotImplementedError("extremes of columns are not in the stand-in")
        return Series(function.reduce(self.to_cupy()._host, axis=1), index=self._index)


def _refuse_index(wanted: bool | None) -> None:
    if wanted is not False:
        raise NotImplementedError("an index among the columns is not in the stand-in")
