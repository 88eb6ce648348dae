"""Frames of Spark and Dask, in and out: lazily, without files, in the numbers of datasets."""

import datetime as dt
from functools import partial

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset.batches import batch_task
from penstock.dataset.steps import Step
from penstock.errors import BadRowsError, ConfigError, SchemaDriftError

TABLE = pa.table(
    {
        "x": pa.array([1.5, None, 3.0, 4.0, -0.0, 2.5]),
        "n": pa.array([1, 2, None, 4, 5, 6], pa.int32()),
        "s": ["a", None, "", "d\n", "ü", "a"],
        "day": pa.array([dt.date(2024, 2, 29)] * 5 + [None]),
        "at": pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 999999)] * 6, pa.timestamp("us", "UTC")),
        "l": pa.array([[1.0, None], [], None, [2.0], [3.0], [4.0]], pa.list_(pa.float64())),
        "y": [True, False, True, False, True, False],
    }
)


class SetAside(Step):
    """Sets all rows aside, and knows of none which it is."""

    keeps_rows = False
    label = "set aside"

    def output_schema(self, schema):
        return schema

    def needs(self, wanted):
        return wanted

    def apply(self, frame, log):
        log.quarantined["odd"] = len(frame)
        return frame.head(0)


@pytest.fixture(scope="module")
def model():
    rows = ps.LocalEngine(device="cpu").from_arrow(TABLE)
    return ps.Pipeline(
        st.Imputer("x"), st.StandardScaler("x"), st.StringIndexer("s"), st.LogisticRegression("y", features=["x"])
    ).fit(rows)


@pytest.fixture(scope="module")
def scored(model):
    return model.transform(ps.LocalEngine(device="cpu").from_arrow(TABLE)).to_arrow()


@pytest.mark.spark
class TestSpark:
    @pytest.fixture
    def spark(self, engines):
        return engines.get("spark")

    def test_a_dataset_becomes_a_frame_of_the_same_rows(self, spark):
        data = spark.from_arrow(TABLE, fragment_bytes=200)
        assert len(data.fragments) > 1
        frame = data.filter(nw.col("y")).to_spark()
        assert frame.rdd.getNumPartitions() == len(data.fragments)
        assert frame.toArrow().cast(TABLE.schema) == data.filter(nw.col("y")).to_arrow()

    def test_what_a_query_has_made_is_there_while_the_engine_is(self, spark):
        frame = spark.from_arrow(TABLE).group_by("y").agg(n="sum").sort("y").to_spark()
        assert [tuple(row) for row in frame.collect()] == [(False, 12), (True, 6)]

    def test_a_frame_is_transformed_to_the_numbers_of_a_dataset(self, spark, model, scored):
        frame = spark.from_arrow(TABLE, fragment_bytes=200).to_spark()
        made = model.transform(frame)
        assert made.columns == scored.column_names
        assert made.toArrow().cast(scored.schema) == scored

    def test_a_column_that_is_missing_is_told_before_anything_runs(self, spark, model):
        with pytest.raises(SchemaDriftError, match="was fitted on: x"):
            model.transform(spark.from_arrow(TABLE.drop(["x"])).to_spark())

    def test_a_stream_is_scored_batch_by_batch(self, spark, model, scored, tmp_path):
        """Files that arrive one by one; a query that is not told to end would wait for more."""
        for place, part in enumerate((TABLE.slice(0, 2), TABLE.slice(2))):
            pa.parquet.write_table(part, tmp_path / f"{place}.parquet")
        session = spark.session
        schema = session.read.parquet(str(tmp_path / "0.parquet")).schema
        stream = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path))
        seen = []
        query = (
            model.transform(stream)
            .writeStream.foreachBatch(lambda frame, number: seen.append(frame.toArrow()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(240)
        assert len(seen) == 2
        made = pa.concat_tables(each.cast(scored.schema) for each in seen)
        assert made.sort_by([("n", "ascending")]) == scored.sort_by([("n", "ascending")])

    def test_a_model_is_a_function_of_columns_and_of_sql(self, spark, model, scored):
        frame = spark.from_arrow(TABLE, fragment_bytes=200).to_spark()
        frame.createOrReplaceTempView("rows_to_score")
        spark.session.udf.register("score", model.to_spark_udf("probability"))
        by_column = frame.withColumn("made", model.to_spark_udf()(*model.input_columns)).select("made.*").toArrow()
        by_name = spark.session.sql(f"SELECT score({', '.join(model.input_columns)}) made FROM rows_to_score").toArrow()
        assert by_column.cast(scored.select(by_column.column_names).schema) == scored.select(by_column.column_names)
        assert by_name["made"].to_pylist() == scored["probability"].to_pylist()

    def test_a_session_of_ones_own_runs_functions_on_this_python(self, spark, model, scored, monkeypatch, subtests):
        session, context = spark.session, spark.session.sparkContext
        frame, right = session.createDataFrame(TABLE), scored["probability"].to_pylist()
        score = partial(model.to_spark_udf, "probability")

        def by_name():
            session.udf.register("score_here", score())
            return frame.selectExpr(f"score_here({', '.join(model.input_columns)}) AS probability")

        ways = {
            "an engine": lambda: model.transform(ps.SparkEngine(session, device="cpu").from_arrow(TABLE)).to_spark(),
            "a frame": lambda: model.transform(frame),
            "a function": lambda: frame.select(
                model.to_spark_udf("probability")(*model.input_columns).alias("probability")
            ),
            "a function of SQL": by_name,
        }
        monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
        for name, run in ways.items():
            with subtests.test(name), monkeypatch.context() as another:
                another.setattr(context, "pythonExec", "/another/python3")
                another.setattr(context, "environment", {})
                assert run().toArrow()["probability"].to_pylist() == right

    def test_rows_that_come_in_many_batches_are_scored_in_their_order(self, spark, model, scored):
        from penstock.engines.spark.query import set_for

        frame = spark.from_arrow(TABLE).to_spark()
        with set_for(spark.session, {"spark.sql.execution.arrow.maxRecordsPerBatch": "2"}):
            as_frame = model.transform(frame).toArrow()["probability"]
            by_column = frame.select(model.to_spark_udf("probability")(*model.input_columns).alias("p")).toArrow()["p"]
        assert as_frame.to_pylist() == by_column.to_pylist() == scored["probability"].to_pylist()

    def test_batches_are_put_together_until_they_are_enough(self):
        from penstock.engines.spark.staging import grouped

        for rows, expected in (([], []), ([3, 4, 5, 6], [[3, 4, 5], [6]]), ([12, 1], [[12], [1]])):
            groups = grouped((pa.record_batch({"x": range(count)}) for count in rows), 10)
            assert [[batch.num_rows for batch in group] for group in groups] == expected

    def test_a_function_takes_columns_of_other_types_as_a_frame_does(self, spark, model, scored):
        frame = spark.from_arrow(TABLE).to_spark().selectExpr("cast(x as float) as x", "s")
        made = frame.select(model.to_spark_udf("prediction")("x", "s").alias("made")).toArrow()["made"]
        assert made.to_pylist() == scored["prediction"].to_pylist()

    def test_what_leaves_rows_out_is_no_function_of_columns(self, local):
        dropping = ps.Pipeline(st.DropNulls("x"), st.StandardScaler("x")).fit(local.from_arrow(TABLE))
        with pytest.raises(ConfigError, match="to_spark_udf: DropNulls leaves rows out"):
            dropping.to_spark_udf("x")


@pytest.mark.dask
class TestDask:
    @pytest.fixture
    def dask(self, engines):
        return engines.get("dask")

    def test_a_dataset_becomes_a_frame_of_the_same_rows(self, dask):
        data = dask.from_arrow(TABLE, fragment_bytes=200)
        frame = data.filter(nw.col("y")).to_dask()
        assert frame.npartitions == len(data.fragments) > 1
        computed = dask.client.compute(frame).result()
        assert pa.Table.from_pandas(computed, schema=TABLE.schema, preserve_index=False) == (
            data.filter(nw.col("y")).to_arrow()
        )

    def test_a_frame_is_transformed_to_the_numbers_of_a_dataset(self, dask, model, scored):
        frame = dask.from_arrow(TABLE, fragment_bytes=200).to_dask()
        made = model.transform(frame)
        assert list(made.columns) == scored.column_names
        computed = dask.client.compute(made).result()
        assert pa.Table.from_pandas(computed, schema=scored.schema, preserve_index=False) == scored

    def test_a_frame_keeps_its_labels(self, model):
        import dask.dataframe as dd

        pandas = TABLE.to_pandas().set_index(pa.array(list("uvwxyz")).to_pandas())
        made = model.transform(dd.from_pandas(pandas, npartitions=2)).compute(scheduler="synchronous")
        assert list(made.index) == list("uvwxyz")


class TestOthers:
    def test_an_engine_without_frames_of_that_kind_says_which_has_them(self, local):
        for method, owner in (("to_spark", "SparkEngine"), ("to_dask", "DaskEngine")):
            with pytest.raises(ConfigError, match=f"needs a dataset of a {owner}"):
                getattr(local.from_arrow(TABLE), method)()

    def test_rows_that_a_rule_drops_are_dropped(self, local):
        import dask.dataframe as dd

        model = ps.Pipeline(st.DropNulls("x"), st.Imputer("n")).fit(local.from_arrow(TABLE))
        frame = dd.from_pandas(TABLE.select(["x", "n"]).to_pandas(), npartitions=2)
        assert len(model.transform(frame).compute(scheduler="synchronous")) == 5

    def test_what_goes_by_row_numbers_is_refused_before_anything_runs(self, local):
        import dask.dataframe as dd

        rule = ps.Pipeline(st.Expect("n > 1", action="quarantine")).fit(local.from_arrow(TABLE))
        frame = dd.from_pandas(TABLE.select(["n"]).to_pandas(), npartitions=1)
        with pytest.raises(ConfigError, match="goes by the numbers of rows"):
            rule.transform(frame)

    def test_rows_are_not_set_aside_in_silence(self, local):
        task = batch_task(TABLE.schema, lambda dataset: dataset.with_step(SetAside()), local)
        with pytest.raises(BadRowsError, match=r"6 row\(s\) of a batch are to be set aside \(odd\)"):
            task(TABLE)
