"""A function of the user's own as a stage: checked, shipped to workers, saved by its name."""

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, SchemaError, UnsupportedStepError, UserCodeError
from penstock.stages import functions

TABLE = pa.table({"total": [24.0, 30.0, None], "months": [12, 3, 5]})


@ps.register_function("tests: per month")
def per_month(frame):
    return frame.select(monthly=nw.col("total") / nw.col("months"), unasked=nw.lit(1))


def stage(function="tests: per month", **options):
    return st.FunctionStage(function, ["total", "months"], {"monthly": "float64"}, **options)


def made(engine, *stages):
    data = engine.from_arrow(TABLE, fragment_bytes=16)
    return ps.Pipeline(*stages).fit(data).transform(data).to_arrow()


def test_it_adds_what_it_returns_on_every_engine(engine):
    table = made(engine, stage())
    assert table.column_names == ["total", "months", "monthly"]
    assert table["monthly"].to_pylist() == [2.0, 10.0, None]


def test_it_takes_the_frame_it_asks_for(local, subtests):
    for frame, package in {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}.items():
        seen = []

        @ps.register_function(f"tests: seen {frame}")
        def look(given, seen=seen):
            seen.append(type(given).__module__.partition(".")[0])
            return pa.table({"monthly": [0.0] * len(given)})

        with subtests.test(frame=frame):
            made(local, stage(f"tests: seen {frame}", frame=frame))
            assert set(seen) == {package}


def test_what_it_returns_is_cast_to_the_declared_type(local):
    ps.register_function("tests: whole")(lambda frame: frame.select(monthly=nw.col("months")))
    assert made(local, stage("tests: whole")).schema.field("monthly").type == pa.float64()


def test_columns_can_be_replaced(local):
    ps.register_function("tests: doubled")(lambda frame: frame.select(months=nw.col("months") * 2))
    replacing = st.FunctionStage("tests: doubled", "months", {"months": "int64"})
    assert made(local, replacing)["months"].to_pylist() == [24, 6, 10]


def test_another_number_of_rows_is_refused(local):
    ps.register_function("tests: fewer")(lambda frame: frame.select(monthly=nw.col("total")).head(1))
    data = local.from_arrow(TABLE)
    with pytest.raises(UserCodeError, match="returned 1 rows for 3"):
        ps.Pipeline(stage("tests: fewer")).fit(data).transform(data).to_arrow()


def test_an_error_of_the_function_is_told_with_its_name(local):
    ps.register_function("tests: raises")(lambda frame: 1 / 0)
    with pytest.raises(UserCodeError, match=r"'tests: raises'\) raised ZeroDivisionError"):
        made(local, stage("tests: raises"))


def test_a_column_left_out_is_named(local):
    ps.register_function("tests: less")(lambda frame: frame.select("total"))
    with pytest.raises(SchemaError, match="declared schema has 'monthly'"):
        made(local, stage("tests: less"))


def test_a_function_that_is_not_registered_is_refused_before_reading(local):
    with pytest.raises(UnsupportedStepError, match=r"'tests: per mnth' is not registered\. Did you mean"):
        ps.Pipeline(stage("tests: per mnth")).fit(local.from_arrow(TABLE))


def test_where_it_is_not_registered_a_saved_model_says_what_to_do(local, tmp_path, monkeypatch):
    ps.Pipeline(stage()).fit(local.from_arrow(TABLE)).save(tmp_path / "model")
    monkeypatch.setattr(functions, "_FUNCTIONS", type(functions._FUNCTIONS)("function", "register_function"))
    with pytest.raises(UnsupportedStepError, match=r"'tests: per month' is not registered(.|\n)*--pipeline"):
        ps.PipelineModel.load(tmp_path / "model").predict({"total": 1.0, "months": 1})


def test_it_is_registered_under_a_name(subtests):
    for name in ["", None, per_month]:
        with subtests.test(name=name), pytest.raises(ConfigError, match="expected a name"):
            ps.register_function(name)


def test_it_must_return_something():
    with pytest.raises(ConfigError, match="returns of FunctionStage"):
        st.FunctionStage("tests: per month", "total", {})


def test_a_type_that_is_not_known_is_refused():
    with pytest.raises((ConfigError, SchemaError), match="flaot"):
        st.FunctionStage("tests: per month", "total", {"x": "flaot"})


def test_a_function_given_as_itself_is_refused_with_how_to_register_it(subtests):
    for function in [lambda frame: frame, per_month, "", None]:
        with subtests.test(function=function):
            with pytest.raises(ConfigError, match="expected the name that one is registered under") as raised:
                stage(function)
            assert "@penstock.register_function" in raised.value.hint


def test_a_type_of_pyarrow_is_that_of_its_name_also_when_it_is_saved(local, tmp_path):
    columns = ["total", "months"]
    stages = [st.FunctionStage("tests: per month", columns, {"monthly": kind}) for kind in (pa.float64(), "float64")]
    assert stages[0] == stages[1]
    model = ps.Pipeline(stages[0]).fit(local.from_arrow(TABLE))
    model.save(tmp_path / "model")
    assert ps.PipelineModel.load(tmp_path / "model").digest == model.digest
