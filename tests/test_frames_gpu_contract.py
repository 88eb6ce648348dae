"""What runs on a GPU, run without one: on `cudf_stand_in`, which Narwhals takes for cuDF.

That cuDF's kernels answer so is for ``pytest --device gpu`` to show.
"""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cudf_stand_in
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import xgboost
import xgboost.data
from cudf_stand_in.arrays import given_host

from penstock import devices, frames
from penstock.core.schemas import canonical
from penstock.devices import Device
from penstock.engines.local import LocalEngine
from penstock.errors import SchemaError
from penstock.frames import cudf, hashing, matrices
from penstock.stages.base import Stage
from penstock.stages.training.trees import _boosting
from penstock.testing import discover_examples, trials
from penstock.testing.cases import CASES, cases_for, trains
from penstock.testing.checks.frames import check_schema
from penstock.testing.checks.partitions import rounding
from penstock.testing.compare import RTOL, demand_equal
from penstock.testing.suite import shorthand

pytestmark = pytest.mark.cpu("cuDF is a stand-in")


def _choose(choice: str) -> Device:
    return Device("gpu", 0) if choice == "gpu" else Device("cpu")


@pytest.fixture(scope="module")
def stand_in() -> Iterator[None]:
    """The stand-in where cuDF, CuPy and pylibcudf are imported; XGBoost and PyTorch read its arrays on the host."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in cudf_stand_in.modules().items():
            patch.setitem(sys.modules, name, module)
        for owner, name in _READERS:
            patch.setattr(owner, name, given_host(getattr(owner, name)))
        patch.setattr(devices, "choose", _choose)
        patch.setattr(devices, "use", lambda kind: Device("cpu"))
        patch.setattr(_boosting, "_check_device", lambda booster, rank: None)
        cudf.types.cache_clear()
        trials.home.cache_clear()
        yield
    cudf.types.cache_clear()
    trials.home.cache_clear()


_READERS: tuple[tuple[Any, str], ...] = (
    (xgboost.Booster, "inplace_predict"),
    (xgboost.data, "dispatch_data_backend"),
    (xgboost.data, "dispatch_meta_backend"),
    (xgboost.data, "_proxy_transform"),
    (torch, "as_tensor"),
)


@pytest.fixture(scope="module")
def gpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="gpu")


@pytest.fixture(scope="module")
def cpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="cpu")


STAGES = [stage for stage in discover_examples() if "cpu" in stage.tags.devices]
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


UNTRAINED = [stage for stage in FIRST if not trains(stage)]
"""Stages whose columns may follow the types of numbers; what is trained takes all as a matrix of one type."""


@pytest.mark.thorough
@pytest.mark.parametrize("stage", UNTRAINED, ids=shorthand)
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
    filled = frames.encode(kept, {"c": pa.array(["a", "b"])}, {"c": 2}, {"c": 3})
    assert frames.to_arrow(filled).to_pydict() == {"c": [1, 3, 2, 0], "keep": [True] * 4}


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
        matrices.to_host(matrices.to_matrix(frame, ["b", "a"])), np.array([[1, 1], [np.nan, np.nan]], np.float32)
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


def test_rows_of_a_file_are_those_that_a_cpu_reads(stand_in: None, tmp_path: Path) -> None:
    table = pa.table(
        {
            "b": [b"", b"\xff", None],
            "day": pa.array([0, 19000, None], pa.date32()),
            "lists": [[0.5], [], None],
            "nothing": pa.nulls(3),
            "text": ["", "x", None],
        }
    )
    pq.write_table(table, tmp_path / "f.parquet")
    read = frames.read_parquet([str(tmp_path / "f.parquet")], 1, 2, table.column_names, "gpu")
    assert frames.to_arrow(frames.conform(read, table.schema), table.schema).equals(table.slice(1))


def test_frames_are_joined_in_order(stand_in: None) -> None:
    parts = [on_gpu(pa.table({"x": [1, 2]})), on_gpu(pa.table({"x": [3]}))]
    joined = frames.concat(parts)
    assert frames.to_arrow(joined.with_columns(y=nw.col("x") * 2))["y"].to_pylist() == [2, 4, 6]


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.list_(pa.binary()), pa.decimal256(50, 1)], ids=str)
def test_a_type_that_cudf_lacks_is_refused_with_the_column(kind: pa.DataType, stand_in: None) -> None:
    with pytest.raises(SchemaError, match=r"column 'odd' is .*, which cuDF cannot hold"):
        on_gpu(pa.table({"x": [1], "odd": pa.nulls(1, kind)}))


@pytest.mark.thorough
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
