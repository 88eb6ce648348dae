"""What runs on a GPU, run without one: on `cudf_stand_in`, which Narwhals takes for cuDF.

That cuDF's kernels answer so is for ``pytest --device gpu`` to show.
"""

# ruff: noqa: F811  # fixtures are parameters by the names that they are imported by

import datetime
import math

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from on_stand_in import cpu, gpu, on_gpu  # noqa: F401
from on_stand_in import stand_in_of_trainers as stand_in  # noqa: F401

from penstock import frames
from penstock.core.schemas import canonical
from penstock.engines.local import LocalEngine
from penstock.errors import SchemaError
from penstock.frames import hashing, matrices
from penstock.stages.base import Stage
from penstock.stages.registry import discover
from penstock.testing import examples_of, trials
from penstock.testing.cases import cases_for, trains
from penstock.testing.checks.frames import check_schema
from penstock.testing.checks.partitions import rounding
from penstock.testing.compare import RTOL, demand_equal
from penstock.testing.suite import shorthand

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF is a stand-in")]


KINDS = {name: kind for name, kind in discover().items() if "cpu" in kind.tags.devices}
OF_EACH = ("ordinary", "not_a_number")
"""Tables that every example is tried on; on the others the first of a class."""
OF_NUMBERS = ("constant", "offset", "large_numbers", "one_row")
"""Tables that are hard on arithmetic, which is NumPy's here and there: for ``conformance/exhaustive_gpu.py``."""

each_kind = pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in KINDS])


def demand(name: str, gpu: LocalEngine, cpu: LocalEngine, subtests: pytest.Subtests, *, rest: bool = False) -> None:
    """Ask of each example of a class what it gives on each table that it meets, and whether it declares its columns.

    The rest is what the suite leaves to the exhaustive tests.
    """
    for place, stage in enumerate(examples_of(KINDS[name])):
        title = shorthand(stage)
        for case in cases_for(stage):
            is_asked = case.name in OF_EACH if place else case.name not in OF_NUMBERS
            if is_asked != rest:
                with subtests.test(f"{title}-{case.name}"):
                    demand_same(stage, case.name, gpu, cpu)
        # columns may follow the types of numbers, but of what is trained, which takes all as a matrix of one type
        if (place == 0 and not trains(stage)) != rest:
            with subtests.test(f"{title} declares what it makes"):
                check_schema(stage, gpu)


def demand_same(stage: Stage, case: str, gpu: LocalEngine, cpu: LocalEngine) -> None:
    found, expected = trials.whole(stage, gpu, case), trials.whole(stage, cpu, case)
    trials.demand_same_failure(found, expected)
    if found.output is not None and expected.output is not None:
        # A trainer that iterates adds up in another order on each device.
        rtol, atol = (1e-9, 1e-9) if trains(stage) else (RTOL, rounding(stage, expected.given))
        demand_equal(found.output, expected.output, stage.title, rtol=rtol, atol=atol)


@pytest.mark.thorough
@each_kind
def test_a_stage_gives_what_it_gives_on_a_cpu(name, gpu, cpu, subtests):
    demand(name, gpu, cpu, subtests)


def test_nan_is_null_and_an_infinity_is_a_value(stand_in):
    found = on_gpu(pa.table({"x": [1.0, math.nan, None, math.inf], "s": ["a", "b", None, "c"]}))
    assert frames.to_arrow(found)["x"].to_pylist() == [1.0, None, None, math.inf]


def test_dictionaries_and_the_index_of_pandas_become_plain_columns(stand_in):
    indexed = pd.DataFrame({"x": [1]}, index=pd.Index([7], name="key"))
    table = pa.Table.from_pandas(indexed).append_column("d", pa.array(["a"]).dictionary_encode())
    assert frames.to_arrow(on_gpu(table)).to_pylist() == [{"x": 1, "key": 7, "d": "a"}]


def test_codes_are_positions_unseen_and_null_also_of_rows_that_were_filtered(stand_in):
    frame = on_gpu(pa.table({"c": ["z", "b", None, "z", "a"], "keep": [False, True, True, True, True]}))
    kept = frame.filter(nw.col("keep"))
    codes = frames.encode(kept, {"c": pa.array(["a", "b"])}, {"c": 2})["c"]
    assert frames.to_arrow(kept.with_columns(codes.alias("code")))["code"].to_pylist() == [1, None, 2, 0]
    filled = frames.encode(kept, {"c": pa.array(["a", "b"])}, {"c": 2}, {"c": 3})
    assert frames.to_arrow(filled).to_pydict() == {"c": [1, 3, 2, 0], "keep": [True] * 4}


def test_decoding_gives_categories_by_place_also_of_rows_that_were_filtered(stand_in):
    frame = on_gpu(pa.table({"c": pa.array([0, 9, None, 1, 0], pa.int32()), "keep": [False, True, False, True, True]}))
    for values, expected in (
        (pa.array(["b", "a"]), [None, "a", "b"]),
        (pa.array([True, False]), [None, False, True]),
        (pa.array([], pa.string()), [None] * 3),
    ):
        decoded = frames.decode(frame.filter(nw.col("keep"))["c"], values)
        assert frames.to_arrow(decoded.to_frame())["c"].to_pylist() == expected


def test_hashes_are_those_of_a_cpu_and_of_null_null(stand_in):
    frame = on_gpu(pa.table({"s": ["z", "b", None, ""], "keep": [False, True, True, True]})).filter(nw.col("keep"))
    hashed = frames.to_arrow(frame.with_columns(hashing.murmur3(frame["s"]).alias("h")))["h"]
    assert hashed.to_pylist() == [hashing.murmur3_text("b"), None, hashing.murmur3_text("")]


def test_a_matrix_has_nan_for_null_and_may_have_no_columns(stand_in):
    frame = on_gpu(pa.table({"a": pa.array([1, None], pa.int8()), "b": [True, None]}))
    np.testing.assert_array_equal(
        matrices.to_host(matrices.to_matrix(frame, ["b", "a"])), np.array([[1, 1], [np.nan, np.nan]], np.float32)
    )
    assert matrices.to_matrix(frame, []).shape == (2, 0)


def test_a_matrix_becomes_a_column_of_lists(stand_in):
    for rows in (0, 2):
        frame = on_gpu(pa.table({"x": pa.array(range(rows), pa.int64())}))
        values = np.arange(2 * rows, dtype=np.float64).reshape(rows, 2)
        made = frames.to_arrow(frame.with_columns(matrices.column(frame, "v", values)))
        assert made.schema.field("v").type == pa.list_(pa.float64())
        assert made["v"].to_pylist() == values.tolist()


SCHEMA = pa.schema({"s": pa.string(), "absent": pa.date32(), "n": pa.int64(), "d": pa.date32(), "none": pa.null()})
GIVEN = pa.table(
    {"none": pa.nulls(1), "d": pa.array([19000], pa.date32()), "n": pa.array([1], pa.int8()), "more": [0], "s": ["x"]}
)


def test_conforming_orders_casts_and_fills_and_dates_come_back(stand_in):
    made = frames.conform(on_gpu(GIVEN), SCHEMA)
    table = frames.to_arrow(made, SCHEMA)
    expected = {"s": "x", "absent": None, "n": 1, "d": GIVEN["d"][0].as_py(), "none": None}
    assert (table.schema, table.to_pylist()) == (SCHEMA, [expected])


def test_conforming_refuses_what_a_type_cannot_hold(stand_in):
    with pytest.raises(pa.ArrowInvalid, match="300 not in range"):
        frames.conform(on_gpu(pa.table({"n": [300]})), pa.schema({"n": pa.int8()}))


def test_a_file_has_the_types_of_its_schema(stand_in, tmp_path):
    kinds = {"day": pa.date32(), "time": pa.timestamp("us"), "list": pa.list_(pa.float64()), "text": pa.string()}
    table = pa.table({name: pa.array([None, None], kind) for name, kind in kinds.items()})
    path = tmp_path / "f.parquet"
    frames.write_parquet(frames.conform(on_gpu(table), table.schema), str(path), table.schema)
    assert pq.read_table(path).cast(table.schema).equals(table)
    assert canonical(pq.read_schema(path)) == table.schema


def test_binary_columns_are_lists_of_bytes_and_come_back(stand_in, tmp_path):
    table = pa.table({"id": [0, 1, 2, 3], "b": [b"\0\xff", None, b"", b"abc"]})
    for given in (table, table.slice(1, 3), table.slice(4)):
        frame = on_gpu(given)
        assert frames.to_arrow(frame, table.schema).equals(given)
        kept = frames.conform(frame.filter(nw.col("id") != 1), table.schema)
        known = [value for value in given["b"].to_pylist() if value is not None]
        assert frames.to_arrow(kept, table.schema)["b"].to_pylist() == known
    frames.write_parquet(on_gpu(table), str(tmp_path / "f.parquet"), table.schema)
    assert pq.read_table(tmp_path / "f.parquet").cast(table.schema).equals(table)


def test_rows_of_a_file_are_those_that_a_cpu_reads(stand_in, tmp_path):
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


def test_frames_are_joined_in_order(stand_in):
    parts = [on_gpu(pa.table({"x": [1, 2]})), on_gpu(pa.table({"x": [3]}))]
    joined = frames.concat(parts)
    assert frames.to_arrow(joined.with_columns(y=nw.col("x") * 2))["y"].to_pylist() == [2, 4, 6]


def test_a_type_that_cudf_lacks_is_refused_with_the_column(stand_in):
    for kind in (pa.time64("us"), pa.list_(pa.binary()), pa.decimal256(50, 1)):
        with pytest.raises(SchemaError, match=r"column 'odd' is .*, which cuDF cannot hold"):
            on_gpu(pa.table({"x": [1], "odd": pa.nulls(1, kind)}))


@pytest.mark.thorough
def test_lags_and_differences_are_those_of_a_cpu(gpu, cpu, monkeypatch):
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
