"""Arithmetic of integers and decimals is Python's own, or an error: no digit goes in silence, whatever the types."""

import itertools
import operator
import random
import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, localcontext

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from penstock import frames
from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.expressions.guarded import guarded
from penstock.expressions.integers import hold, limits
from penstock.frames.overflow import overflow

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
DECIMALS = tuple(pa.decimal128(*each) for each in ((3, 1), (9, 2), (18, 10), (38, 0), (38, 20), (38, 37)))
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "/": operator.truediv,
}  # fmt: skip


def drawn(kind, draw):
    """Return a value of a type: one of its ends, a small one, or any."""
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        number = draw.choice([0, 1, -1, 5, 25, most, -most, draw.randint(-most, most)])
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -kind.scale))
    low, high = limits(frames.dtypes(pa.schema([("v", kind)]))["v"])
    return draw.choice([low, high, max(low, -1), 0, 1, 2, 7, draw.randint(low, high)])


def exactly(sign, left, right):
    """Return what Python has; None of a division by zero."""
    if sign in ("//", "%", "/") and right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return OPERATORS[sign](left, right)
    with localcontext(Context(prec=200)):
        left, right = Decimal(left), Decimal(right)
        if sign in ("//", "%"):  # of Python's own decimals, these cut towards zero
            whole = (left / right).to_integral_value("ROUND_FLOOR")
            return whole if sign == "//" else left - whole * right
        return OPERATORS[sign](left, right)


def computed(table, made):
    """Return a value and its type, or what is wrong in Penstock's words."""
    try:
        part, kind = guarded(made, table.schema, "test")
        return frames.from_arrow(table).select(v=part.expr)["v"].to_list()[0], kind
    except SchemaError as error:
        return str(error), None
    except frames.ERRORS as error:
        return overflow(str(error)) or error, None


def refusal(sign, kinds, values):
    """Return what an error may say of two values."""
    if not any(map(pa.types.is_decimal, kinds)):
        table = pa.table([pa.array([], kind) for kind in kinds], names=["a", "b"])
        kind = frames.from_arrow(table).select(v=OPERATORS[sign](nw.col("a"), nw.col("b"))).schema["v"]
        if kind in (nw.Int128, nw.UInt128):
            return "of int64 and uint64 together"
        expected = exactly(sign, *values)
        return "no error" if expected is None or hold(kind, (expected, expected)) else f"is {expected}, which is beyond"
    scales, expected = [each.scale if pa.types.is_decimal(each) else 0 for each in kinds], exactly(sign, *values)
    scale = {"*": sum(scales), "/": max(18, *scales)}.get(sign, max(scales))
    if scale > 38:
        return f"digits behind the point has {scale} there"
    tame = all(abs(each) < 10 ** (38 - scale) for each in (*values, expected or 0))
    return "no error" if tame else "is beyond the"


def check(sign, kinds, values):
    """Assert that a value is exact, or an error where no type holds it."""
    table = pa.table([pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)], names=["a", "b"])
    made, kind = computed(table, OPERATORS[sign](nw.col("a"), nw.col("b")))
    expected = exactly(sign, *values)
    if kind is None:
        assert re.search(refusal(sign, kinds, values), made)
    elif kind == pa.float64():
        assert sign == "/"
        assert expected is None or made == pytest.approx(expected, rel=1e-15)
    elif sign == "/" and expected is not None:
        with localcontext(Context(prec=200)):
            assert made == expected.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_EVEN)
    else:
        assert made == expected


@pytest.mark.thorough
@pytest.mark.parametrize("sign", OPERATORS)
def test_arithmetic_of_every_pair_of_types_is_that_of_python_or_an_error(sign):
    draw = random.Random(sign)
    for kinds in itertools.product((*INTEGERS, *DECIMALS), repeat=2):
        check(sign, kinds, [drawn(kind, draw) for kind in kinds])


FUNCTIONS = {"abs": abs, "-": operator.neg, "* 4": lambda number: number * 4, "square": lambda number: number**2}


@pytest.mark.parametrize("kind", [*INTEGERS, *DECIMALS], ids=str)
def test_a_function_of_one_number_is_that_of_python_or_an_error(kind, subtests):
    draw, column = random.Random(str(kind)), nw.col("a")
    made = {"abs": column.abs(), "* 4": column * 4}
    made |= {} if pa.types.is_unsigned_integer(kind) else {"-": -column}  # which Polars refuses
    made |= {} if pa.types.is_decimal(kind) else {"square": column**2}
    for name, expression in made.items():
        for value in [drawn(kind, draw) for _ in range(4)]:
            with subtests.test(f"{name} {value}"):
                got, known = computed(pa.table({"a": pa.array([value], kind)}), expression)
                with localcontext(Context(prec=200)):
                    expected = FUNCTIONS[name](value)
                assert got == expected if known else "is beyond the values of" in got


def test_decimals_are_rounded_a_half_away_from_zero_by_verbs_and_sql_alike(subtests):
    values = [Decimal(each) for each in ("2.5", "-2.5", "3.5", "0.5", "-0.5", "0.4", "12.5", "99.9")]
    engine = LocalEngine(device="cpu")
    floats = [float(each) for each in values]
    data = engine.from_arrow(pa.table({"d": pa.array(values, pa.decimal128(9, 1)), "f": floats}))
    whole = [each.quantize(Decimal(1), ROUND_HALF_UP) for each in values]
    texts = (
        "CAST(d AS DECIMAL(9, 0))", "round(d)", "CAST(d AS BIGINT)", "CAST(f AS BIGINT)", "round(f)",
        "CAST(f AS DECIMAL(9, 0))", "CAST(CAST(d AS VARCHAR) AS DECIMAL(9, 0))",
    )  # fmt: skip
    rows = engine.sql(f"SELECT {', '.join(texts)} FROM t", t=data).to_polars()
    for text, column in zip(texts, rows.iter_columns(), strict=True):
        with subtests.test(text):
            assert column.to_list() == whole
    made = data.with_columns(a=nw.col("d").cast(nw.Decimal(9, 0)), b=nw.col("f").round(0), c=nw.col("d").round(0))
    assert made.select("a", "b", "c").to_polars().rows() == [(each,) * 3 for each in whole]
    tens = engine.sql("SELECT round(d, -1), round(f, -1), round(CAST(f AS INT), -1) FROM t", t=data).to_polars().rows()
    assert tens[-2:] == [(10, 10.0, 10), (100, 100.0, 100)]


def test_a_decimal_stays_one_through_every_function_of_sql_that_has_its_type():
    data = LocalEngine(device="cpu").from_arrow(pa.table({"d": pa.array([Decimal("-7.25")], pa.decimal128(9, 2))}))
    text = "SELECT abs(d), floor(d), ceil(d), d % 2, d % 0, d / 4, d / 0, -d, greatest(d, 1), d * 0.001 FROM t"
    (row,) = data.engine.sql(text, t=data).to_polars().rows()
    assert [None if each is None else str(each) for each in row] == [
        "7.25", "-8", "-7", "-1.25", None, "-1.812500000000000000", None, "7.25", "1.00", "-0.00725",
    ]  # fmt: skip


def test_a_product_of_more_digits_than_a_decimal_has_is_refused_with_the_widest_type():
    data = LocalEngine(device="cpu").from_arrow(pa.table({"d": pa.array([Decimal(1)], pa.decimal128(38, 20))}))
    with pytest.raises(ConfigError, match=r"line 1, column 8.*40 there, and the widest type, decimal128\(38, 38\)"):
        data.engine.sql("SELECT d * d FROM t", t=data)
    with pytest.raises(SchemaError, match=r"20 and 20 digits behind the point"):
        data.with_columns(d=nw.col("d") * nw.col("d"))


LONG = pa.table({"k": [1, 1, 2], "x": [2**62, 2**62, -(2**63)], "b": pa.array([100, 1, -128], pa.int8())})
BEYOND = {
    "the sum of x is": lambda data: data.filter(nw.col("x") > 0).group_by("k").agg(x=nw.col("x").sum()),
    r"x \* 4 \(column 'x'\) is": lambda data: data.with_columns(x=nw.col("x") * 4),
    r"-128|with_columns\(y\)|b.abs\(\)": lambda data: data.sort("k").with_columns(y=nw.col("b").abs()).sort("y"),
    r"x \+ x|filter": lambda data: data.filter(nw.col("x") + nw.col("x") > 0),
    r"x \* k": lambda data: data.rolling(2, order_by="k").agg(s=(nw.col("x") * nw.col("k")).sum()).limit(3),
    "group_by|x": lambda data: data.engine.sql("SELECT k, sum(-x) AS s FROM t GROUP BY k", t=data),
}


@pytest.mark.parametrize("match", BEYOND)
def test_an_integer_beyond_its_type_is_an_error_that_names_what_made_it(engine, match):
    with pytest.raises(DataValueError, match=rf"(?s)(?:{match}).*beyond the values of int") as raised:
        BEYOND[match](engine.from_arrow(LONG)).to_arrow()
    assert not {"penstock_", "POLARS"} & set(re.findall("penstock_|POLARS", str(raised.value)))


def test_sums_that_64_bits_hold_come_out_however_they_are_added(engine):
    data = engine.from_arrow(pa.table({"x": [2**62, 2**62 - 1, -5, None], "k": [1, 1, 2, 2]}))
    made = data.group_by("k").agg(s=nw.col("x").sum(), n=nw.when(nw.col("x") > 0).then(nw.lit(1)).sum())
    assert made.to_arrow().to_pylist() == [{"k": 1, "s": 2**63 - 1, "n": 2}, {"k": 2, "s": -5, "n": 0}]


def test_a_type_is_that_of_exact_decimals_however_they_are_looked_at():
    data = LocalEngine(device="cpu").from_arrow(pa.table({"d": pa.array([Decimal("0.25"), None], pa.decimal128(9, 2))}))
    square = nw.col("d") * nw.col("d")
    made = data.with_columns(a=square.fill_null(0), b=nw.when(square > 0).then(square)).select("a", "b")
    made = made.group_by("a").agg(b=(nw.col("b") * 2).max(), s=nw.col("b").sum() / 8)
    assert made.sort("a").to_polars().rows()[1] == (Decimal("0.0625"), Decimal("0.125"), Decimal("0.0078125"))
    assert [made.schema.field(name).type.scale for name in ("a", "b", "s")] == [4, 4, 18]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int64()], ids=str)
def test_a_quotient_by_a_constant_is_that_of_numpy(engine, kind):
    """Polars divides by the inverse of a constant: 49.0 / 49 was below 1, 49.0 // 49 was 0, and 49.0 % 49 was 49."""
    values, column = np.arange(1, 200, dtype=kind.to_pandas_dtype()), nw.col("x")
    number = np.float32 if kind == pa.float32() else np.float64
    data = engine.from_arrow(pa.table({"x": pa.array([*values, None], kind)}))
    divisors = (3, 7.0, 49.0, 0.1)
    made = data.with_columns({f"/{each}": column / each for each in divisors})
    made = made.with_columns({"rest": column % 49.0, "twice": column / 7.0 / 49.0})
    rows = made.to_arrow()
    for each in divisors:
        assert rows[f"/{each}"].to_pylist() == [*(values / number(each)).tolist(), None]
    assert rows["rest"].to_pylist() == [*(values % 49).tolist(), None]
    assert rows["twice"].to_pylist() == [*(values / number(7) / number(49)).tolist(), None]
    assert data.group_by().agg(s=column.sum() / 199.0).to_arrow()["s"].to_pylist() == [100.0]
    whole = data.engine.sql("SELECT count(*) AS n FROM t WHERE x / 49.0 = 1 OR x / 49 = 2.0", t=data)
    assert whole.to_arrow()["n"].to_pylist() == [2]


def test_to_replace_nothing_leaves_a_text_as_it_is():
    data = LocalEngine(device="cpu").from_arrow(pa.table({"s": ["ab", "", None]}))
    made = data.engine.sql("SELECT replace(s, '', 'x') AS s FROM t", t=data)
    assert made.to_arrow()["s"].to_pylist() == ["ab", "", None]
