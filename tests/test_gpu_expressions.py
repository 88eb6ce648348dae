"""Expressions of a user's own on a GPU: they mean what they mean on a CPU, on the stand-in for cuDF."""

# ruff: noqa: F811  # fixtures are parameters by the names that they are imported by

import datetime
import itertools
import math
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from on_stand_in import cpu, gpu, on_gpu, stand_in  # noqa: F401

import penstock as ps
from penstock import frames
from penstock import stages as st
from penstock.frames import cudf
from penstock.stages.preprocessing.scaling.affine import Affine, along_rows, between
from penstock.statistics import Extremes
from penstock.statistics.labels import class_codes
from penstock.statistics.rules import Rule, count_broken

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF is a stand-in")]

TABLE = pa.table(
    {
        "a": pa.array([None, 2, 5, None], pa.int32()),
        "b": pa.array([2, None, 0, None], pa.int32()),
        "x": [1.5, None, -0.5, 4.0],
        "text": pa.array([None] * 4, pa.string()),
        "day": [datetime.date(2026, 1, day) for day in (1, 2, 3, 4)],
        "tags": pa.array([["k"], None, [], ["k", "l"]], pa.list_(pa.string())),
        "row": [0, 1, 2, 3],
    }
)
CONDITIONS = {
    "null or true": (nw.col("a") > 1) | (nw.col("b") > 1),
    "not null and false": ~((nw.col("a") > 9) & (nw.col("b") > 1)),
    "a text that is null everywhere": nw.col("text") != "x",
    "small integers divided": nw.col("a") / 3 == 5 / 3,
    "floor of null": nw.col("x").floor() < 2,
    "a date": nw.col("day") > nw.lit(datetime.date(2026, 1, 2)),
    "a root that is none": ~(nw.col("x").sqrt() > 1),
    "a quotient that is none": (nw.col("x") * 0 / nw.col("b")).is_null(),
}
VALUES = {
    "null or true": (nw.col("a") > 1) | (nw.col("b") > 1),
    "small integers divided": nw.col("a") / 3,
    "a logarithm of null": (nw.col("x") + 1).log(),
    "a date": nw.col("day"),
    "a constant": nw.lit(1.0),
    "a root that is filled": nw.col("x").sqrt().fill_null(0.0),
}


def test_a_filter_keeps_the_rows_that_it_keeps_on_a_cpu(gpu, cpu, subtests):
    for name, condition in CONDITIONS.items():
        with subtests.test(name):
            found, expected = (engine.from_arrow(TABLE).filter(condition).to_arrow() for engine in (gpu, cpu))
            assert found["row"].to_pylist() == expected["row"].to_pylist()
            assert found.equals(expected)


def test_a_column_is_computed_as_on_a_cpu(gpu, cpu, subtests):
    for name, value in VALUES.items():
        with subtests.test(name):
            found, expected = (engine.from_arrow(TABLE).with_columns(v=value).to_arrow() for engine in (gpu, cpu))
            assert found.schema == expected.schema
            assert found.equals(expected)


def test_a_column_of_a_constant_has_a_value_a_row_where_no_column_is_read(gpu):
    assert gpu.from_arrow(TABLE).with_columns(v=nw.lit(7)).select("v").to_arrow()["v"].to_pylist() == [7] * 4


def test_a_rule_is_broken_by_the_rows_that_break_it_on_a_cpu(stand_in, subtests):
    x, n = [1.0, None, 2.5, -3.0, 0.0, float("inf"), 1e160], [1, None, 2**53 + 1, -3, 0, 2**60, 2]
    small, flags = pa.array([*x[:6], 7.5], pa.float32()), [True, None, False, False, True, None, False]
    table = pa.table({"x": x, "small": small, "n": n, "flags": flags, "row": range(7)})
    tests = ("infinite", "negative", "not_binary", "not_positive", "not_whole", "null", "too_large")
    rules = [*map(Rule, tests), Rule("not_a_class", (0, 1)), Rule("not_float32", (1e-7,))]
    pairs = [*itertools.product(("x", "small", "n", "flags"), rules)]
    for name, rule in [*pairs, ("n", Rule("not_in", (1, 0))), ("n", Rule("not_between", (0, 2**53)))]:
        with subtests.test(f"{rule.test} of {name}"):
            assert_same_rows(table, rule.broken(name))
            assert count_broken(on_gpu(table), [(name, rule)]) == count_broken(frames.from_arrow(table), [(name, rule)])


CLASSES = {
    "in another order": ([1, 3, None, 2], (3, 1), [1, 0, 2, 2]),
    "neighbours beyond float64": ([2**53 + 1, 2**53, None, 2**53 + 2], (2**53, 2**53 + 1), [1, 0, 2, 2]),
    "fractions": ([0.5, math.nan, None, -0.0], (0.0, 0.5), [1, 2, 2, 0]),
    "texts": (["b", "a", None, "c"], ("a", "b"), [1, 0, 2, 2]),
}


@pytest.mark.parametrize("case", CLASSES)
def test_a_label_has_the_index_of_its_class(stand_in, case):
    labels, classes, expected = CLASSES[case]
    table = pa.table({"label": pa.array(labels)})
    assert class_codes(frames.from_arrow(table), "label", classes).tolist() == expected
    assert class_codes(on_gpu(table), "label", classes).tolist() == expected


def assert_same_rows(table: pa.Table, condition: nw.Expr) -> None:
    found, expected = (frame.filter(condition)["row"].to_list() for frame in (on_gpu(table), frames.from_arrow(table)))
    assert found == expected


def test_lines_at_rows_are_to_the_bit_as_at_values(stand_in):
    import cupy

    lines = [Affine(), Affine(factor=0.0, offset=3.0), Affine(1.0, 0.3, 2.0, 0.75), between(0.0, 49.0, -1.0, 1.0)]
    values = [-0.0, 0.0, 24.6, 49.0, 1e300, math.inf]
    made = along_rows(lines, cupy.array([[*values, math.nan]] * len(lines))).get()
    assert made[:, :-1].tobytes() == np.array([[line(value) for value in values] for line in lines]).tobytes()
    assert np.isnan(made[:, -1]).all()


@pytest.mark.parametrize("options", [{"missing_value": -3.0}, {"add_indicator": True}, {"strategy": "median"}])
def test_values_that_are_missing_are_filled_as_on_a_cpu(gpu, cpu, options):
    table = pa.table({"x": [1.0, None, -3.0, 4.5]})
    found, expected = (
        ps.Pipeline(st.Imputer("x", **options)).fit(engine.from_arrow(table)).transform(engine.from_arrow(table))
        for engine in (gpu, cpu)
    )
    assert found.to_arrow().equals(expected.to_arrow())


def test_extremes_of_nulls_and_infinities_are_those_of_a_cpu(stand_in):
    ends, n = pa.array([math.inf, -math.inf], pa.float32()), pa.array([3, None], pa.int8())
    table = pa.table({"null": pa.nulls(2, pa.float64()), "ends": ends, "n": n, "b": [True, False]})
    extremes = Extremes(tuple(table.column_names))
    on_devices = [extremes.summarise(frame) for frame in (on_gpu(table), frames.from_arrow(table))]
    assert on_devices[0] == on_devices[1]


def test_columns_come_in_the_order_asked_for(stand_in):
    table = pa.table({"a": [1], "b": [2], "c": [3]})
    for names in (["b", "a"], ["c", "b", "a"], ["a", "b"]):
        assert frames.conform(on_gpu(table), table.select(names).schema).columns == names


def test_labels_that_do_not_suit_an_objective_are_those_of_a_cpu(stand_in, subtests):
    from penstock.stages.training.trees._objectives import FAULTS

    table = pa.table({"label": [1.0, None, 2.5, -3.0, 0.0], "upper": [2.0, 1.0, None, 0.0, -1.0], "row": range(5)})
    for objective, faults in FAULTS.items():
        with subtests.test(objective):
            for fault in faults:
                assert_same_rows(table, fault.bad(("label", "upper")))


def test_a_function_in_narwhals_gives_what_it_gives_on_a_cpu(gpu, cpu):
    @ps.register_function("test-gpu-thirds")
    def thirds(frame: nw.DataFrame) -> nw.DataFrame:
        return frame.select(third=nw.col("a") / 3, either=(nw.col("a") > 1) | (nw.col("b") > 1))

    stage = st.FunctionStage("test-gpu-thirds", ["a", "b"], {"third": "float64", "either": "bool"})
    found, expected = (
        ps.Pipeline(stage).fit(engine.from_arrow(TABLE)).transform(engine.from_arrow(TABLE)).to_arrow()
        for engine in (gpu, cpu)
    )
    assert found.equals(expected)


def test_a_function_of_cudf_frames_gets_one(gpu):
    seen = []

    def look(frame: object) -> object:
        seen.append(type(frame).__module__.partition(".")[0])
        return frame

    gpu.from_arrow(TABLE.select(["row"])).map_partitions(look, {"row": "int64"}, frame="cudf").to_arrow()
    assert seen == ["cudf_stand_in"]


def test_lists_of_texts_that_are_all_null_stay_lists_of_texts(stand_in):
    for kept in ([None, None], [[None], None], [[], None]):
        table = pa.table({"l": pa.array(kept, pa.list_(pa.string()))})
        assert frames.to_arrow(on_gpu(table)).equals(table)


def test_only_columns_of_another_type_go_by_way_of_the_host(stand_in, monkeypatch):
    moved: list[list[str]] = []
    there = cudf.to_arrow

    def noted(native: Any) -> pa.Table:
        moved.append(list(native.columns))
        return there(native)

    monkeypatch.setattr(cudf, "to_arrow", noted)
    frame = on_gpu(TABLE.select(["a", "x", "row"])).filter(nw.col("row") > 0)
    wanted = pa.schema({"x": pa.float64(), "a": pa.int64(), "new": pa.date32(), "row": pa.int64()})
    found = frames.conform(frame, wanted)
    assert moved == [["a"]]
    assert frames.to_arrow(found, wanted).to_pydict() == {
        "x": [None, -0.5, 4.0], "a": [2, 5, None], "new": [None] * 3, "row": [1, 2, 3],
    }  # fmt: skip


def test_a_rule_may_begin_with_a_constant(gpu, cpu, subtests):
    for condition in ("1 < a", "0 <= x < 3", "2 == b", "'x' != text"):
        with subtests.test(condition=condition):
            rule = ps.Pipeline(st.Expect(condition, action="drop"))
            found, expected = (
                rule.fit(data).transform(data).to_arrow() for data in (gpu.from_arrow(TABLE), cpu.from_arrow(TABLE))
            )
            assert found["row"].to_pylist() == expected["row"].to_pylist()
