"""Estimators of Spark ML as stages: held to Spark ML itself, saved, and refused where Spark is not."""

import json
from functools import partial

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, RowCountError, SchemaError, UntrustedArtifactError

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    # PySpark's own, of OneVsRest and TrainValidationSplit.
    pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <function Pool:pytest.PytestUnraisableExceptionWarning"),
]

RNG = np.random.default_rng(0)
ROWS = 48
VECTORS = RNG.random((ROWS, 3))
TABLE = pa.table(
    {
        "id": range(ROWS),
        "user": RNG.integers(0, 9, ROWS),
        "item": RNG.integers(0, 7, ROWS),
        "rating": RNG.integers(1, 6, ROWS).astype(float),
        "vector": VECTORS.tolist(),
        "label": (VECTORS.sum(axis=1) > 1.5).astype(float),
        "text": [" ".join(RNG.choice(["a", "b", "c"], 4)) for _ in range(ROWS)],
        "basket": [sorted(set(RNG.choice(["tea", "milk", "bread"], 2))) for _ in range(ROWS)],
    }
)


def als(**options):
    from pyspark.ml.recommendation import ALS

    few = {"rank": 2, "maxIter": 1, "numUserBlocks": 1, "numItemBlocks": 1, "seed": 1}
    return partial(ALS, userCol="user", itemCol="item", **few, **options)


def linear_svc():
    from pyspark.ml.classification import LinearSVC

    names = {"featuresCol": "vector", "predictionCol": "side", "rawPredictionCol": "margin"}
    return partial(LinearSVC, maxIter=1, **names)


def of_all_kinds():
    """Pipeline of Spark ML with outputs of many types, one estimator within another."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes, OneVsRest
    from pyspark.ml.feature import MinHashLSH, Tokenizer
    from pyspark.ml.fpm import FPGrowth

    rest = {"featuresCol": "vector", "predictionCol": "nearest"}
    stages = [
        partial(Tokenizer, inputCol="text", outputCol="words"),
        partial(MinHashLSH, inputCol="vector", outputCol="hashes", numHashTables=2, seed=1),
        partial(OneVsRest, classifier=partial(NaiveBayes, smoothing=0.5), **rest),
        partial(FPGrowth, itemsCol="basket", predictionCol="added", minSupport=0.1, minConfidence=0.1),
    ]
    return partial(Pipeline, stages=stages)


@pytest.fixture(scope="module")
def spark(engines):
    return engines.get("spark")


@pytest.fixture(scope="module")
def dataset(spark):
    return spark.from_arrow(TABLE, fragment_bytes=4000)


@pytest.fixture(scope="module")
def ratings(dataset):
    return ps.Pipeline(st.SparkMLEstimator(als(coldStartStrategy="drop"))).fit(dataset)


@pytest.fixture(scope="module")
def stars(dataset, ratings):
    """Predicted ratings of all rows."""
    return ratings.transform(dataset).to_arrow()["prediction"].to_numpy()


def built(maker):
    """The estimator that a partial stands for, and those in it."""
    parameters = {name: _built(value) for name, value in maker.keywords.items()}
    return maker.func(**parameters)


def _built(value):
    if isinstance(value, list):
        return [_built(each) for each in value]
    return built(value) if isinstance(value, partial) else value


def scored_by_spark(made, dataset, columns):
    """What Spark ML makes of the rows without this library, in order, vectors as lists."""
    from pyspark.ml.functions import array_to_vector

    frame = dataset.engine.to_spark(dataset).withColumn("vector", array_to_vector("vector")).cache()
    scored = made.fit(frame).transform(frame).orderBy("id").select(*columns)
    return [{name: _plain(row[name]) for name in columns} for row in scored.collect()]


def _equal(one, other):
    """Whether two values are the same, numbers to the last digits of float32, sets in any order."""
    if isinstance(one, list) and one and isinstance(one[0], str):
        return sorted(one) == sorted(other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one == pytest.approx(other, rel=1e-5, abs=1e-6)


def _plain(value):
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.toArray().tolist() if hasattr(value, "toArray") else value


def test_scores_of_a_saved_model_are_those_of_spark_ml(dataset, tmp_path):
    model = ps.Pipeline(st.SparkMLEstimator(of_all_kinds())).fit(dataset)
    model.save(tmp_path / "model")
    loaded = ps.PipelineModel.load(tmp_path / "model")
    assert loaded.digest == model.digest
    scored = loaded.transform(dataset)
    rows = scored.to_arrow()
    assert rows["id"].to_pylist() == list(range(ROWS))
    assert rows.schema == scored.schema
    made = loaded.stages[0].outputs()
    assert made == ("words", "hashes", "nearest", "rawPrediction", "added")
    expected = scored_by_spark(built(of_all_kinds()), dataset, made)
    for row, other in zip(rows.select(made).to_pylist(), expected, strict=True):
        for column in made:
            assert _equal(row[column], other[column]), column


def test_an_estimator_that_was_made_is_the_same_as_one_to_be_made(dataset):
    from pyspark.ml.clustering import LDA

    made = built(linear_svc())
    for given in (linear_svc(), made):
        stage = st.SparkMLEstimator(given).bind(dataset.schema)
        assert _values_of(stage.estimator.build()) == _values_of(made)
        assert stage.inputs() == ("vector",)
        assert stage.outputs() == ("side", "margin")
    topics = st.SparkMLEstimator(partial(LDA, featuresCol="vector")).bind(dataset.schema)
    assert topics.outputs() == ("topicDistribution",)


def _values_of(estimator):
    return {param.name: value for param, value in estimator.extractParamMap().items()}


def test_a_search_of_spark_ml_is_an_estimator_between_stages_of_this_library(dataset):
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.regression import LinearRegression
    from pyspark.ml.tuning import ParamGridBuilder, TrainValidationSplit

    regression = LinearRegression(labelCol="rating", predictionCol="stars")
    grid = ParamGridBuilder().addGrid(regression.regParam, [0.0, 1e6]).build()
    measure = RegressionEvaluator(labelCol="rating", predictionCol="stars")
    search = TrainValidationSplit(estimator=regression, estimatorParamMaps=grid, evaluator=measure, seed=1)
    stages = [
        st.VectorAssembler(("vector", "item"), output="features"),
        st.SparkMLEstimator(search),
        st.StandardScaler("stars"),
    ]
    model = ps.Pipeline(*stages).fit(dataset)
    stars = model.transform(dataset).to_arrow()["stars"].to_numpy()
    assert stars.mean() == pytest.approx(0, abs=1e-9)
    assert stars.std(ddof=1) == pytest.approx(1)
    assert "rating" not in model.input_columns
    assert model.stages[1].training_columns() == ("features", "rating")
    assert len(model.stages[1].fitted_model(dataset.engine, model.fitted[1]).validationMetrics) == 2


def test_a_transformer_scores_as_it_is_a_null_in_a_vector_as_nan(spark):
    from pyspark.ml.feature import VectorAssembler

    rows = pa.table(
        {"x": [1.0, 2.0], "row": [3.0, 4.0], "v": pa.array([[1.0, None], [2.0, 3.0]], pa.list_(pa.float32()))}
    )
    dataset = spark.from_arrow(rows)
    together = partial(VectorAssembler, inputCols=["x", "row", "v"], outputCol="all")
    found = ps.Pipeline(st.SparkMLEstimator(together)).fit(dataset).transform(dataset).to_arrow()["all"].to_pylist()
    np.testing.assert_array_equal(np.array(found, dtype=float), [[1.0, 3.0, 1.0, np.nan], [2.0, 4.0, 2.0, 3.0]])


@pytest.fixture
def shuffling(spark):
    """Has joins of Spark shuffle both sides."""
    name = "spark.sql.autoBroadcastJoinThreshold"
    before = spark.session.conf.get(name)
    spark.session.conf.set(name, "-1")
    yield
    spark.session.conf.set(name, before)


def test_other_rows_that_are_filtered_and_that_spark_shuffles_have_their_own_scores(spark, ratings, stars, shuffling):
    other = spark.from_arrow(TABLE.slice(7, 40), fragment_bytes=4000).filter(nw.col("user") > 2)
    found = ratings.transform(other).to_arrow()
    places = [place for place in range(7, 47) if TABLE["user"][place].as_py() > 2]
    assert found["id"].to_pylist() == places
    assert found["prediction"].to_numpy().tolist() == stars[places].tolist()


def test_scores_are_evaluated(dataset, ratings, stars):
    measured = ratings.evaluate(dataset, st.RegressionEvaluator(label="rating"))
    assert measured["mse"] == pytest.approx(((stars - TABLE["rating"].to_numpy()) ** 2).mean())


def test_the_fitted_model_is_that_of_spark_ml_and_scores_are_of_its_factors(dataset, ratings, stars):
    model = ratings.stages[0].fitted_model(dataset.engine, ratings.fitted[0])
    users, items = ({row.id: row.features for row in each.collect()} for each in (model.userFactors, model.itemFactors))
    pairs = zip(TABLE["user"].to_pylist(), TABLE["item"].to_pylist(), strict=True)
    assert stars == pytest.approx([np.dot(users[user], items[item]) for user, item in pairs], rel=1e-5)


def test_a_row_without_a_result_is_an_error(spark, ratings):
    unknown = spark.from_arrow(pa.table({"user": [1, 1000], "item": [1, 1]}))
    with pytest.raises(RowCountError, match="no value for some of the rows"):
        ratings.transform(unknown).to_arrow()


def test_another_engine_rows_by_themselves_and_a_search_of_this_library_refuse_it(local, dataset, ratings):
    rows, stage = local.from_arrow(TABLE), st.SparkMLEstimator(als())
    with pytest.raises(ConfigError, match=r"SparkMLEstimator of ALS is computed by Spark.*'local'"):
        ps.Pipeline(stage).fit(rows)
    for given in (rows, dataset.engine.to_spark(dataset)):
        with pytest.raises(ConfigError, match="is computed by Spark"):
            ratings.transform(given)
    with pytest.raises(ConfigError, match="no rows by themselves"):
        ratings.predict({"user": 1, "item": 1})
    grid = {"SparkMLEstimator.estimator": [als()]}
    search = ps.CrossValidator(ps.Pipeline(stage), grid, st.RegressionEvaluator(label="rating"), folds=2)
    with pytest.raises(ConfigError, match="Tune it by Spark ML"):
        search.fit(dataset)


def test_what_is_no_estimator_is_refused(spark):
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.feature import RFormula, SQLTransformer, VectorAssembler
    from pyspark.ml.recommendation import ALS

    class Foreign(VectorAssembler):
        """A transformer of a package of one's own."""

    for given, problem in (
        (3, "expected an Estimator or Transformer of Spark ML"),
        (partial(ALS, 3), "expected a class and its parameters, by name"),
        (Foreign, "Foreign is not from pyspark.ml or spark_rapids_ml"),
        (RegressionEvaluator, "expected an Estimator or Transformer"),
        (partial(ALS, userCol=object()), "cannot be stored without storing code"),
        (RFormula(formula="a ~ b"), "names columns in the text of 'formula'"),
        (SQLTransformer(statement="SELECT 1"), "names columns in the text of 'statement'"),
        (RegressionEvaluator(), "expected an Estimator or Transformer"),
    ):
        with pytest.raises(ConfigError, match=problem):
            st.SparkMLEstimator(given)


def test_columns_and_parameters_are_checked_before_anything_runs_and_told_with_the_stage(dataset):
    from pyspark.ml.feature import Tokenizer
    from pyspark.ml.recommendation import ALS

    for given, error, problem in (
        (partial(ALS, userCol="nowhere"), SchemaError, "nowhere"),
        (partial(Tokenizer, inputCol="text", outputCol="id"), ConfigError, "adds 'id', but there is a column of that"),
        (partial(ALS, rnk=3), ConfigError, "rnk"),
    ):
        with pytest.raises(error, match=problem):
            ps.Pipeline(st.SparkMLEstimator(given)).plan(dataset)
    stage = st.SparkMLEstimator(partial(ALS, userCol="text", itemCol="item"))
    with pytest.raises(ConfigError, match=r"SparkMLEstimator of ALS: .*numeric"):
        ps.Pipeline(stage).fit(dataset)


def changed(model, alter):
    """The model with other files."""
    state = dict(model.fitted[0])
    state["model"] = pa.Table.from_pylist([alter(dict(row)) for row in state["model"].to_pylist()])
    return ps.PipelineModel(model.stages, (state,), model.schema)


def test_a_model_that_names_a_class_of_another_package_is_not_loaded(dataset, ratings):
    def alter(row):
        if "metadata" in row["path"]:
            row["content"] = json.dumps({**json.loads(row["content"]), "class": "subprocess.Popen"}).encode()
        return row

    with pytest.raises(UntrustedArtifactError, match=r"'subprocess\.Popen', which is not Spark ML's own"):
        changed(ratings, alter).transform(dataset)


def test_a_model_with_a_file_outside_its_folder_is_not_loaded(dataset, ratings):
    for path in ("../out", "/etc/out", "a//b", ""):
        with pytest.raises(UntrustedArtifactError, match="outside its folder"):
            changed(ratings, lambda row, path=path: {**row, "path": path}).transform(dataset)


def test_a_model_that_names_what_lies_within_it_is_saved_and_loaded(dataset, tmp_path):
    from pyspark.ml.clustering import BisectingKMeans

    maker = partial(BisectingKMeans, k=2, maxIter=2, seed=1, featuresCol="vector", predictionCol="side")
    model = ps.Pipeline(st.SparkMLEstimator(maker)).fit(dataset)
    model.save(tmp_path / "model")
    sides = ps.PipelineModel.load(tmp_path / "model").transform(dataset).to_arrow()["side"].to_pylist()
    assert [{"side": side} for side in sides] == scored_by_spark(built(maker), dataset, ["side"])


def test_an_estimator_of_several_columns_makes_these_alone(spark):
    from pyspark.ml.feature import Imputer

    table = pa.table({"x": [1.0, float("nan"), 3.0], "y": [2.0, 4.0, float("nan")]})
    stage = st.SparkMLEstimator(partial(Imputer, inputCols=["x", "y"], outputCols=["filled x", "filled y"]))
    scored = ps.Pipeline(stage).fit(spark.from_arrow(table)).transform(spark.from_arrow(table)).to_arrow()
    assert scored.column_names == ["x", "y", "filled x", "filled y"]
    assert scored["filled y"].to_pylist() == [2.0, 4.0, 3.0]


def test_a_stage_of_a_saved_model_needs_no_spark_to_be_read(ratings, hide_modules, tmp_path):
    ratings.save(tmp_path / "model")
    hide_modules("pyspark")
    loaded = ps.PipelineModel.load(tmp_path / "model")
    assert loaded.input_columns == ["user", "item"]
    rows = ps.LocalEngine(device="cpu").from_arrow(TABLE)
    with pytest.raises(ConfigError, match="is computed by Spark"):
        loaded.transform(rows)
