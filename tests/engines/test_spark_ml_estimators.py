"""All estimators of Spark ML as stages: each is fitted, saved and loaded, or refused before it is fitted."""

from inspect import signature

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError

pytestmark = [
    pytest.mark.spark,
    pytest.mark.exhaustive,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool"),  # PySpark's own, of OneVsRest
]

MODULES = ("classification", "clustering", "feature", "fpm", "recommendation", "regression")
FEW = {"maxIter": 1, "numTrees": 2, "seed": 1, "k": 2, "vectorSize": 2, "rank": 2, "factorSize": 2, "bucketLength": 1.0}
ONE = {"outputCol": "made"}
PARAMS = {
    "AFTSurvivalRegression": {"labelCol": "rating"},
    "ChiSqSelector": {"featuresCol": "counts", **ONE},
    "CountVectorizer": {"inputCol": "words", **ONE},
    "Imputer": {"inputCols": ["x", "y"], "outputCols": ["filled x", "filled y"]},
    "IsotonicRegression": {"featuresCol": "x"},
    "LDA": {"featuresCol": "counts"},
    "MultilayerPerceptronClassifier": {"layers": [3, 2]},
    "NaiveBayes": {"featuresCol": "counts"},
    "OneHotEncoder": {"inputCols": ["index"], "outputCols": ["hot"]},
    "QuantileDiscretizer": {"inputCols": ["x", "y"], "outputCols": ["bin x", "bin y"], "numBuckets": 2},
    "StringIndexer": {"inputCols": ["text"], "outputCols": ["indexed"]},
    "TargetEncoder": {"inputCols": ["index"], "outputCols": ["encoded"]},
    "Word2Vec": {"inputCol": "words", **ONE},
}
REFUSED = {"RFormula": ({"formula": "label ~ x"}, "names columns in the text of 'formula'")}
ROWS, RNG = 40, np.random.default_rng(0)
VECTORS = RNG.random((ROWS, 3))
TABLE = pa.table(
    {
        "user": RNG.integers(0, 9, ROWS),
        "item": RNG.integers(0, 7, ROWS),
        "rating": RNG.integers(1, 6, ROWS).astype(float),
        "features": VECTORS.tolist(),
        "counts": RNG.integers(0, 3, (ROWS, 3)).astype(float).tolist(),
        "label": (VECTORS.sum(axis=1) > 1.5).astype(float),
        "censor": np.ones(ROWS),
        "words": [list(RNG.choice(["a", "b", "c"], 4)) for _ in range(ROWS)],
        "items": [sorted(set(RNG.choice(["tea", "milk", "bread"], 2))) for _ in range(ROWS)],
        "text": RNG.choice(["x", "y"], ROWS).tolist(),
        "index": RNG.integers(0, 3, ROWS).astype(float),
        "x": RNG.random(ROWS),
        "y": RNG.random(ROWS),
    }
)


def estimators():
    """Yield every estimator class of Spark ML, with parameters that make it small."""
    from importlib import import_module

    from pyspark.ml import Estimator

    for module in map(import_module, (f"pyspark.ml.{name}" for name in MODULES)):
        for name in module.__all__:
            kind = getattr(module, name)
            if isinstance(kind, type) and issubclass(kind, Estimator) and name not in REFUSED:
                known = signature(kind).parameters
                own = PARAMS.get(name, {"inputCol": "features", **ONE} if "inputCol" in known else {})
                own = {**own, "outputCol": "made"} if "outputCol" in known and "outputCols" not in own else own
                yield kind, {key: value for key, value in FEW.items() if key in known} | own


def made(kind, params):
    """Return the estimator, with what its class does not take when it is made."""
    from pyspark.ml.classification import LogisticRegression

    if kind.__name__ == "OneVsRest":
        params = {**params, "classifier": LogisticRegression(maxIter=1)}
    estimator = kind(**params)
    if kind.__name__ == "UnivariateFeatureSelector":
        return estimator.setFeatureType("continuous").setLabelType("categorical")
    return estimator


def test_every_estimator_of_spark_ml_is_fitted_saved_and_loaded(engines, subtests, tmp_path):
    spark = engines.get("spark")
    dataset = spark.from_arrow(TABLE)
    for kind, params in estimators():
        with subtests.test(kind.__name__):
            model = ps.Pipeline(st.SparkMLEstimator(made(kind, params))).fit(dataset)
            model.save(tmp_path / kind.__name__)
            scores = ps.PipelineModel.load(tmp_path / kind.__name__).transform(dataset).to_arrow()
            assert scores.equals(model.transform(dataset).to_arrow())
            assert scores.num_rows == ROWS


def test_an_estimator_that_names_columns_in_a_text_is_refused_before_it_is_fitted(engines, subtests):
    from pyspark.ml import feature

    engines.get("spark")
    for name, (params, problem) in REFUSED.items():
        with subtests.test(name), pytest.raises(ConfigError, match=problem):
            st.SparkMLEstimator(getattr(feature, name)(**params))
