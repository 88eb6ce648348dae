"""Inside an expression as at its end a NaN is null: whole, it gives what it gives when it is cut into steps."""

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import frames
from penstock.engines.local import LocalEngine
from penstock.expressions import parse_value
from penstock.expressions.guarded import guarded

INF = float("inf")
TABLE = pa.table(
    {
        "id": range(10),
        "x": [-1.0, 4.0, None, 0.25, 0.0, INF, -INF, INF, 0.0, 9.0],
        "y": [0.0, 2.0, 1.0, None, 0.0, INF, INF, 0.0, -2.0, 3.0],
        "t": ["nan", "1.5", None, "NaN", "0", "inf", "-inf", "2", "-0.0", "nan"],
        "i": [0, 1, None, 2, 0, -1, 3, 0, 5, 0],
    }
)
X, Y = nw.col("x"), nw.col("y")
MAKERS = {
    "sqrt": X.sqrt(), "log": X.log(), "sin": X.sin(), "cos": X.cos(), "quotient": X / Y,
    "of integers": nw.col("i") / nw.col("i"),
    "quotient of a constant": 0 / X, "sum": X + Y, "difference": X - Y, "product": X * Y, "remainder": X % Y,
    "whole quotient": X // Y, "power": X**0.5, "power of a power": 2 ** (X - Y), "cast": nw.col("t").cast(nw.Float64),
    "horizontal": nw.sum_horizontal(X, Y), "mean": nw.mean_horizontal(X, Y), "deep": ((X / Y).abs() * 2 + 1).floor(),
    "choice": nw.when(X > 0).then(X / Y).otherwise(Y), "single": (X / Y).cast(nw.Float32), "negative": -(X - X),
}  # fmt: skip
LOOKS = {
    "greater": lambda made: made > 1, "unequal": lambda made: made != 0.5, "null": lambda made: made.is_null(),
    "fill": lambda made: made.fill_null(0.0), "coalesce": lambda made: nw.coalesce(made, nw.lit(9.0)),
    "choice": lambda made: nw.when(made > 1).then(nw.lit(1)).otherwise(nw.lit(0)),
    "in": lambda made: made.is_in([2.0]),
    "between": lambda made: made.is_between(-1, 3), "most": lambda made: nw.max_horizontal(made, nw.lit(-5.0)),
    "added": lambda made: nw.sum_horizontal(made, nw.lit(1.0)), "power": lambda made: made**0,
    "less": lambda made: made < 1,
    "clip": lambda made: made.clip(0.0, 1.0), "value": lambda made: made,
}  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return LocalEngine(device="cpu").from_arrow(TABLE)


def step(table, **columns):
    """Return a table with columns of expressions, which are guarded."""
    values = {name: guarded(each, table.schema, "test")[0].expr for name, each in columns.items()}
    return frames.to_arrow(frames.from_arrow(table).with_columns(**values))


@pytest.mark.parametrize("name", MAKERS)
def test_what_makes_a_nan_makes_null_for_all_that_looks_at_it(name):
    whole = step(TABLE, **{each: look(MAKERS[name]) for each, look in LOOKS.items()})
    cut = step(step(TABLE, made=MAKERS[name]), **{each: look(nw.col("made")) for each, look in LOOKS.items()})
    assert whole.select([*LOOKS]).to_pydict() == cut.select([*LOOKS]).to_pydict()


def _in_verbs(data, made):
    """Yield what verbs give that look at an expression."""
    yield data.filter(made > 1).select("id")
    yield data.filter(~(made > 1) | made.is_null()).sort("id", descending=True).select("id")
    filled, big = made.fill_null(7.0), nw.when(made > 1).then(nw.lit(1)).otherwise(nw.lit(0))
    keyed = data.with_columns(key=big, filled=filled)
    yield keyed.group_by("key").agg(n=(made > 1).sum(), most=filled.max(), some=made.count(), kinds=made.n_unique())
    yield keyed.unique(["key", "filled"]).select("key", "filled")
    yield keyed.select("key", "filled").join(data.with_columns(filled=filled).select("filled", "id"), "filled")
    yield data.rolling(3, order_by="id").agg(most=filled.max(), n=made.count()).select("most", "n")
    yield keyed.join_asof(data.with_columns(filled=filled).select("filled"), "filled").select("filled_right")
    yield keyed.pivot("key", index="id", values="filled", aggregate_function="max", on_values=[0, 1])


def test_verbs_see_null_where_an_expression_made_a_nan(data, subtests):
    for name in ("quotient", "cast"):
        steps = data.with_columns(made=MAKERS[name])
        for number, (whole, cut) in enumerate(
            zip(_in_verbs(data, MAKERS[name]), _in_verbs(steps, nw.col("made")), strict=True)
        ):
            with subtests.test(f"{name} {number}"):
                assert whole.to_arrow().to_pydict() == cut.to_arrow().to_pydict()


def test_an_aggregate_of_infinities_that_cancel_is_null_for_what_is_made_of_it(data):
    made = data.group_by().agg(
        sum=X.sum().fill_null(1.0), mean=nw.coalesce(X.mean(), nw.lit(2.0)), none=X.std().is_null()
    )
    assert made.to_arrow().to_pylist() == [{"sum": 1.0, "mean": 2.0, "none": True}]


def test_sql_sees_null_where_a_sum_a_cast_or_a_root_made_a_nan(data):
    values = "COALESCE(x - y, 9), COALESCE(sqrt(x), 9), COALESCE(CAST(t AS DOUBLE), 9), COALESCE(power(x - y, 0), 9)"
    rows = data.engine.sql(f"SELECT {values} FROM t WHERE id IN (0, 5)", t=data).to_polars().rows()
    assert rows == [(-1.0, 9.0, 9.0, 1.0), (9.0, INF, INF, 9.0)]


def test_a_power_of_what_has_no_value_has_none_in_the_language_of_conditions(data):
    frame = nw.from_native(data.select("x", "y").to_polars(), eager_only=True)
    assert parse_value("(x / y) ** 0").values(frame, "v")["v"].null_count() == 5


_LEAVES = st.sampled_from(["x", "y"])
_UNARY = {"sqrt": lambda a: a.sqrt(), "log": lambda a: a.log(), "abs": lambda a: a.abs(), "negative": lambda a: -a,
          "fill": lambda a: a.fill_null(2.0), "exp": lambda a: a.exp(), "floor": lambda a: a.floor()}  # fmt: skip
_BINARY = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "%": lambda a, b: a % b, "coalesce": lambda a, b: nw.coalesce(a, b), "most": lambda a, b: nw.max_horizontal(a, b),
    "choice": lambda a, b: nw.when(a > b).then(a).otherwise(b), "**": lambda a, b: a**b,
}  # fmt: skip
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.tuples(st.sampled_from([*_UNARY]), inner) | st.tuples(st.sampled_from([*_BINARY]), inner, inner),
    max_leaves=6,
)


def _whole(tree):
    if isinstance(tree, str):
        return nw.col(tree)
    return {**_UNARY, **_BINARY}[tree[0]](*map(_whole, tree[1:]))


def _steps(table, tree, name):
    """Return the rows with a column for each part of an expression, and what the whole is called."""
    if isinstance(tree, str):
        return table, tree
    columns = []
    for number, part in enumerate(tree[1:]):
        table, column = _steps(table, part, f"{name}{number}")
        columns.append(nw.col(column))
    return step(table, **{name: {**_UNARY, **_BINARY}[tree[0]](*columns)}), name


@pytest.mark.thorough
@given(tree=_TREES)
def test_an_expression_gives_what_it_gives_cut_into_steps(tree):
    cut, name = _steps(TABLE, tree, "s")
    assert step(TABLE, made=_whole(tree))["made"].to_pylist() == cut[name].to_pylist()
