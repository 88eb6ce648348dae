"""What runs on a GPU, run without one: pandas over Arrow arrays, which has cuDF's nulls and Narwhals' same code paths.

The stand-in answers the few calls that `penstock.frames.cudf` makes, as cuDF documents them. That cuDF itself answers
so is for ``pytest --device gpu`` to show.
"""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Callable, Iterator, Sequence
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
from sklearn.utils import murmurhash3_32

from penstock import devices, frames
from penstock.core.schemas import canonical
from penstock.devices import Device
from penstock.engines.local import LocalEngine
from penstock.errors import SchemaError
from penstock.frames import cudf, hashing, matrices
from penstock.stages.base import Stage
from penstock.stages.training.trees import _boosting
from penstock.testing import discover_examples, trials
from penstock.testing.cases import CASES, cases_for
from penstock.testing.checks.frames import check_schema
from penstock.testing.checks.partitions import rounding
from penstock.testing.compare import RTOL, demand_equal
from penstock.testing.suite import shorthand


def _held(kind: pa.DataType) -> pa.DataType:
    """Return the type in which cuDF has a column: dates as seconds, what is nothing but null as strings."""
    if pa.types.is_date32(kind):
        return pa.timestamp("s")
    return pa.string() if pa.types.is_null(kind) else kind


def _frame(table: pa.Table) -> pd.DataFrame:
    schema = pa.schema([(field.name, _held(field.type)) for field in table.schema])
    return table.cast(schema).to_pandas(types_mapper=pd.ArrowDtype)


def _table(frame: pd.DataFrame, preserve_index: bool) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=preserve_index)


def _series(values: pa.Array, like: pd.Series | None = None) -> pd.Series:
    made = pd.Series(values, dtype=pd.ArrowDtype(values.type))
    return made if like is None else made.set_axis(like.index).rename(like.name)


class _Categorical:
    """A cast to categories; codes are null for null and for what is no category."""

    def __init__(self, categories: pd.Series) -> None:
        self._values = pa.array(categories)

    def cast(self, series: pd.Series) -> Any:
        codes = pc.index_in(pa.array(series, from_pandas=True), self._values, skip_nulls=True)
        return SimpleNamespace(cat=SimpleNamespace(codes=_series(codes, series)))


class _Values(pd.Series):
    """Makes a series of an array, NaN turned into null."""

    def __new__(cls, values: np.ndarray) -> Any:
        return _series(pa.array(values, from_pandas=True))

    from_arrow = staticmethod(_series)


def _nans_to_nulls(series: pd.Series) -> pd.Series:
    values = pa.array(series)
    return _series(pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values), series)


def _log1p(series: pd.Series) -> pd.Series:
    logs = np.log1p(series.to_numpy("float64", na_value=np.nan))
    return _series(pa.array(logs, mask=series.isna().to_numpy(bool)), series)


def _hash_values(series: pd.Series, method: str, seed: int) -> pd.Series:
    """Hash as libcudf does a single column of strings: null has the largest number."""
    assert method == "murmur3"
    texts = pa.array(series, pa.string(), from_pandas=True).to_pylist()
    hashes = [2**32 - 1 if text is None else murmurhash3_32(text.encode(), seed, positive=True) for text in texts]
    return _series(pa.array(hashes, pa.uint32()), series).rename(None)


_astype = pd.Series.astype


def _cast(series: pd.Series, dtype: Any, **options: Any) -> Any:
    """Cast as cuDF does: nulls stay nulls, and numbers may lose digits."""
    if isinstance(dtype, _Categorical):
        return dtype.cast(series)
    if isinstance(series.dtype, pd.ArrowDtype):
        dtype = {"int32": "int32[pyarrow]", "float64": "double[pyarrow]"}.get(str(dtype), dtype)
        wanted = pd.api.types.pandas_dtype(dtype)
        if isinstance(wanted, pd.ArrowDtype):
            return _series(pc.cast(pa.array(series), wanted.pyarrow_dtype, safe=False), series)
    return _astype(series, dtype, **options)


_METHODS: dict[str, Callable[..., Any]] = {
    "astype": _cast,
    "hash_values": _hash_values,
    "log1p": _log1p,
    "nans_to_nulls": _nans_to_nulls,
    "to_cupy": lambda series, dtype, na_value: series.to_numpy(dtype, na_value=na_value),
}


def _choose(choice: str) -> Device:
    return Device("gpu", 0) if choice == "gpu" else Device("cpu")


@pytest.fixture(scope="module")
def stand_in() -> Iterator[None]:
    """pandas where `penstock.frames.cudf` calls cuDF, and NumPy where it calls CuPy."""
    library = SimpleNamespace(DataFrame=pd.DataFrame, Series=_Values, CategoricalDtype=_Categorical, concat=pd.concat)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", np)
        patch.setattr(pd.DataFrame, "from_arrow", staticmethod(_frame), raising=False)
        patch.setattr(pd.DataFrame, "to_arrow", _table, raising=False)
        for name, method in _METHODS.items():
            patch.setattr(pd.Series, name, method, raising=False)
        patch.setattr(cudf, "cudf", lambda: library)
        patch.setattr(frames, "is_gpu", lambda frame: frame.implementation.is_pandas())
        patch.setattr(devices, "choose", _choose)
        patch.setattr(devices, "use", lambda kind: Device("cpu"))
        patch.setattr(_boosting, "_check_device", lambda booster, rank: None)
        cudf.types.cache_clear()
        trials.home.cache_clear()
        yield
    cudf.types.cache_clear()
    trials.home.cache_clear()


@pytest.fixture(scope="module")
def gpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="gpu")


@pytest.fixture(scope="module")
def cpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="cpu")


def _stands(stage: Stage) -> bool:
    return "%" not in getattr(stage, "condition", "")  # Arrow arrays in pandas have no modulo


STAGES = [stage for stage in discover_examples() if _stands(stage)]
FIRST = list({type(stage): stage for stage in reversed(STAGES)}.values())
OF_EACH = ("ordinary", "not_a_number")
"""Tables that every example is tried on; on the others the first of a class."""
OF_NUMBERS = ("constant", "offset", "large_numbers", "one_row")
"""Tables that are hard on arithmetic, which is NumPy's here and there: for ``conformance/exhaustive_gpu.py``."""


def pairs(stage: Stage, names: Sequence[str]) -> Iterator[Any]:
    """Yield a stage with each of these cases that it meets."""
    for case in cases_for(stage):
        if case.name in names:
            thorough = [] if stage in FIRST and case.name == "ordinary" else [pytest.mark.thorough]
            yield pytest.param(stage, case.name, id=f"{shorthand(stage)}-{case.name}", marks=thorough)


OF_FRAMES = [name for name in CASES if name not in OF_NUMBERS]
PAIRS = [pair for stage in STAGES for pair in pairs(stage, OF_FRAMES if stage in FIRST else OF_EACH)]


@pytest.mark.thorough
@pytest.mark.parametrize(("stage", "case"), PAIRS)
def test_a_stage_gives_what_it_gives_on_a_cpu(stage: Stage, case: str, gpu: LocalEngine, cpu: LocalEngine) -> None:
    found, expected = trials.whole(stage, gpu, case), trials.whole(stage, cpu, case)
    trials.demand_same_failure(found, expected)
    if found.output is not None and expected.output is not None:
        demand_equal(found.output, expected.output, stage.title, rtol=RTOL, atol=rounding(stage, expected.given))


@pytest.mark.thorough
@pytest.mark.parametrize("stage", FIRST, ids=shorthand)
def test_a_stage_declares_what_a_gpu_makes(stage: Stage, gpu: LocalEngine) -> None:
    check_schema(stage, gpu)


def on_gpu(table: pa.Table) -> nw.DataFrame:
    return frames.from_arrow(table, "gpu")


def test_nan_is_null_and_an_infinity_is_a_value(stand_in: None) -> None:
    found = on_gpu(pa.table({"x": [1.0, math.nan, None, math.inf], "s": ["a", "b", None, "c"]}))
    assert frames.to_arrow(found)["x"].to_pylist() == [1.0, None, None, math.inf]


def test_dictionaries_and_the_index_of_pandas_become_plain_columns(stand_in: None) -> None:
    indexed = pd.DataFrame({"x": [1]}, index=pd.Index([7], name="key"))
    table = pa.Table.from_pandas(indexed).append_column("d", pa.array(["a"]).dictionary_encode())
    assert frames.to_arrow(on_gpu(table)).to_pylist() == [{"x": 1, "key": 7, "d": "a"}]


def test_codes_are_positions_unseen_and_null_also_of_rows_that_were_filtered(stand_in: None) -> None:
    frame = on_gpu(pa.table({"c": ["z", "b", None, "z", "a"], "keep": [False, True, True, True, True]}))
    kept = frame.filter(nw.col("keep"))
    codes = frames.encode(kept, {"c": pa.array(["a", "b"])}, {"c": 2})["c"]
    assert frames.to_arrow(kept.with_columns(codes.alias("code")))["code"].to_pylist() == [1, None, 2, 0]


@pytest.mark.parametrize(
    ("values", "expected"), [(["b", "a"], [None, "a", "b"]), ([True, False], [None, False, True]), ([], [None] * 3)]
)
def test_decoding_gives_categories_by_place_also_of_rows_that_were_filtered(
    values: list[Any], expected: list[Any], stand_in: None
) -> None:
    frame = on_gpu(pa.table({"c": pa.array([0, 9, None, 1, 0], pa.int32()), "keep": [False, True, False, True, True]}))
    categories = pa.array(values, pa.string() if not values else None)
    decoded = frames.decode(frame.filter(nw.col("keep"))["c"], categories)
    assert frames.to_arrow(decoded.to_frame())["c"].to_pylist() == expected


def test_hashes_are_those_of_a_cpu_and_of_null_null(stand_in: None) -> None:
    frame = on_gpu(pa.table({"s": ["z", "b", None, ""], "keep": [False, True, True, True]})).filter(nw.col("keep"))
    hashed = frames.to_arrow(frame.with_columns(hashing.murmur3(frame["s"]).alias("h")))["h"]
    assert hashed.to_pylist() == [hashing.murmur3_text("b"), None, hashing.murmur3_text("")]


def test_a_matrix_has_nan_for_null_and_may_have_no_columns(stand_in: None) -> None:
    frame = on_gpu(pa.table({"a": pa.array([1, None], pa.int8()), "b": [True, None]}))
    np.testing.assert_array_equal(
        matrices.to_matrix(frame, ["b", "a"]), np.array([[1, 1], [np.nan, np.nan]], np.float32)
    )
    assert matrices.to_matrix(frame, []).shape == (2, 0)


@pytest.mark.parametrize("rows", [0, 2])
def test_a_matrix_becomes_a_column_of_lists(rows: int, stand_in: None) -> None:
    frame = on_gpu(pa.table({"x": pa.array(range(rows), pa.int64())}))
    values = np.arange(2 * rows, dtype=np.float64).reshape(rows, 2)
    made = frames.to_arrow(frame.with_columns(matrices.column(frame, "v", values)))
    assert made.schema.field("v").type == pa.list_(pa.float64())
    assert made["v"].to_pylist() == values.tolist()


SCHEMA = pa.schema({"s": pa.string(), "absent": pa.date32(), "n": pa.int64(), "d": pa.date32(), "none": pa.null()})
GIVEN = pa.table(
    {"none": pa.nulls(1), "d": pa.array([19000], pa.date32()), "n": pa.array([1], pa.int8()), "more": [0], "s": ["x"]}
)


def test_conforming_orders_casts_and_fills_and_dates_come_back(stand_in: None) -> None:
    made = frames.conform(on_gpu(GIVEN), SCHEMA)
    table = frames.to_arrow(made, SCHEMA)
    expected = {"s": "x", "absent": None, "n": 1, "d": GIVEN["d"][0].as_py(), "none": None}
    assert (table.schema, table.to_pylist()) == (SCHEMA, [expected])


def test_conforming_refuses_what_a_type_cannot_hold(stand_in: None) -> None:
    with pytest.raises(pa.ArrowInvalid, match="300 not in range"):
        frames.conform(on_gpu(pa.table({"n": [300]})), pa.schema({"n": pa.int8()}))


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.list_(pa.float64()), pa.string()], ids=str)
def test_a_file_has_the_types_of_its_schema(kind: pa.DataType, stand_in: None, tmp_path: Path) -> None:
    table = pa.table({"c": pa.array([None, None], kind)})
    path = tmp_path / "f.parquet"
    frames.write_parquet(frames.conform(on_gpu(table), table.schema), str(path), table.schema)
    assert pq.read_table(path).cast(table.schema).equals(table)
    assert canonical(pq.read_schema(path)) == table.schema


def test_binary_columns_are_lists_of_bytes_and_come_back(stand_in: None, tmp_path: Path) -> None:
    table = pa.table({"id": [0, 1, 2, 3], "b": [b"\0\xff", None, b"", b"abc"]})
    for given in (table, table.slice(1, 3), table.slice(4)):
        frame = on_gpu(given)
        assert frames.to_arrow(frame, table.schema).equals(given)
        kept = frames.conform(frame.filter(nw.col("id") != 1), table.schema)
        known = [value for value in given["b"].to_pylist() if value is not None]
        assert frames.to_arrow(kept, table.schema)["b"].to_pylist() == known
    frames.write_parquet(on_gpu(table), str(tmp_path / "f.parquet"), table.schema)
    assert pq.read_table(tmp_path / "f.parquet").cast(table.schema).equals(table)


def test_frames_are_joined_in_order(stand_in: None) -> None:
    parts = [on_gpu(pa.table({"x": [1, 2]})), on_gpu(pa.table({"x": [3]}))]
    joined = frames.concat(parts)
    assert frames.to_arrow(joined.with_columns(y=nw.col("x") * 2))["y"].to_pylist() == [2, 4, 6]


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.list_(pa.binary()), pa.decimal256(50, 1)], ids=str)
def test_a_type_that_cudf_lacks_is_refused_with_the_column(kind: pa.DataType, stand_in: None) -> None:
    with pytest.raises(SchemaError, match=r"column 'odd' is .*, which cuDF cannot hold"):
        on_gpu(pa.table({"x": [1], "odd": pa.nulls(1, kind)}))


def test_lags_and_differences_are_those_of_a_cpu(
    gpu: LocalEngine, cpu: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pl, "GPUEngine", lambda **_: "streaming")
    days = [datetime.date(2024, 1, 1 + row % 9) for row in range(30)]
    table = pa.table(
        {
            "who": [None if row % 7 == 3 else f"w{row % 4}" for row in range(30)],
            "day": days,
            "x": [math.nan if row % 5 == 1 else row / 3 for row in range(30)],
            "n": pa.array([row * row for row in range(30)], pa.int16()),
            "bytes": [b"" if row % 2 else b"\x00" for row in range(30)],
        }
    )
    found = []
    for engine in (gpu, cpu):
        data = engine.from_arrow(table, fragment_bytes=400).filter(nw.col("n") > 3)
        lagged = data.lag(["who", "day", "x", "bytes"], by="who", order_by="day", periods=2)
        found.append(lagged.diff(["day", "x", "n"], by="who", order_by="day").to_arrow())
    assert found[0].equals(found[1])
