"""Vectors of MLlib in frames of Spark: in, through a model, and into MLlib again."""

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")]

ROWS = [[1.0, 0.0, 2.5], [0.0, 0.0, -1.0], [3.0, 4.0, 0.0], [2.0, -2.0, 8.0]]


@pytest.fixture(scope="module")
def spark(engines):
    return engines.get("spark")


@pytest.fixture(scope="module")
def frame(spark):
    from pyspark.ml.linalg import Vectors as MlVectors
    from pyspark.mllib.linalg import Vectors as MllibVectors

    rows = [
        (index, MlVectors.dense(row), MlVectors.sparse(3, dict(enumerate(row))), MllibVectors.dense(row))
        for index, row in enumerate(ROWS)
    ]
    return spark.session.createDataFrame(rows, ["id", "a.b", "s", "m"])


def test_a_dataset_has_lists_in_the_place_of_vectors(spark, frame):
    table = spark.from_spark(frame).to_arrow().sort_by("id")
    for name in ("a.b", "s", "m"):
        assert table.schema.field(name).type == pa.list_(pa.float64())
        assert table[name].to_pylist() == ROWS


def test_a_model_of_lists_scores_frames_of_vectors(spark, frame):
    table = pa.table({"s": ROWS, "id": range(4)})
    local = ps.LocalEngine(device="cpu")
    model = ps.Pipeline(st.StandardScaler("s"), st.KMeans("s", k=2)).fit(local.from_arrow(table))
    expected = model.transform(local.from_arrow(table)).to_arrow()
    scored = sorted(model.transform(frame).select("id", "s", "prediction").collect())
    assert [row.prediction for row in scored] == expected["prediction"].to_pylist()
    assert [row.s for row in scored] == expected["s"].to_pylist()


def test_what_an_assembler_of_mllib_made_trains_a_model(spark):
    from pyspark.ml.feature import VectorAssembler

    names = ["x", "y", "z"]
    rows = spark.session.createDataFrame(ROWS, names)
    assembled = VectorAssembler(inputCols=names, outputCol="features").transform(rows)
    model = ps.Pipeline(st.PCA("features", 2)).fit(spark.from_spark(assembled))
    columns = {name: [row[place] for row in ROWS] for place, name in enumerate(names)}
    expected = ps.Pipeline(st.PCA(names, 2)).fit(ps.LocalEngine(device="cpu").from_arrow(pa.table(columns)))
    assert model.fitted[0]["components"] == expected.fitted[0]["components"]
