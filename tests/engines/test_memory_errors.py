"""Running out of memory is told as such on every engine: with files, the size of the work, the limit, and a hint."""

import pickle
import resource
from typing import Any
from unittest.mock import Mock

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from error_bodies import Raises, takes, user_runs_out

from penstock import frames
from penstock.cli.reporting import describe
from penstock.dataset.task_errors import translate_errors
from penstock.engines.spark.job_errors import loss
from penstock.errors import ConfigError, CorruptFileError, MemoryLimitError, WorkerLostError
from penstock.io import memory_errors
from penstock.io.fragments import Fragment, Piece

FRAGMENTS = [
    Fragment(index, 10 * index, (Piece(f"{index}.parquet", 0, 4, size=2**20), Piece("z.parquet", 0, 6, size=2**20)))
    for index in range(3)
]
WORK = "it worked on 10 rows from files of 2.0 MiB"


def test_a_task_that_runs_out_of_memory_names_its_files_their_size_and_the_limit(engine):
    for kind, words in (
        ("memory", "MemoryError: of Python"),
        ("arrow", "ArrowMemoryError: malloc of size 1073741824 failed"),
        ("system", r"OSError: \[Errno 12\] Cannot allocate memory"),
    ):
        told = rf"^a task raised {words}; {WORK}; its process can have \d"
        with pytest.raises(MemoryLimitError, match=told) as caught:
            engine.reduce(Raises(kind), max, FRAGMENTS)
        assert (caught.value.path, caught.value.partition) == ("1.parquet, z.parquet", 1)
        assert caught.value.hint is not None
        assert "fragment_bytes" in caught.value.hint


def test_a_function_of_the_users_that_runs_out_of_memory_is_named(engine):
    mapped = engine.from_arrow(pa.table({"x": [1]})).map_partitions(user_runs_out, {"x": "int64"})
    with pytest.raises(MemoryLimitError, match=r"^map_partitions\(user_runs_out\) raised MemoryError: .*1 rows of 8 B"):
        mapped.to_arrow()


def test_a_file_that_does_not_fit_in_memory_is_not_told_as_damaged(local, tmp_path, monkeypatch):
    pq.write_table(pa.table({"x": range(1000)}), tmp_path / "a.parquet")
    data = local.read_parquet(tmp_path / "a.parquet")
    of_polars = pl.exceptions.ComputeError("Cannot allocate memory (os error 12)")
    for error in (MemoryError("std::bad_alloc"), of_polars):  # the first as RAPIDS says it
        monkeypatch.setattr(frames, "read_parquet", Mock(side_effect=error))
        with pytest.raises(MemoryLimitError, match=r"^a task raised .*1,000 rows from files of \d.* KiB") as caught:
            data.to_arrow()
        assert caught.value.path == str(tmp_path / "a.parquet")


def test_a_picture_is_not_called_broken_where_memory_is_out(monkeypatch):
    pillow = pytest.importorskip("penstock.stages.preprocessing.images._pillow")

    monkeypatch.setattr(pillow.Image, "open", Mock(side_effect=MemoryError))
    with pytest.raises(MemoryError):
        pillow.Decoder((2, 2), "L", True, 2, 100)(b"")


def test_what_runs_out_of_memory_is_told_from_other_errors():
    out = type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory"), RuntimeError("[10:00] std::bad_alloc")
    assert [memory_errors.is_out_of_memory(error) for error in out] == [True, True]
    assert not memory_errors.is_out_of_memory(ValueError("'out of memory' is no number"))


def test_the_memory_of_the_host_is_not_told_as_that_of_a_gpu():
    assert memory_errors.shortage(MemoryError("std::bad_alloc: out_of_memory: CUDA error"), FRAGMENTS[0]) == WORK


def test_a_limit_of_addresses_is_told_where_it_is_less(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**20, 2**20))
    assert memory_errors.shortage(MemoryError()) == "its process can have 1.0 MiB of addresses (ulimit -v)"


def test_the_error_pickles_keeps_old_clauses_working_and_is_one_of_execution():
    with pytest.raises(MemoryLimitError) as caught:
        translate_errors(Raises("memory"))(FRAGMENTS[1])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.place) == (str(caught.value), caught.value.place)
    assert isinstance(again, WorkerLostError)
    assert isinstance(again, MemoryError)
    assert describe(again)["exit_code"] == 4


def test_an_error_of_another_kind_stays_what_it_is():
    for error in (ConfigError("x is 1"), CorruptFileError("cut off")):
        error.__context__ = MemoryError()
        with pytest.raises(type(error)):
            translate_errors(Mock(side_effect=error))(FRAGMENTS[0])


@pytest.mark.dask
@pytest.mark.faults
def test_a_worker_that_its_nanny_ends_for_memory_is_told_with_limit_and_files():
    import dask
    import distributed

    from penstock.engines.dask import DaskEngine

    arguments: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "600MiB"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(dashboard_address="127.0.0.1:0", **arguments) as cluster,
        cluster.get_client() as client,
        DaskEngine(client, device="cpu") as engine,
        pytest.raises(MemoryLimitError) as caught,
    ):
        list(engine.map(takes, FRAGMENTS[1:2], label="probe"))
    words = r"probe: fragment 1 \(1.parquet, z.parquet\), 10 rows from files of 2.0 MiB, ended 1 workers, .*"
    assert (caught.value.path, caught.value.partition) == ("1.parquet, z.parquet", 1)
    assert caught.match(words + r" had [\d.]+ [MG]iB of its memory_limit of 600.0 MiB")


SETTINGS = {"spark.executor.memory": "4g"}


def test_what_spark_says_of_an_executor_that_was_ended_for_memory_is_understood():
    for text in (
        "ExecutorLostFailure (executor 2 exited) Reason: The executor with id 2 exited with exit code 137(SIGKILL,"
        " possible container OOM).",
        "ExecutorLostFailure Reason: Container killed by YARN for exceeding physical memory limits. 5.5 GB of 5.5 GB",
        "Container from a bad node: container_1 on host: a. Exit status: 137. Diagnostics: killed on request.",
        "ExecutorLostFailure Reason: Command exited with code 137",
        "Task 1 in stage 0.0 failed 4 times: java.lang.OutOfMemoryError: Java heap space",
    ):
        error = loss("scan", text, "the reason", FRAGMENTS[1], SETTINGS)
        assert isinstance(error, MemoryLimitError), text
        assert "fragment 1 (1.parquet, z.parquet), 10 rows from files of 2.0 MiB" in error.message
        assert "spark.executor.memory is 4g, spark.executor.memoryOverhead is not set" in error.message


def test_another_loss_of_spark_is_not_put_down_to_memory():
    lost = loss("scan", "Python worker exited unexpectedly (crashed)", "it crashed", FRAGMENTS[1], SETTINGS)
    assert type(lost) is WorkerLostError
    assert loss("scan", "AnalysisException: no column x", "no column x", None, SETTINGS) is None
