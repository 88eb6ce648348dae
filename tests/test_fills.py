"""What learns from filled columns learns in the scan in which the value that is filled in is found."""

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.core.errors import DataValueError, PenstockError

ROWS = 300


@pytest.fixture(scope="module")
def table() -> pa.Table:
    drawn = np.random.default_rng(3)
    return pa.table(
        {
            "x": pa.array(drawn.exponential(4.0, ROWS), mask=drawn.uniform(size=ROWS) < 0.2),
            "n": pa.array(drawn.integers(0, 40, ROWS), mask=drawn.uniform(size=ROWS) < 0.1),
            "f": pa.array(drawn.normal(size=ROWS).astype(np.float32), mask=drawn.uniform(size=ROWS) < 0.3),
            "y": drawn.normal(size=ROWS),
            "whole": np.arange(ROWS) % 7,
        }
    )


def read(engine, table: pa.Table):
    return engine.from_arrow(table, fragment_bytes=1000)


def test_a_scaler_learns_of_imputed_values_in_the_same_scan(engine, table):
    pipeline = ps.Pipeline(st.Imputer(["x", "n", "f"]), st.StandardScaler(["x", "n", "f", "y"]))
    told = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x")).explain(read(engine, table))
    assert "gathers Moments (but for what is filled in) of x for StandardScaler" in told
    model = pipeline.fit(read(engine, table))
    filled = pl.DataFrame(table).with_columns(pl.col("n").cast(pl.Float64), pl.col("f"))
    filled = filled.with_columns(pl.col(name).fill_null(model.fitted[0]["values"][name]) for name in "xnf")
    assert model.report.scans == 1
    for name in "xnfy":
        assert model.fitted[1]["mean"][name] == pytest.approx(filled[name].cast(pl.Float64).mean(), rel=1e-12)
        assert model.fitted[1]["scale"][name] == pytest.approx(filled[name].cast(pl.Float64).std(), rel=1e-12)


def test_the_value_goes_through_the_stages_between(local, table):
    pipeline = ps.Pipeline(
        st.Imputer("x", output_columns=["filled"]), st.Log1p("filled", output_columns=["log"]),
        st.Clip("log", lower=0.5, upper=1.9), st.StandardScaler("log"),
    )  # fmt: skip
    model = pipeline.fit(read(local, table))
    mean = pl.DataFrame(table)["x"].mean()
    made = pl.DataFrame(table)["x"].fill_null(mean).log1p().clip(0.5, 1.9)
    assert model.report.scans == 1
    assert model.fitted[3]["mean"]["log"] == pytest.approx(made.mean(), rel=1e-12)
    assert model.fitted[3]["scale"]["log"] == pytest.approx(made.std(), rel=1e-12)


@pytest.mark.thorough
def test_extremes_are_those_of_the_filled_column(local, table):
    imputer = st.EndTailImputer("x", imputation_method="gaussian", tail="left", fold=5.0)
    model = ps.Pipeline(imputer, st.MinMaxScaler("x")).fit(read(local, table))
    scaled = model.transform(read(local, table)).to_arrow()["x"].to_numpy()
    assert model.report.scans == 1
    assert model.fitted[0]["values"]["x"] < 0
    assert (scaled.min(), scaled.max()) == (0.0, 1.0)


@pytest.mark.thorough
def test_a_value_that_stands_for_null_is_filled_too(local, table):
    rows = table.set_column(0, "x", table["x"].fill_null(-999.0))
    stages = [st.Imputer("x", missing_value=-999.0, add_indicator=True), st.StandardScaler("x")]
    models = [
        ps.Pipeline(*stages).fit(read(local, rows)),
        ps.Pipeline(st.Imputer("x"), stages[1]).fit(read(local, table)),
    ]
    assert [model.report.scans for model in models] == [1, 1]
    assert models[0].fitted == models[1].fitted


@pytest.mark.thorough
def test_two_imputers_in_a_row_are_as_one(local, table):
    both = ps.Pipeline(st.Imputer("x"), st.Imputer("x", strategy="median"), st.StandardScaler("x"))
    one = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x")).fit(read(local, table))
    assert both.fit(read(local, table)).fitted[2]["mean"]["x"] == pytest.approx(one.fitted[1]["mean"]["x"], rel=1e-12)


@pytest.mark.thorough
def test_what_cannot_be_told_apart_waits(local, table, subtests):
    data = read(local, table)
    filled = pl.DataFrame(table)["x"].fill_null(pl.DataFrame(table)["x"].mean())
    for between, least in [
        (st.RobustScaler("x"), 2),  # quantiles cannot be told of a value afterwards
        (st.Imputer("x", strategy="constant", fill_value=0.0), 2),  # it leaves no nulls
        (st.DropNulls("y"), 2),  # which nulls are left is not known
        (st.Expect("x is not None", action="drop"), 2),
        (st.Interaction(["x", "y"]), 1),  # it leaves x as it is
    ]:
        with subtests.test(between.title):
            model = ps.Pipeline(st.Imputer("x"), between, st.StandardScaler("x")).fit(data)
            assert model.report.scans >= least
            if not isinstance(between, st.RobustScaler):
                assert model.fitted[2]["mean"]["x"] == pytest.approx(filled.mean(), rel=1e-12)


def test_what_is_filled_by_group_and_a_product_of_a_filled_column_are_waited_for(local, table):
    model = ps.Pipeline(st.Imputer("x", by="whole"), st.StandardScaler("x")).fit(read(local, table))
    frame = pl.DataFrame(table)
    filled = frame.select(pl.col("x").fill_null(pl.col("x").mean().over("whole")))["x"]
    assert model.report.scans == 2
    assert model.fitted[1]["mean"]["x"] == pytest.approx(filled.mean(), rel=1e-12)
    pipeline = ps.Pipeline(st.Imputer("x"), st.Interaction(["x", "y"]), st.StandardScaler("x:y"))
    model = pipeline.fit(read(local, table))
    product = frame["x"].fill_null(frame["x"].mean()) * frame["y"]
    assert model.report.scans == 2
    assert model.fitted[2]["mean"]["x:y"] == pytest.approx(product.mean(), rel=1e-9)


@pytest.mark.thorough
def test_a_column_without_nulls_has_the_moments_of_its_values_to_the_bit(local, table):
    filled = ps.Pipeline(st.Imputer("y"), st.StandardScaler("y")).fit(read(local, table))
    plain = ps.Pipeline(st.StandardScaler("y")).fit(read(local, table))
    assert filled.fitted[1] == plain.fitted[0]


def test_values_that_a_stage_cannot_take_are_refused_by_it(local):
    nulls = local.from_arrow(pa.table({"x": pa.array([None, None], pa.float64())}))
    with pytest.raises(PenstockError, match="x") as raised:
        ps.Pipeline(st.Imputer("x"), st.StandardScaler("x")).fit(nulls)
    assert raised.value.stage == "Imputer"
    data = local.from_arrow(pa.table({"x": [-3.0, -2.5, None, 0.5]}))
    with pytest.raises(DataValueError):
        ps.Pipeline(st.Imputer("x"), st.Log1p("x"), st.StandardScaler("x")).fit(data)


@pytest.mark.thorough
def test_folds_learn_what_fits_on_their_rows_learn(local, table):
    pipeline = ps.Pipeline(
        st.Imputer(["x", "n"]), st.StandardScaler(["x", "n"]), st.LinearRegression("y", features=["x", "n"])
    )
    data = read(local, table)
    folds = data.folds(3, seed=1)
    evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
    found = [each["rmse"] for each in ps.cross_validate(pipeline, data, evaluator, folds=folds).evaluations]
    alone = [pipeline.fit(fold.train).evaluate(fold.validation, evaluator)["rmse"] for fold in folds]
    assert found == pytest.approx(alone, rel=1e-12)


def test_states_that_are_kept_serve_when_the_mean_moves(local, table, tmp_path):
    import pyarrow.parquet as pq

    pipeline = ps.Pipeline(st.Imputer("x"), st.Log1p("x"), st.StandardScaler("x"))
    pq.write_table(table, tmp_path / "0.parquet")
    first = pipeline.fit(local.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=1).cache_states(tmp_path / "s"))
    pq.write_table(table.filter(nw.to_native(nw.from_native(table)["n"] > 20)), tmp_path / "1.parquet")
    data = local.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=1)
    second = pipeline.fit(data.cache_states(tmp_path / "s"))
    assert first.fitted[0] != second.fitted[0]
    assert second.report.rows.cached == ROWS
    assert second.digest == pipeline.fit(data).digest
