"""Log, Sqrt, Power and Arcsinh against the standard library, which rounds by itself; Log1p has tests of its own."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import Arcsinh, Log, Power, Sqrt
from penstock.stages.preprocessing.elementwise import Elementwise

POSITIVE = np.concatenate([np.logspace(-320, 308, 2001), [5e-324, 1.0, np.nextafter(1.0, 0.0), 1.7e308]])
SIGNED = np.concatenate([POSITIVE, -POSITIVE, [0.0]])
STAGES = (Log("x"), Sqrt("x"), Power("x", exponent=0.3), Arcsinh("x"))


@pytest.mark.parametrize(
    ("stage", "values", "function"),
    [
        (Log("x"), POSITIVE, math.log),
        (Log("x", base="2"), POSITIVE, math.log2),
        (Log("x", base="10"), POSITIVE, math.log10),
        (Sqrt("x"), POSITIVE, math.sqrt),
        (Arcsinh("x"), SIGNED, math.asinh),
        (Power("x", exponent=0.3), POSITIVE, lambda x: x**0.3),
        (Power("x", exponent=-0.5), POSITIVE, lambda x: x**-0.5),
        (Power("x", exponent=3), np.linspace(-50, 50, 999), lambda x: float(Fraction(x) ** 3)),
    ],
    ids=lambda value: str(value) if isinstance(value, Elementwise) else None,
)
def test_agrees_with_the_standard_library_to_the_last_digits_at_every_magnitude(apply, stage, values, function):
    made = apply(stage, pa.table({"x": values}))["x"].to_numpy()
    np.testing.assert_allclose(made, [function(x) for x in values.tolist()], rtol=6e-16, atol=0)


@pytest.mark.parametrize(("base", "powers"), [("2", range(-1074, 1024)), ("10", range(23))])
def test_logarithms_of_whole_powers_are_whole(apply, base, powers):
    made = apply(Log("x", base=base), pa.table({"x": [float(base) ** power for power in powers]}))
    assert made["x"].to_pylist() == list(powers)


@pytest.mark.thorough
@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_a_row_alone_gets_the_bits_that_it_gets_among_others(learn, stage):
    bound, _ = learn(stage, pa.table({"x": POSITIVE}))
    frame = frames.from_arrow(pa.table({"x": POSITIVE}))
    together = bound.transform(frame, {})["x"].to_list()
    function = bound.value_function("x", pa.float64(), {})
    assert [function(x) for x in POSITIVE.tolist()] == together
    assert [bound.transform(frame[i : i + 1], {})["x"][0] for i in range(0, len(frame), 37)] == together[::37]


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_null_and_infinity_pass_through_and_integers_and_booleans_become_float64(apply, stage):
    assert apply(stage, pa.table({"x": [None, math.inf]}))["x"].to_pylist() == [None, math.inf]
    assert apply(stage, pa.table({"x": pa.array([2**62, 1], pa.int64())})).schema.field("x").type == pa.float64()
    assert apply(stage, pa.table({"x": [True, None]}))["x"].null_count == 1
    assert apply(stage, pa.table({"x": pa.array([], pa.int8())})).num_rows == 0


def test_zero_and_its_sign_survive(apply):
    made = [apply(stage, pa.table({"x": [0.0, -0.0]}))["x"].to_pylist() for stage in (Sqrt("x"), Arcsinh("x"))]
    assert [[math.copysign(1, x) for x in each] for each in made] == [[1, -1], [1, -1]]


@pytest.mark.parametrize(
    ("stage", "values", "message"),
    [
        (Log("x"), [0.0, -1.0, 1.0], "column 'x' has 2 values of 0 or less, which have no logarithm"),
        (Sqrt("x"), [-math.inf, -5e-324, -0.0], "column 'x' has 2 values below 0, which have no square root"),
        (Power("x", exponent=0.5), [-1.0, 0.0], "column 'x' has 1 values without a power of 0.5 in float64"),
        (Power("x", exponent=-1), [0.0, -0.0, 5e-324, -2.0], "column 'x' has 3 values without a power of -1"),
        (Power("x", exponent=-0.5), [0.0, -1.0, 5e-324], "column 'x' has 2 values without a power of -0.5"),
        (Power("x", exponent=2), [1e155, -1e155, -1e154], "column 'x' has 2 values without a power of 2"),
    ],
    ids=str,
)
def test_values_outside_are_refused_in_frames_and_alone(learn, stage, values, message):
    bound, _ = learn(stage, pa.table({"x": values}))
    with pytest.raises(DataValueError, match=message):
        bound.transform(frames.from_arrow(pa.table({"x": values})), {})
    with pytest.raises(DataValueError, match="column 'x' has 1 values"):
        bound.value_function("x", pa.float64(), {})(values[0])


@pytest.mark.parametrize("exponent", [-300, -1.5, -1, -1e-3, 1e-3, 1.0000001, 2, 7.5, 1e308])
def test_no_power_that_is_let_through_overflows_and_few_others_are_refused(learn, exponent):
    bound, _ = learn(Power("x", exponent=exponent), pa.table({"x": [1.0]}))
    power = bound.value_function("x", pa.float64(), {})
    edge = min(max(1.7976931348623157e308 ** min(1 / exponent, 1), 5e-324), 1.7e308)
    for size in (edge * (1 + i * 1e-14) for i in range(-30, 31)):
        try:
            assert math.isfinite(power(size))
        except DataValueError:
            with pytest.raises((OverflowError, ZeroDivisionError)):
                _ = (size * (1 + math.copysign(1e-12, exponent))) ** exponent


@pytest.mark.parametrize("stage", [Log("x"), Power("x", exponent=-2)], ids=str)
def test_a_value_outside_is_found_in_its_file(local, tmp_path, stage):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [3.0, 4.0, 0.0]}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    model = ps.Pipeline(stage).fit(local.read_parquet(tmp_path / "a.parquet"))
    with pytest.raises(DataValueError, match="column 'x' has 1 values") as caught:
        model.transform(data).to_arrow()
    assert str(caught.value.path).endswith("b.parquet")
    assert (caught.value.row, caught.value.stage) == (2, stage.title)


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_output_columns_leave_the_inputs_alone_and_strings_are_refused(apply, stage):
    kind, parameters = type(stage), {**stage.parameters(), "columns": ["x", "y"], "output_columns": ["p", "q"]}
    table = pa.table({"x": [1.0, 4.0], "y": [1, None]})
    made = apply(kind.from_parameters(parameters), table)
    assert (made.schema.names, made.select(["x", "y"]).equals(table)) == (["x", "y", "p", "q"], True)
    with pytest.raises(SchemaError, match=f"column 'x' is string, but {kind.__name__} takes numeric columns"):
        stage.bind(pa.schema({"x": pa.string()}))


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (Log, {"base": "3"}, "base of Log is '3', expected one of e, 2, 10"),
        (Power, {"exponent": 0}, "exponent of Power is 0, expected a finite number other than 0"),
        (Power, {"exponent": -math.inf}, "exponent of Power is -inf, expected a finite number"),
        (Power, {"exponent": "2"}, "exponent of Power is '2', expected a number"),
    ],
)
def test_wrong_parameters_are_refused(kind, parameters, message):
    with pytest.raises(ConfigError, match=message):
        kind("x", **parameters)
