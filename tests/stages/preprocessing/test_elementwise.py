"""Log, Sqrt, Power and Arcsinh against the standard library, which rounds by itself; Log1p has tests of its own."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.stages import Arcsinh, Log, Log1p, Power, Sqrt

POSITIVE = np.concatenate([np.logspace(-320, 308, 2001), [5e-324, 1.0, np.nextafter(1.0, 0.0), 1.7e308]])
SIGNED = np.concatenate([POSITIVE, -POSITIVE, [0.0]])
ABOVE_MINUS_ONE = np.concatenate([POSITIVE, -np.logspace(-320, -1e-9, 2000), [0.0, 2.0**53, np.nextafter(-1.0, 0.0)]])
STAGES = (Log("x"), Sqrt("x"), Power("x", exponent=0.3), Arcsinh("x"))


def test_agrees_with_the_standard_library_to_the_last_digits_at_every_magnitude(apply, subtests):
    for stage, values, function in [
        (Log("x"), POSITIVE, math.log),
        (Log1p("x"), ABOVE_MINUS_ONE, math.log1p),
        (Log("x", base="2"), POSITIVE, math.log2),
        (Log("x", base="10"), POSITIVE, math.log10),
        (Sqrt("x"), POSITIVE, math.sqrt),
        (Arcsinh("x"), SIGNED, math.asinh),
        (Power("x", exponent=0.3), POSITIVE, lambda x: x**0.3),
        (Power("x", exponent=-0.5), POSITIVE, lambda x: x**-0.5),
        (Power("x", exponent=3), np.linspace(-50, 50, 999), lambda x: float(Fraction(x) ** 3)),
    ]:
        with subtests.test(stage=stage, values=values, function=function):
            made = apply(stage, pa.table({"x": values}))["x"].to_numpy()
            np.testing.assert_allclose(made, [function(x) for x in values.tolist()], rtol=6e-16, atol=0)


def test_logarithms_of_whole_powers_are_whole(apply, subtests):
    for base, powers in [("2", range(-1074, 1024)), ("10", range(23))]:
        with subtests.test(base=base, powers=powers):
            made = apply(Log("x", base=base), pa.table({"x": [float(base) ** power for power in powers]}))
            assert made["x"].to_pylist() == list(powers)


@pytest.mark.thorough
def test_a_row_alone_gets_the_bits_that_it_gets_among_others(learn, subtests):
    for stage in STAGES:
        with subtests.test(stage=stage):
            bound, _ = learn(stage, pa.table({"x": POSITIVE}))
            frame = frames.from_arrow(pa.table({"x": POSITIVE}))
            together = bound.transform(frame, {})["x"].to_list()
            function = bound.value_function("x", pa.float64(), {})
            assert [function(x) for x in POSITIVE.tolist()] == together
            assert [bound.transform(frame[i : i + 1], {})["x"][0] for i in range(0, len(frame), 211)] == together[::211]


def test_zero_and_its_sign_survive(apply):
    made = [apply(stage, pa.table({"x": [0.0, -0.0]}))["x"].to_pylist() for stage in (Sqrt("x"), Arcsinh("x"))]
    assert [[math.copysign(1, x) for x in each] for each in made] == [[1, -1], [1, -1]]


def test_values_outside_are_refused_in_frames_and_alone(learn, subtests):
    for stage, values, message in [
        (Log("x"), [0.0, -1.0, 1.0], "column 'x' has 2 values of 0 or less, which have no logarithm"),
        (Log1p("x"), [-1.0, 0.0, -math.inf], r"column 'x' has 2 values of -1 or less(.|\n)*Clip\('x', lower=0\)"),
        (Sqrt("x"), [-math.inf, -5e-324, -0.0], "column 'x' has 2 values below 0, which have no square root"),
        (Power("x", exponent=0.5), [-1.0, 0.0], "column 'x' has 1 values without a power of 0.5 in float64"),
        (Power("x", exponent=-1), [0.0, -0.0, 5e-324, -2.0], "column 'x' has 3 values without a power of -1"),
        (Power("x", exponent=-0.5), [0.0, -1.0, 5e-324], "column 'x' has 2 values without a power of -0.5"),
        (Power("x", exponent=2), [1e155, -1e155, -1e154], "column 'x' has 2 values without a power of 2"),
    ]:
        with subtests.test(stage=stage, values=values):
            bound, _ = learn(stage, pa.table({"x": values}))
            with pytest.raises(DataValueError, match=message):
                bound.transform(frames.from_arrow(pa.table({"x": values})), {})
            with pytest.raises(DataValueError, match="column 'x' has 1 values"):
                bound.value_function("x", pa.float64(), {})(values[0])


def test_no_power_that_is_let_through_overflows_and_few_others_are_refused(learn, subtests):
    for exponent in [-300, -1.5, -1, -1e-3, 1e-3, 1.0000001, 2, 7.5, 1e308]:
        with subtests.test(exponent=exponent):
            bound, _ = learn(Power("x", exponent=exponent), pa.table({"x": [1.0]}))
            power = bound.value_function("x", pa.float64(), {})
            edge = min(max(1.7976931348623157e308 ** min(1 / exponent, 1), 5e-324), 1.7e308)
            for size in (edge * (1 + i * 1e-14) for i in range(-30, 31)):
                try:
                    assert math.isfinite(power(size))
                except DataValueError:
                    with pytest.raises((OverflowError, ZeroDivisionError)):
                        _ = (size * (1 + math.copysign(1e-12, exponent))) ** exponent


def test_a_value_outside_is_found_in_its_row(local):
    data = local.from_arrow(pa.table({"x": [3.0, 4.0, 0.0]}))
    model = ps.Pipeline(Power("x", exponent=-2)).fit(data)
    with pytest.raises(DataValueError, match="column 'x' has 1 values") as caught:
        model.transform(data).to_arrow()
    assert (caught.value.row, caught.value.stage) == (2, "Power")


def test_wrong_parameters_are_refused(subtests):
    for kind, parameters, message in [
        (Log, {"base": "3"}, "base of Log is '3', expected one of e, 2, 10"),
        (Power, {"exponent": 0}, "exponent of Power is 0, expected a finite number other than 0"),
        (Power, {"exponent": -math.inf}, "exponent of Power is -inf, expected a finite number"),
        (Power, {"exponent": "2"}, "exponent of Power is '2', expected a number"),
    ]:
        with subtests.test(kind=kind, parameters=parameters), pytest.raises(ConfigError, match=message):
            kind("x", **parameters)
