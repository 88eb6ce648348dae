"""Conditions as text, against Python itself and written-out tables of three-valued logic."""

import contextlib
import math

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import frames
from penstock.errors import ConfigError, SchemaError
from penstock.expressions import parse
from penstock.expressions.trees import columns_in, walk

TABLE = pa.table(
    {
        "i": [1, -7, 4, 0],
        "x": [1.0, 2.5, -0.5, 1e300],
        "s": ["a", "bb", "", "é€"],
        "b": [True, False, True, False],
        "odd name": [1, 2, 3, 4],
        "class": [5, 6, 7, 8],
    }
)
NULLS = pa.table({"p": [True] * 3 + [False] * 3 + [None] * 3, "q": [True, False, None] * 3})


def holds(text, table=TABLE, make=frames.from_arrow):
    condition = parse(text)
    condition.check(table.schema)
    return make(table).select(condition.expr.alias("holds"))["holds"].to_list()


CONDITIONS = [
    "i > 0", "i == -7", "0 <= i < 4", "1 > i <= x != 0", "not i > 0", "i > 0 and x > 0 or s == 'bb'",
    "i > 0 and (x > 0 or s == 'bb')", "i in (1, 4)", "x in (1, 2.5)", "i not in (1, 4.0)", "s in ['a', '']",
    "s not in {'a'}", "b", "not b and i < 0", "b == True", "i + 1 > x", "i - x * 2 < 0", "i / 2 == 2", "i % 3 == 2",
    "i % -3 == -1", "x % 0.75 > 0.2", "i ** 2 == 49", "-i > 0", "-(-i) > 0", "abs(i) > 3", "-abs(x) < -1",
    "len(s) == 2", "len(s) * 2 - 1 > 0", "s < 'b'", "'a' <= s", "i is None", "i is not None", "i == 1 or True",
]  # fmt: skip


def test_means_what_it_means_in_python(subtests):
    for text in CONDITIONS:
        with subtests.test(text):
            assert holds(text) == [bool(eval(text, {}, row)) for row in TABLE.to_pylist()]


THREE_VALUED = {
    "p and q": "T.. ... ...",
    "p or q": "TTT T.. T..",
    "not p": "... TTT ...",
    "not (p and q)": ".T. TTT .T.",
    "not (p or q)": "... .T. ...",
    "p is None": "... ... TTT",
    "p is not None and not q": ".T. .T. ...",
    "p == q": "T.. .T. ...",
    "p is None or q": "T.. T.. TTT",
}


def test_logic_is_three_valued_on_polars_and_on_arrow(subtests):
    for text, expected in THREE_VALUED.items():
        for make in (frames.from_arrow, lambda table: nw.from_native(table, eager_only=True)):
            with subtests.test(text, make=make):
                assert holds(text, NULLS, make) == [letter == "T" for letter in expected.replace(" ", "")]


def test_a_null_leaves_a_comparison_open():
    for text in ("x > 0", "not x > 0", "x in (1,)", "x not in (1,)", "x + 1 > 0", "x != 1", "abs(x) > 0"):
        assert holds(text, pa.table({"x": pa.nulls(1, pa.float64())})) == [False], text
    # Also where a library calls it unequal, as pandas does with its strings, and cuDF with strings that are all null.
    frame = nw.from_native(pd.DataFrame({"s": pd.Series([None, "a", "z"], dtype="str")}), eager_only=True)
    for text in ("s != 'a'", "not s == 'a'", "s not in ('a', 'b')"):
        assert frame.select(parse(text).expr.alias("holds"))["holds"].to_list() == [False, False, True], text


def test_what_has_no_value_is_null_and_division_by_zero_is_infinite():
    for text in ("x / x >= 0", "x % x >= 0", "(x - 1) ** 0.5 >= 0", "x / x is not None", "i % i == 0"):
        assert holds(text, pa.table({"x": [0.0], "i": [0]})) == [False], text
    table = pa.table({"x": [1.0], "y": [math.inf]})
    assert holds("x / 0 > 1e308", table) == [True]
    assert holds("y - y is None", table) == [True]


def test_large_integers_are_compared_exactly():
    table = pa.table({"i": [2**62, 2**62 + 1]})
    assert holds(f"i > {2**62}", table) == [False, True]
    assert holds(f"i == {2**62 + 1}", table) == [False, True]
    assert holds("i % 2 == 1", table) == [False, True]


def test_arithmetic_on_integers_does_not_wrap():
    table = pa.table({"i": pa.array([100], pa.int8()), "u": pa.array([1], pa.uint8()), "l": [2**62]})
    for text in ("i * i == 10000", "u - 2 == -1 and -u == -1", "l * 4 > 0", "i < 1000 and u > -1"):
        assert holds(text, table) == [True], text


def test_division_is_exact_however_many_rows_there_are():
    one = pa.table({"x": [49.0], "i": pa.array([49], pa.int8()), "u": pa.array([49], pa.uint8())})
    for text in ("x % 49 == 0", "x / 49 == 1", "49 / x == 1", "49 % x == 0", "i % 1000 == 49", "u % -3 == -2"):
        for rows in (1, 2):
            assert holds(text, pa.concat_tables([one] * rows)) == [True] * rows, text


def test_odd_names_stand_between_backticks_and_are_not_normalised():
    condition = parse("`odd name` > 1 and `class` < 8 and s != '`a`'")
    assert condition.columns == ("odd name", "class", "s")
    assert holds(condition.text) == [False, True, True, False]
    assert parse("ﬁ > 0").columns == ("ﬁ",)


def test_a_text_may_have_several_lines():
    assert holds("i > 0\n  and x > 0") == [True, False, False, False]


def test_anything_else_is_refused_with_its_place(subtests):
    for text, message in [
        ("i.real > 0", r"an attribute is not allowed in a condition: 'i.real' at position 1"),
        ("i > 0 and f(i) > 1", r"this call is not allowed in a condition: 'f\(i\)' at position 11"),
        ("abs(i, 1) > 1", r"this call is not allowed"),
        ("len(*s) > 1", r"a star is not allowed"),
        ("i[0] > 1", r"indexing is not allowed"),
        ("x if b else i", r"if ... else is not allowed"),
        ("lambda: i", r"a lambda is not allowed"),
        ("(i := 1) > 0", r"an assignment is not allowed"),
        ("f'{s}' == 'a'", r"an f-string is not allowed"),
        ("[i for i in s] == 1", r"ListComp is not allowed"),
        ("i @ 2 > 1", r"this operator is not allowed in a condition: 'i @ 2'"),
        ("~i > 1", r"this operator is not allowed"),
        ("i > 1j", r"this constant is not allowed"),
        ("s == b'a'", r"this constant is not allowed"),
        ("i == None", r"None outside 'is None' and 'is not None' is not allowed"),
        ("i is 1", r"'is' with anything but None is not allowed in a condition: '1' at position 6"),
        ("i in s", r"'in' with anything but a list of values is not allowed"),
        ("i in ()", r"'in' with anything but a list of values is not allowed"),
        ("i in (x,)", r"a column is not allowed in a condition: 'x' at position 7"),
        ("(i > 0) == (x > 0)", r"a comparison as a value is not allowed"),
        ("i > 1e999", r"a number beyond 64 bits is not allowed"),
        ("i > 99999999999999999999", r"a number beyond 64 bits is not allowed"),
        ("i > -True", r"the minus is not allowed"),
        ("`é` > i.real", r"an attribute is not allowed in a condition: 'i.real' at position 7"),
        ("i >", r"condition 'i >' cannot be read"),
        ("i`j > 0", r"condition 'i`j > 0' cannot be read at position 2"),
        ("", r"condition '' cannot be read"),
        ("1 < 2", r"condition '1 < 2' reads no column"),
        ("x > " + "-" * 5000 + "1", r"nested more than 100 deep"),
        ("x > " + "+".join("1" * 200), r"nested more than 100 deep"),
    ]:
        with subtests.test(text=text), pytest.raises(ConfigError, match=message):
            parse(text)


def test_types_are_checked_against_a_schema(subtests):
    for text, message in [
        ("nope > 1", r"column 'nope' is not in the data"),
        ("i", r"'i' is Int64, expected a condition"),
        ("not i", r"'i' is Int64, expected a condition, in the condition 'not i'"),
        ("i and b", r"'i' is Int64, expected a condition"),
        ("s + 1 > 2", r"'s' is String, expected a number"),
        ("b * 2 > 1", r"'b' is Boolean, expected a number"),
        ("len(i) > 1", r"'i' is Int64, expected a string"),
        ("s > 1", r"'s > 1' does not fit the types of the columns: cannot compare string with numeric"),
        ("i in ('a', 'b')", r"\"i in \('a', 'b'\)\" does not fit the types"),
    ]:
        with subtests.test(text=text), pytest.raises(SchemaError, match=message):
            parse(text).check(TABLE.schema)


@pytest.mark.thorough
def test_long_conditions_are_flat():
    assert holds(" or ".join(f"i == {value}" for value in range(1000))) == [True, False, True, True]


@pytest.mark.thorough
@given(st.text(max_size=30))
def test_no_text_raises_anything_but_a_config_error(text):
    with contextlib.suppress(ConfigError):
        assert parse(text).columns


def test_narwhals_says_of_which_functions_and_columns_an_expression_is_made():
    """`take_apart` and `columns_in` read what Narwhals has no public door to; a version that differs fails."""
    expression = (nw.coalesce("a", nw.lit(1)) - 1).sum().over("b", order_by="c")
    told = [(node.kind.name, node.name) for node in walk(expression)]
    assert told == [
        ("ELEMENTWISE", "coalesce"), ("LITERAL", "lit"), ("ELEMENTWISE", "__sub__"), ("AGGREGATION", "sum"),
        ("OVER", "over"),
    ]  # fmt: skip
    assert columns_in(expression) == ["a", "b", "c"]
