"""Streams of Spark: refused where rows must end, scored batch by batch."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError

pytestmark = [pytest.mark.spark]

LEARNED = pa.table({"x": [1.0, 2.0, None, 6.0]})


@pytest.fixture(scope="module")
def spark(engines):
    shared = engines.get("spark")
    return shared if shared.kind == "cpu" else ps.SparkEngine(shared.session, device="cpu")


@pytest.fixture(scope="module")
def model():
    return ps.Pipeline(st.Imputer("x"), st.StandardScaler("x")).fit(ps.LocalEngine(device="cpu").from_arrow(LEARNED))


@pytest.fixture
def stream(spark, tmp_path):
    """Two files, each a batch."""
    (tmp_path / "arriving").mkdir()
    pq.write_table(pa.table({"x": [1.0, None, 3.0]}), tmp_path / "arriving" / "a.parquet")
    pq.write_table(pa.table({"x": [5.0]}), tmp_path / "arriving" / "b.parquet")
    reader = spark.session.readStream.schema("x double").option("maxFilesPerTrigger", 1)
    return reader.parquet(str(tmp_path / "arriving"))


def test_a_stream_is_refused_with_the_way_to_score_its_batches(stream, spark, model):
    for take in (
        spark.from_spark,
        spark.from_arrow,
        ps.Pipeline(st.Imputer("x")).fit,
        model.predict,
        lambda rows: ps.evaluate(rows, [st.RegressionEvaluator()]),
    ):
        with pytest.raises(ConfigError, match="is a stream") as caught:
            take(stream)
        assert "foreachBatch" in str(caught.value.hint)


def test_batches_of_a_stream_are_scored_as_their_rows_at_once(spark, stream, model, tmp_path):
    staged = []

    def score(batch, number):
        rows = spark.from_spark(batch)
        staged.append(Path(rows.fragments[0].paths[0]))
        model.transform(rows).write_parquet(tmp_path / "scores" / str(number), overwrite=True)

    writer = stream.writeStream.foreachBatch(score).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(240)
    scores = [number for folder in (tmp_path / "scores").iterdir() for number in pq.read_table(folder)["x"].to_pylist()]
    assert sorted(scores) == sorted(row["x"] for row in model.predict([{"x": x} for x in (1.0, None, 3.0, 5.0)]))
    assert len(staged) == 2


def test_what_from_spark_staged_goes_with_its_dataset(spark):
    dataset = spark.from_spark(spark.session.range(3))
    file = Path(dataset.fragments[0].paths[0])
    assert file.is_file()
    del dataset
    assert not file.exists()


def test_only_a_frame_of_spark_is_taken_from_spark(spark):
    for value in (LEARNED, None, "table"):
        with pytest.raises(ConfigError, match="takes a DataFrame of Spark"):
            spark.from_spark(value)


def test_a_column_of_spark_is_no_name_and_no_condition(spark):
    from pyspark.sql import functions

    data, column = spark.from_arrow(LEARNED), functions.col("x")
    for take in (st.StandardScaler, lambda given: st.Imputer([given]), data.select):
        with pytest.raises(ConfigError, match=r"named by pyspark\.Column, expected strings"):
            take(column)
    with pytest.raises(ConfigError, match=r"is pyspark\.Column, expected text"):
        st.Expect(column > 0)
    with pytest.raises(ConfigError, match=r"is pyspark\.Column, expected an expression of Narwhals"):
        data.filter(column > 0)
