"""How the engine on Spark shares executors with others, and what it has Spark do about slow tasks."""

from typing import Any

import pytest

import penstock as ps
from penstock.errors import ConfigError

POOL = "spark.scheduler.pool"


def pool_of(item: int) -> str | None:
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(POOL)


@pytest.fixture
def spark(engines: Any, request: pytest.FixtureRequest) -> Any:
    if request.config.getoption("--connect"):
        pytest.skip("a client of Spark Connect has no say in it")
    started: Any = engines.get("spark")
    return started


@pytest.mark.spark
def test_jobs_run_in_the_pool_of_their_engine_and_others_do_not(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    pooled = ps.SparkEngine(spark.session, device="cpu", pool="etl")
    assert list(pooled.map(pool_of, range(2))) == ["etl", "etl"]
    assert list(spark.map(pool_of, range(1))) == [None]
    assert "pool is 'etl', and has no effect: spark.scheduler.mode is FIFO" in caplog.text


@pytest.mark.spark
def test_a_session_that_is_started_here_runs_slow_tasks_twice(spark: Any) -> None:
    conf = spark.session.sparkContext.getConf()
    assert (conf.get("spark.speculation"), conf.get("spark.speculation.minTaskRuntime")) == ("true", "2s")


def test_a_pool_is_refused_on_spark_connect() -> None:
    from penstock.engines.spark.driver import driver_of

    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(ConfigError, match="pool is 'etl', but a client of Spark Connect"):
        driver_of(session, "etl")
