"""A model for each key is that of the rows of the key alone, on every engine."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeRegressor

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError, SchemaError, UnsupportedStepError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.testing import LocalGang

RNG = np.random.default_rng(11)
ROWS = 240
STORES = RNG.choice(["a", "b", "cc"], ROWS)
X = RNG.normal(size=(ROWS, 2)) @ [[1.0, 0.4], [0.0, 3.0]] + [0.0, 50.0]
Y = X @ [2.0, -1.0] * (1 + (STORES == "b")) + 5.0 * (STORES == "cc") + RNG.normal(size=ROWS)
W = RNG.uniform(0.5, 2.0, ROWS)
TABLE = pa.table({"store": STORES, "x": X[:, 0], "z": X[:, 1], "y": Y, "w": W, "sold": RNG.integers(0, 2, ROWS)})
FRAGMENT = 4 * 60 * 64


@pytest.fixture
def local():
    return ps.LocalEngine(device="cpu")


def of_store(store, table=TABLE):
    return table.filter(pa.compute.field("store") == store)


def in_parts(engine, table=TABLE):
    return engine.from_arrow(table, fragment_bytes=FRAGMENT)


def fitted(engine, stage, table=TABLE, **options):
    return Pipeline(st.PerKey(stage, by="store", **options)).fit(in_parts(engine, table))


def model_of(model, store):
    (learned,) = model.fitted
    return learned["models"][learned["keys"]["store"].to_pylist().index(store)]


def test_coefficients_are_numpys_of_each_key(local):
    model = fitted(local, st.LinearRegression("y", features=("x", "z"), weight="w"))
    for store in ("a", "b", "cc"):
        own = store == STORES
        root = np.sqrt(W[own])
        design = np.column_stack([X[own], np.ones(own.sum())]) * root[:, None]
        *coefficients, intercept = np.linalg.lstsq(design, Y[own] * root, rcond=None)[0]
        np.testing.assert_allclose(model_of(model, store)["coefficients"], coefficients, rtol=1e-11)
        np.testing.assert_allclose(model_of(model, store)["intercept"], intercept, rtol=1e-11)


INNER = [
    st.LinearRegression("y", features=("x", "z"), weight="w", reg_param=0.1, elastic_net_param=0.5),
    st.LinearDiscriminantAnalysis("sold", features=("x", "z")),
    st.NaiveBayes("sold", features=("x", "z"), model_type="gaussian"),
    st.LogisticRegression("sold", features=("x", "z"), reg_param=0.1),
    st.KMeans(("x", "z"), k=2, seed=3),
    st.XGBoostRegressor("y", features=("x", "z"), num_boost_round=3, max_depth=2),
    st.QuantileTransformer(("x", "z")),
    st.PCA(("x", "z"), 1),
    st.SklearnEstimator(DecisionTreeRegressor(max_depth=3, random_state=0), "y", features=("x", "z")),
]


@pytest.mark.thorough
def test_each_key_is_transformed_as_by_a_fit_on_its_rows(local, subtests):
    for stage in INNER:
        made = fitted(local, stage).transform(in_parts(local)).to_arrow()
        assert made.select(["store", "w"]).equals(TABLE.select(["store", "w"]))
        for store in ("a", "b", "cc"):
            alone = local.from_arrow(of_store(store))
            expected = Pipeline(stage).fit(alone).transform(alone).to_arrow()
            with subtests.test(stage.title, store=store):
                for name in made.column_names:
                    found = of_store(store, made)[name]
                    if pa.types.is_floating(found.type):
                        np.testing.assert_allclose(found.to_numpy(), expected[name].to_numpy(), rtol=1e-10, atol=1e-10)
                    else:
                        assert found.to_pylist() == expected[name].to_pylist()


@pytest.mark.thorough
def test_a_trainer_watches_the_rows_of_its_key_alone(local):
    stage = st.XGBoostRegressor("y", features=("x", "z"), num_boost_round=400, early_stopping_rounds=2, max_depth=2)
    model = Pipeline(st.PerKey(stage, by="store")).fit(
        local.from_arrow(TABLE.slice(0, 120)), validation=local.from_arrow(TABLE.slice(120))
    )
    for store in ("a", "b", "cc"):
        train, watched = (local.from_arrow(of_store(store, part)) for part in (TABLE.slice(0, 120), TABLE.slice(120)))
        (expected,) = Pipeline(stage).fit(train, validation=watched).fitted
        assert model_of(model, store)["history"] == expected["history"]
        assert model_of(model, store)["rounds"] == expected["rounds"] < 400


@pytest.mark.thorough
def test_models_do_not_depend_on_the_number_of_ranks(local):
    stage = st.PerKey(st.KMeans(("x", "z"), k=2, seed=3), by="store")
    alone, two, five = (LocalGang(size).train(stage, in_parts(local))[0]["models"] for size in (1, 2, 5))
    assert alone == two == five


def test_rows_keep_their_order_and_other_columns(local):
    table = pa.table({"store": ["b", None, "a", "b", "new"], "x": [4.0, 1.0, 2.0, 0.0, 3.0], "other": [5, 4, 3, 2, 1]})
    model = Pipeline(st.PerKey(st.MinMaxScaler("x"), by="store")).fit(local.from_arrow(table.slice(0, 4)))
    made = model.transform(local.from_arrow(table)).to_arrow()
    assert made.column_names == table.column_names
    assert made["other"].to_pylist() == [5, 4, 3, 2, 1]
    assert made["x"].to_pylist() == [1.0, None, 0.5, 0.0, None]


def test_several_columns_are_one_key(local):
    table = pa.table({"a": ["p", "p", "q", "p"], "b": [True, False, True, True], "x": [1.0, 7.0, 9.0, 3.0]})
    model = Pipeline(st.PerKey(st.MaxAbsScaler("x"), by=("a", "b"))).fit(local.from_arrow(table))
    assert model.transform(local.from_arrow(table)).to_arrow()["x"].to_pylist() == [1 / 3, 1.0, 1.0, 1.0]
    assert model.predict({"a": "q", "b": False, "x": 1.0}) == {"x": None}


def test_kept_rows_without_a_model_are_scored_by_that_of_all_rows(local):
    keys = pa.array(["a"] * 100 + [None] * 140)
    table = TABLE.set_column(0, "store", keys)
    model = fitted(local, st.LinearRegression("y", features=("x", "z")), table, handle_invalid="keep")
    made = model.transform(local.from_arrow(table.slice(100))).to_arrow()["prediction"].to_numpy()
    *coefficients, intercept = np.linalg.lstsq(np.column_stack([X, np.ones(ROWS)]), Y, rcond=None)[0]
    np.testing.assert_allclose(made, X[100:] @ coefficients + intercept, rtol=1e-11)
    assert model.predict({"store": "new", "x": 1.0, "z": 2.0}) == model.predict({"store": None, "x": 1.0, "z": 2.0})
    assert "140 row(s) have a null key, and no model of a key learns from them" in model.report.notes[1]


@pytest.mark.thorough
def test_a_trainer_of_all_rows_is_trained_on_all_of_them(local):
    stage = st.XGBoostRegressor("y", features=("x", "z"), num_boost_round=3, max_depth=2)
    model = fitted(local, stage, handle_invalid="keep")
    new = TABLE.set_column(0, "store", pa.array(["new"] * ROWS))
    expected = Pipeline(stage).fit(in_parts(local)).transform(local.from_arrow(TABLE)).to_arrow()["prediction"]
    assert model.transform(local.from_arrow(new)).to_arrow()["prediction"].equals(expected)


def test_a_key_is_no_feature_unless_it_is_named(local):
    table = TABLE.set_column(0, "store", pa.array(np.arange(ROWS) % 3))
    for stage in (st.LinearRegression("y"), st.LogisticRegression("sold")):
        bound = fitted(local, stage, table).stages[0].stage
        assert "store" not in bound.features
        assert "x" in bound.features


def test_an_error_names_the_key_the_file_and_the_row(local, tmp_path):
    x = X[:, 0].copy()
    x[[200, 230]] = np.inf
    stores = np.where(np.isin(np.arange(ROWS), [200, 230]), "cc", STORES)
    table = TABLE.set_column(0, "store", pa.array(stores)).set_column(1, "x", pa.array(x))
    pq.write_table(table, tmp_path / "t.parquet")
    for stage in (st.LinearRegression("y", features="x"), st.XGBoostRegressor("y", features="x", num_boost_round=1)):
        with pytest.raises(DataValueError, match=r"where store is 'cc': .*'x'.* infinite") as caught:
            Pipeline(st.PerKey(stage, by="store")).fit(local.read_parquet(tmp_path / "t.parquet"))
        assert (caught.value.row, caught.value.path) == (200, str(tmp_path / "t.parquet"))


@pytest.mark.parametrize(
    "stage, reason",
    [
        (st.LinearRegression("y", features="x", weight="w"), "no row has a positive weight"),
        (st.LogisticRegression("sold", features="x"), "1 class"),
    ],
    ids=["from statistics", "trained on rows"],
)
def test_keys_that_a_stage_refuses_are_skipped_if_asked_and_told(local, stage, reason):
    own = STORES == "b"
    table = TABLE.set_column(4, "w", pa.array(np.where(own, 0.0, W)))
    table = table.set_column(5, "sold", pa.array(np.where(own, 1, TABLE["sold"].to_numpy())))
    with pytest.raises(DataValueError, match="where store is 'b': "):
        fitted(local, stage, table)
    model = fitted(local, stage, table, errors="skip")
    learned = model.fitted[0]
    assert learned["keys"]["store"].to_pylist() == ["a", "cc"]
    assert learned["skipped"]["keys"]["store"].to_pylist() == ["b"]
    assert reason in learned["skipped"]["reasons"][0]
    assert "1 key(s) have none: store is 'b': " in model.report.notes[1]
    made = of_store("b", model.transform(local.from_arrow(table)).to_arrow())
    assert made[model.stages[0].outputs()[0]].null_count == made.num_rows


def test_a_fit_without_any_model_is_refused(local):
    empty = TABLE.set_column(0, "store", pa.nulls(ROWS, pa.string()))
    with pytest.raises(DataValueError, match="'store' has no value"):
        fitted(local, st.StandardScaler("x"), empty)
    weightless = TABLE.set_column(4, "w", pa.array(np.zeros(ROWS)))
    with pytest.raises(DataValueError, match=r"where store is 'a' and for 2 more key\(s\): no row has a positive wei"):
        fitted(local, st.LinearRegression("y", features="x", weight="w"), weightless, errors="skip")


def test_models_of_other_classes_are_refused(local):
    table = TABLE.set_column(5, "sold", pa.array(np.where(STORES == "b", np.arange(ROWS) % 3, np.arange(ROWS) % 2)))
    with pytest.raises(DataValueError, match="models of two keys have learned different classes: 0, 1, and 0, 1, 2"):
        fitted(local, st.LogisticRegression("sold", features="x"), table)


def test_what_cannot_be_fitted_for_each_key_is_refused():
    for stage, reason in (
        (st.DropNulls("x"), "takes no DropNulls, which leaves out rows"),
        (st.TargetEncoder("store", label="sold"), "takes no TargetEncoder, which gives the rows that it learns from"),
        (st.VarianceThresholdSelector("x"), "takes no VarianceThresholdSelector, which leaves out other columns"),
        ("LinearRegression", "is given 'LinearRegression', expected a stage"),
    ):
        with pytest.raises(ConfigError, match=reason):
            st.PerKey(stage, by="store")


def test_a_stage_that_learns_nothing_is_refused(local):
    with pytest.raises(ConfigError, match="PerKey of Log1p has nothing to learn for each key"):
        fitted(local, st.Log1p("w"))


def test_a_key_that_does_not_suit_is_refused_before_reading(local, subtests):
    scaler, named = st.StandardScaler("x"), st.StandardScaler("x", output_columns=("store",))
    told = "column 'x' is double, but PerKey of StandardScaler takes str"
    itself = "goes by 'store', which cannot be a column of the stage too"
    for stage, by, error, match in (
        (scaler, "x", SchemaError, told),
        (scaler, "shop", SchemaError, "'shop'"),
        (st.StringIndexer("store"), "store", SchemaError, itself),
        (named, "store", ConfigError, "PerKey of StandardScaler makes 'store', and goes by it"),
    ):
        with subtests.test(stage.title, by=by), pytest.raises(error, match=match):
            Pipeline(st.PerKey(stage, by=by)).plan(local.from_arrow(TABLE))


def test_new_rows_and_new_keys_are_learned_as_if_all_were_there(local):
    stage = st.PerKey(st.LinearRegression("y", features=("x", "z")), by="store")
    first = TABLE.slice(0, 150).filter(pa.compute.field("store") != "cc")
    before = Pipeline(stage).fit(in_parts(local, first), keep_statistics=True)
    rest = pa.concat_tables([TABLE.slice(0, 150).filter(pa.compute.field("store") == "cc"), TABLE.slice(150)])
    learned = before.refit(in_parts(local, rest))
    assert learned.fitted[0]["keys"]["store"].to_pylist() == ["a", "b", "cc"]
    for store in ("a", "b", "cc"):
        own = store == STORES
        *coefficients, _ = np.linalg.lstsq(np.column_stack([X[own], np.ones(own.sum())]), Y[own], rcond=None)[0]
        np.testing.assert_allclose(model_of(learned, store)["coefficients"], coefficients, rtol=1e-11)


def test_coefficients_of_all_keys_are_one_table(local):
    table = fitted(local, st.LinearRegression("y", features=("x", "z"))).coefficients()
    assert table.column_names[:3] == ["store", "feature", "value"]
    assert table["store"].to_pylist() == ["a"] * 3 + ["b"] * 3 + ["cc"] * 3
    own = STORES == "cc"
    expected = np.linalg.lstsq(np.column_stack([X[own], np.ones(own.sum())]), Y[own], rcond=None)[0]
    np.testing.assert_allclose(of_store("cc", table)["value"].to_numpy(), expected, rtol=1e-11)


def test_a_stage_without_coefficients_has_none_for_each_key(local):
    with pytest.raises(ConfigError, match="PerKey of StandardScaler has no coefficients"):
        fitted(local, st.StandardScaler("x")).coefficients()


def test_a_parameter_of_the_inner_stage_has_an_address(local):
    pipeline = Pipeline(st.PerKey(st.LinearRegression("y"), by="store"))
    changed = pipeline.with_params({"PerKey.stage.reg_param": 0.5, "PerKey.errors": "skip"})
    assert changed.stages[0] == st.PerKey(st.LinearRegression("y", reg_param=0.5), by="store", errors="skip")
    with pytest.raises(ConfigError, match=r"PerKey\.stage has no parameter 'reg_parm'.*reg_param"):
        pipeline.with_params({"PerKey.stage.reg_parm": 0.5})


def test_dense_vectors_are_the_features_of_each_key(local):
    vectors = TABLE.append_column("v", pa.array(X.tolist(), pa.list_(pa.float64())))
    model = fitted(local, st.LinearRegression("y", features="v"), vectors)
    expected = fitted(local, st.LinearRegression("y", features=("x", "z")))
    for store in ("a", "b", "cc"):
        found, known = (model_of(each, store)["coefficients"] for each in (model, expected))
        np.testing.assert_allclose(found, known, rtol=1e-12)
    scored, columns = (each.transform(local.from_arrow(vectors)).to_arrow()["prediction"] for each in (model, expected))
    np.testing.assert_allclose(scored.to_numpy(), columns.to_numpy(), rtol=1e-12)


def test_a_saved_model_scores_the_same_and_names_no_other_stage_than_those_of_the_library(local, tmp_path):
    model = fitted(local, st.XGBoostRegressor("y", features=("x", "z"), num_boost_round=2, max_depth=2))
    model.save(tmp_path / "model")
    again = PipelineModel.load(tmp_path / "model")
    assert again.digest == model.digest
    assert again.predict({"store": "b", "x": 1.0, "z": 2.0}) == model.predict({"store": "b", "x": 1.0, "z": 2.0})
    stored = json.loads(json.dumps(model.stages[0].parameters()))
    stored["stage"]["stage"] = "os.system"
    with pytest.raises(UnsupportedStepError, match=r"'os\.system' is not known"):
        st.PerKey.from_parameters(stored)


class OwnScaler(st.MaxAbsScaler):
    """A stage that the library does not know."""


def test_a_stage_of_ones_own_is_loaded_where_it_is_passed(local, tmp_path):
    model = fitted(local, OwnScaler("x"))
    model.save(tmp_path / "model")
    with pytest.raises(UnsupportedStepError, match="'OwnScaler' is not known"):
        PipelineModel.load(tmp_path / "model")
    assert PipelineModel.load(tmp_path / "model", stages={"OwnScaler": OwnScaler}).stages == model.stages
