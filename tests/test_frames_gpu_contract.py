"""What runs on a GPU, run without one: pandas over Arrow arrays, which has cuDF's nulls and Narwhals' same code paths.

The stand-in answers the few calls that `penstock.frames_cudf` makes, as cuDF documents them. That cuDF itself answers
so is for ``pytest --device gpu`` to show.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from penstock import devices, frames, frames_cudf
from penstock.devices import Device
from penstock.engines.local import LocalEngine
from penstock.errors import SchemaError
from penstock.stages.training import boosting
from penstock.testing import checks_for, discover_examples, trials


def _held(kind: pa.DataType) -> pa.DataType:
    """Return the type in which cuDF has a column: dates as seconds, what is nothing but null as strings."""
    if pa.types.is_date32(kind):
        return pa.timestamp("s")
    return pa.string() if pa.types.is_null(kind) else kind


def _frame(table: pa.Table) -> pd.DataFrame:
    schema = pa.schema([(field.name, _held(field.type)) for field in table.schema])
    return table.cast(schema).to_pandas(types_mapper=pd.ArrowDtype)


def _series(array: pa.Array) -> pd.Series:
    return pd.Series(array, dtype=pd.ArrowDtype(array.type))


class Categorical:
    """A cast to categories: codes are null for null and for what is no category, as cuDF's are before pandas sees them."""

    def __init__(self, categories: pd.Series) -> None:
        self.values = pa.array(categories)

    def cast(self, series: pd.Series) -> Any:
        codes = pc.index_in(pa.array(series, from_pandas=True), self.values, skip_nulls=True)
        return SimpleNamespace(cat=SimpleNamespace(codes=_series(codes.cast(pa.int8())).set_axis(series.index)))


class Column(pd.Series):
    """A series made from values on the device, NaN turned into null."""

    def __new__(cls, values: np.ndarray) -> Any:
        return _series(pa.array(values, from_pandas=True))

    from_arrow = staticmethod(_series)


@pytest.fixture(scope="module")
def stand_in() -> Iterator[pytest.MonkeyPatch]:
    """pandas where `penstock.frames_cudf` calls cuDF, and NumPy where it calls CuPy."""
    astype = pd.Series.astype

    def cast(series: pd.Series, kind: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(kind, Categorical):
            return kind.cast(series)
        if not isinstance(series.dtype, pd.ArrowDtype):
            return astype(series, kind, *arguments, **options)
        named = {"int32": pa.int32(), "float64": pa.float64()}.get(kind) if isinstance(kind, str) else None
        wanted = pd.api.types.pandas_dtype(kind) if named is None else pd.ArrowDtype(named)
        if not isinstance(wanted, pd.ArrowDtype):
            return astype(series, kind, *arguments, **options)
        values = pc.cast(pa.array(series), wanted.pyarrow_dtype, safe=False)  # as cuDF casts
        return _series(values).set_axis(series.index).rename(series.name)

    def log1p(series: pd.Series) -> pd.Series:
        logs = np.log1p(series.to_numpy("float64", na_value=np.nan))
        return _series(pa.array(logs, mask=series.isna().to_numpy(bool))).set_axis(series.index)

    def nans_to_nulls(series: pd.Series) -> pd.Series:
        values = pa.array(series)
        return _series(pc.if_else(pc.is_nan(values), None, values)).set_axis(series.index)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", np)
        patch.setattr(pd.DataFrame, "from_arrow", staticmethod(_frame), raising=False)
        patch.setattr(
            pd.DataFrame, "to_arrow",
            lambda frame, preserve_index: pa.Table.from_pandas(frame, preserve_index=preserve_index), raising=False,
        )  # fmt: skip
        patch.setattr(pd.Series, "astype", cast)
        patch.setattr(pd.Series, "log1p", log1p, raising=False)
        patch.setattr(pd.Series, "nans_to_nulls", nans_to_nulls, raising=False)
        patch.setattr(pd.Series, "to_cupy", lambda series, dtype, na_value: series.to_numpy(dtype, na_value=na_value), raising=False)
        library = SimpleNamespace(DataFrame=pd.DataFrame, Series=Column, CategoricalDtype=Categorical, concat=pd.concat)
        patch.setattr(frames_cudf, "cudf", lambda: library)
        patch.setattr(frames, "is_gpu", lambda frame: frame.implementation.is_pandas())
        patch.setattr(boosting, "_check_device", lambda booster, rank: None)
        patch.setattr(devices, "use", lambda kind: Device("cpu"))
        patch.setattr(devices, "choose", lambda choice: Device(choice, 0 if choice == "gpu" else None))
        frames_cudf.types.cache_clear()
        trials.home.cache_clear()
        yield patch
    frames_cudf.types.cache_clear()
    trials.home.cache_clear()


@pytest.fixture(scope="module")
def gpu(stand_in: pytest.MonkeyPatch) -> LocalEngine:
    return LocalEngine(device="gpu")


CHECKS = [check for stage in discover_examples() for check in checks_for(stage)]


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_stages_do_not_lean_on_polars(check: Any, gpu: LocalEngine) -> None:
    check(gpu)
