"""`PipelineModel.predict`: one row, or a few, without an engine."""

import datetime
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import penstock as ps
from penstock import stages as st
from penstock.dataset.steps import run as run_steps
from penstock.errors import DataValueError, SchemaDriftError, SchemaError
from penstock.pipeline import planned_steps

TABLE = pa.table(
    {
        "n": pa.array([1, 5, None, 3, 8, 2], pa.int32()),
        "x": [0.5, -1.25, 3.0, None, 7.5, 0.1],
        "s": ["a", "b", "a", None, "c", "a"],
        "label": [0, 1, 0, 1, 1, 0],
    }
)
STAGES = (
    st.Clip("x", lower=0),
    st.Imputer(["n", "x"], strategy="median", add_indicator=True),
    st.Log1p("n"),
    st.StandardScaler(["n", "x"]),
    st.StringIndexer("s"),
    st.LogisticRegression("label", features=["n", "x", "s"], max_iter=20),
)


@pytest.fixture(scope="module")
def data():
    return ps.LocalEngine(device="cpu").from_arrow(TABLE)


@pytest.fixture(scope="module")
def model(data):
    return ps.Pipeline(*STAGES).fit(data)


def rows(*names: str) -> list[dict]:
    return TABLE.select(list(names)).to_pylist()


def test_a_row_gets_what_it_gets_in_a_batch_to_the_bit(model, data):
    together = model.transform(data).select("rawPrediction", "probability", "prediction").to_arrow().to_pylist()
    assert [model.predict(row) for row in rows("n", "x", "s")] == together


def test_a_list_gets_what_its_rows_get(model):
    for times in (0, 1, 10):
        many = rows("n", "x", "s") * times
        assert model.predict(many) == [model.predict(row) for row in many]


def test_values_of_other_classes_count_alike_in_a_row_and_among_many(model, subtests):
    for change in [
        {"n": 3.0},
        {"n": np.int8(3)},
        {"n": float("nan")},
        {"x": 3},
        {"x": np.float32(0.5)},
        {"x": float("nan")},
        {"s": float("nan")},
    ]:
        with subtests.test(change=change):
            row = {"n": 1, "x": 0.5, "s": "a", **change}
            many = rows("n", "x", "s") * 3
            assert model.predict([*many, row])[-1] == model.predict(row)


def test_a_row_is_refused_among_many_as_it_is_alone(model, subtests):
    for change in [
        {"n": 2**31},
        {"n": 2**70},
        {"n": 3.5},
        {"n": True},
        {"x": "1"},
        {"x": 2**53 + 1},
        {"s": 3},
        {"s": "\ud800"},
    ]:
        with subtests.test(change=change):
            row = {"n": 1, "x": 0.5, "s": "a", **change}
            with pytest.raises((SchemaError, DataValueError)) as alone:
                model.predict(row)
            with pytest.raises(type(alone.value)) as among:
                model.predict([*rows("n", "x", "s") * 3, row, {}])
            assert str(among.value) == str(alone.value)


def test_a_table_gets_what_its_rows_get_whatever_its_types(model, subtests):
    for types in [{}, {"n": pa.float64()}, {"x": pa.float32(), "s": pa.large_string()}]:
        with subtests.test(types=types):
            many = pa.concat_tables([TABLE] * 3)
            for name, kind in types.items():
                many = many.set_column(many.column_names.index(name), name, many[name].cast(kind))
            assert model.predict(many) == [model.predict(row) for row in many.drop_columns("label").to_pylist()]
            assert model.predict(many.slice(0, 2)) == model.predict(many)[:2]


def test_stages_that_can_be_are_planned_together_and_once(model, monkeypatch):
    ran: list[tuple[str, ...]] = []
    many = rows("n", "x", "s") * 3
    expected = model.predict(many)

    def run(steps, frame, log):
        ran.append(tuple(type(step.stage).__name__ for step in steps))
        return run_steps(steps, frame, log)

    monkeypatch.setattr(planned_steps, "run", run)
    again = pickle.loads(pickle.dumps(model))
    assert [again.predict(many), again.predict(many)] == [expected] * 2
    assert ran == [("LogisticRegression",)] * 2


def test_a_row_that_a_planned_stage_refuses_is_told_as_it_is_alone(data):
    for before in ((), (st.Clip("x", lower=0), st.StringIndexer("s"))):
        model = ps.Pipeline(*before, st.Log1p("n"), st.StandardScaler(["n", "x"])).fit(data)
        row = {"n": -3, "x": 0.5, "s": "a"}
        with pytest.raises(DataValueError, match=r"values of -1 or less.*Log1p") as alone:
            model.predict(row)
        with pytest.raises(DataValueError) as among:
            model.predict([*rows("n", "x", "s") * 3, row])
        assert str(among.value) == str(alone.value)


@pytest.mark.thorough
def test_many_threads_get_what_one_gets(model):
    asked = [rows("n", "x", "s") * times for times in range(2, 10)] * 4
    expected = [model.predict(many) for many in asked]
    again = pickle.loads(pickle.dumps(model))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(again.predict, asked)) == expected


def test_columns_of_earlier_stages_can_be_asked_for_and_need_only_what_they_depend_on(model):
    assert model.predict({"n": None, "x": 0.5, "s": "b"}, columns=("s", "n_missing")) == {"s": 1, "n_missing": True}
    assert model.predict({"s": "zzz"}, columns="s") == {"s": 3}


def test_a_label_and_other_columns_are_passed_over_and_the_row_is_left_as_it_is(model):
    row = {"n": 1, "x": -2.0, "s": "a"}
    given = {**row, "label": 1, "other": row}
    assert model.predict(given) == model.predict(row)
    assert given == {"n": 1, "x": -2.0, "s": "a", "label": 1, "other": row}


def test_numbers_of_numpy_are_numbers(model):
    given = {"n": np.int64(5), "x": np.float64(0.25), "s": np.str_("a")}
    assert model.predict(given) == model.predict({"n": 5, "x": 0.25, "s": "a"})


def test_a_column_that_is_not_there_is_named(model):
    with pytest.raises(SchemaDriftError, match=r"lacks 2 column\(s\).*: x, s\."):
        model.predict({"n": 1, "y": "a"})
    with pytest.raises(SchemaDriftError, match=r"lacks 1 column\(s\).*: s\."):
        model.predict(pa.concat_tables([TABLE] * 3).drop_columns("s"))
    with pytest.raises(SchemaError, match=r"no column 'probabilty'\. Did you mean 'probability'"):
        model.predict({"n": 1, "x": 2.0, "s": "a"}, columns="probabilty")


def test_a_value_of_another_type_is_refused_with_column_value_and_type(model, subtests):
    for column, value, kind in [
        ("n", "7", "int32"), ("n", True, "int32"), ("x", "1", "double"), ("x", True, "double"), ("x", [1.0], "double"),
        ("s", 3, "string"),
    ]:  # fmt: skip
        with subtests.test(column=column):
            with pytest.raises(SchemaError, match=f"column '{column}', expected {kind}") as raised:
                model.predict({"n": 1, "x": 2.0, "s": "a", column: value})
            assert repr(value) in str(raised.value)


def test_a_value_that_the_type_does_not_hold_is_refused_with_column_value_and_type(model):
    for value in (2**31, 1.5):
        with pytest.raises(DataValueError, match=f"{value}.*column 'n', expected int32"):
            model.predict({"n": value, "x": 2.0, "s": "a"})


def test_a_row_that_the_model_leaves_out_is_an_error_with_the_reason(data):
    model = ps.Pipeline(st.Expect("n < 9", action="quarantine", name="too large"), st.Log1p("n")).fit(data)
    for count in (1, 20):
        with pytest.raises(DataValueError, match="1 by 'too large'"):
            model.predict([{"n": 3}] * (count - 1) + [{"n": 10}])


def test_dates_and_their_parts_go_through_frames():
    table = pa.table({"at": [datetime.datetime(2024, 2, 29, 17, 30), None]})
    model = ps.Pipeline(st.DateParts("at")).fit(ps.LocalEngine(device="cpu").from_arrow(table))
    assert model.predict({"at": datetime.datetime(2025, 1, 1, 5)}) == {"at_hour": 5, "at_weekday": 3}


@pytest.mark.thorough
def test_logarithms_are_those_of_frames_to_the_bit():
    stage = st.Log1p("x")
    alone = stage.value_function("x", pa.float64(), {})

    @given(hs.lists(hs.floats(min_value=-0.999, max_value=1e300), min_size=1, max_size=50))
    def compare(values):
        data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": values}))
        together = ps.Pipeline(stage).fit(data).transform(data).to_arrow()["x"].to_pylist()
        assert [alone(value) for value in values] == together

    compare()
