"""The engine on Spark: order, errors, reduction, gangs and their faults, sessions given and started."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyspark import SparkConf, cloudpickle
from spark_bodies import AddUp

import penstock
from penstock import devices
from penstock.core.progress import Progress
from penstock.core.recording import Recorder, recording
from penstock.core.scheduler import map_all
from penstock.engines.local import LocalEngine
from penstock.engines.spark import SparkEngine, cluster, session, tasks
from penstock.errors import ConfigError, DataValueError, ExecutionError, UserCodeError, WorkerLostError
from penstock.io.sources.files import InputFile
from penstock.spmd import SpmdOptions

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def spark(engines):
    """The session of the run, on CPUs: two ranks, where there may be one GPU."""
    shared = engines.get("spark")
    return shared if shared.kind == "cpu" else SparkEngine(shared.session, device="cpu")


@pytest.fixture
def numbers(spark):
    """0 to 99 in ten fragments; their sum is 4950."""
    dataset = spark.from_arrow(pa.table({"x": range(100)}), fragment_bytes=80)
    assert len(dataset.fragments) == 10
    return dataset


def attempts_in(folder):
    """Return a task that leaves a file in `folder` each time it is called, and raises for item 1."""

    def task(item):
        (Path(folder) / f"{item}-{os.urandom(4).hex()}").touch()
        if item == 1:
            raise DataValueError("x is infinite", column="x", row=7)
        return item

    return task


def test_results_come_in_the_order_of_the_items(spark):
    def slow_when_early(item):
        time.sleep(0.3 if item == 0 else 0)
        return item * item

    assert list(spark.map(slow_when_early, range(6))) == [0, 1, 4, 9, 16, 25]


def test_no_items_give_no_results(spark):
    assert list(spark.map(abs, [])) == []


def test_error_keeps_its_type_and_place_and_is_not_tried_again(spark, tmp_path):
    with pytest.raises(DataValueError, match="x is infinite") as caught:
        list(spark.map(attempts_in(tmp_path), range(3)))
    assert (caught.value.column, caught.value.row) == ("x", 7)
    assert len(list(tmp_path.glob("1-*"))) == 1


def test_error_shows_the_traceback_of_the_worker(spark, tmp_path):
    with pytest.raises(DataValueError) as caught:
        list(spark.map(attempts_in(tmp_path), range(3)))
    assert "in task" in str(caught.value.__cause__)


def test_error_ends_the_other_tasks(spark):
    def task(item):
        if item == 0:
            raise DataValueError("at once")
        time.sleep(60)

    start = time.monotonic()
    with pytest.raises(DataValueError):
        list(spark.map(task, range(4)))
    assert time.monotonic() - start < 50


def test_foreign_error_is_told_by_its_own_words(spark):
    def task(item):
        if item == 1:
            raise ZeroDivisionError("seven by\nnothing")

    with pytest.raises(ExecutionError, match=r"^a task raised ZeroDivisionError: seven by\\nnothing$"):
        list(spark.map(task, [0, 1], label="probe"))


def test_killed_worker_is_noticed_by_no_scan_but_its_record(spark, tmp_path):
    marker = tmp_path / "killed"

    def task(item):
        if item == 2 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with recording(Recorder()) as recorder:
        assert list(map_all(spark, task, range(5), label="probe")) == list(range(5))
    assert marker.exists()
    assert sorted(record.attempt for record in recorder.tasks) == [0, 0, 0, 0, 1]


def test_worker_that_always_dies_is_reported_with_its_partition(spark):
    def task(item):
        if item.path == "part-1.parquet":
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(WorkerLostError, match=r"lost a worker on part-1.parquet .*exited unexpectedly") as caught:
        list(spark.map(task, [InputFile(f"part-{index}.parquet", 0, 0.0) for index in range(2)]))
    assert (caught.value.partition, caught.value.path) == (1, "part-1.parquet")


@pytest.mark.parametrize("count", [1, 8, 9, 20, 65])
def test_reduction_has_the_shape_of_the_local_one(spark, count):
    def letter(item):
        return chr(ord("a") + item % 26)

    def join(parts):
        return "(" + "".join(parts) + ")"

    expected = LocalEngine(device="cpu").reduce(letter, join, range(count))
    assert spark.reduce(letter, join, range(count)) == expected


def test_first_error_of_a_reduction_wins(spark):
    def task(item):
        if item in (3, 15):
            raise DataValueError(f"item {item}")
        return item

    with pytest.raises(DataValueError, match="item 3"):
        spark.reduce(task, max, range(20))


def test_error_while_merging_is_raised(spark):
    def merge(parts):
        raise DataValueError(f"parts of {type(parts[0]).__name__}")

    with pytest.raises(DataValueError, match="parts of int"):
        spark.reduce(int, merge, range(9))


def test_libraries_of_a_worker_use_the_cores_of_its_task(spark):
    def threads(item):
        import polars

        return polars.thread_pool_size(), os.environ["OMP_NUM_THREADS"]

    assert set(spark.map(threads, range(4))) == {(1, "1")}


def test_other_jobs_of_the_session_keep_their_threads(spark):
    list(spark.map(abs, [1]))
    context = spark.session.sparkContext
    seen = context.parallelize([0], 1).map(lambda _: os.environ.get("POLARS_MAX_THREADS")).collect()
    assert seen == [context._jvm.System.getenv("POLARS_MAX_THREADS")]


def test_progress_counts_the_items(spark):
    class Counted(Progress):
        def __init__(self):
            self.total = self.seen = 0

        def track(self, label, total):
            self.total += total
            return self

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def advance(self, parts=1, detail=""):
            self.seen += parts

    before, spark.progress = spark.progress, Counted()
    try:
        spark.reduce(int, max, range(20))
        assert (spark.progress.total, spark.progress.seen) == (20, 20)
    finally:
        spark.progress = before


def test_interrupt_cancels_the_job(spark):
    def interrupt():
        time.sleep(1.5)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        list(spark.map(lambda item: time.sleep(60), range(2)))
    start = time.monotonic()
    assert list(spark.map(abs, [-1, -2])) == [1, 2]  # the slots are free
    assert time.monotonic() - start < 40  # those that were interrupted would have taken 60 s


def test_dataset_is_read_by_the_workers(numbers):
    assert numbers.to_arrow()["x"].to_pylist() == list(range(100))


def test_ranks_add_up_all_rows(spark, numbers):
    result = spark.spmd(AddUp(rounds=3), {"train": numbers}, SpmdOptions(world_size=2))
    assert result == {"total": 3 * 4950.0, "rows": [50.0, 50.0], "threads": 1, "from": 0}


def test_one_rank_has_all_cores_of_this_machine_unless_told(spark, numbers):
    result = spark.spmd(AddUp(rounds=1), {"train": numbers}, SpmdOptions())
    assert result == {"total": 4950.0, "rows": [100.0], "threads": 2, "from": 0}


def test_rank_without_rows_takes_part(spark):
    one = spark.from_arrow(pa.table({"x": [5.0]}))
    result = spark.spmd(AddUp(rounds=2), {"train": one}, SpmdOptions(world_size=2))
    assert result["total"] == 10.0
    assert sorted(result["rows"]) == [0.0, 1.0]


def test_an_elastic_training_begins_on_the_slots_that_are_there(spark, numbers):
    for most, ranks in ((None, 2), (1, 1), (3, 2)):
        result = spark.spmd(AddUp(rounds=1), {"train": numbers}, SpmdOptions(world_size=most, elastic=True))
        assert (result["total"], len(result["rows"])) == (4950.0, ranks)


def test_more_ranks_than_slots_are_refused_at_once(spark, numbers):
    with pytest.raises(ConfigError, match="world_size is 3, but Spark runs 2"):
        spark.spmd(AddUp(), {"train": numbers}, SpmdOptions(world_size=3))


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 1])
def test_killed_rank_is_started_again_from_the_checkpoint(spark, numbers, tmp_path, lost):
    body = AddUp(rounds=6, fault="kill", rank=lost, at=4, marker=str(tmp_path / "killed"))
    result = spark.spmd(body, {"train": numbers}, SpmdOptions(world_size=2, checkpoint_interval=2, timeout=30))
    assert (tmp_path / "killed").exists()
    assert result["total"] == 6 * 4950.0
    assert result["from"] in (2, 4)  # the checkpoint of round 4 may or may not have left the process


@pytest.mark.slow
def test_frozen_rank_is_found_by_its_silence(spark, numbers, tmp_path):
    body = AddUp(rounds=4, fault="freeze", at=2, marker=str(tmp_path / "frozen"))
    start = time.monotonic()
    result = spark.spmd(body, {"train": numbers}, SpmdOptions(world_size=2, checkpoint_interval=1, timeout=4))
    assert (tmp_path / "frozen").exists()
    assert result["total"] == 4 * 4950.0
    assert time.monotonic() - start < 40


@pytest.mark.slow
def test_rank_that_is_always_lost_is_an_error_that_names_it(spark, numbers):
    body = AddUp(fault="kill")
    with pytest.raises(WorkerLostError, match=r"2 attempt\(s\).*rank \d \(.*process \d+\) was lost after round"):
        spark.spmd(body, {"train": numbers}, SpmdOptions(world_size=2, max_restarts=1, timeout=30))


@pytest.mark.parametrize("unlucky", [0, 1])
def test_bad_value_on_a_rank_is_raised_and_not_tried_again(spark, numbers, unlucky):
    notes = []
    spark.progress.note = notes.append
    try:
        with pytest.raises(DataValueError, match="x is infinite"):
            spark.spmd(
                AddUp(fault="bad value", rank=unlucky), {"train": numbers}, SpmdOptions(world_size=2, timeout=30)
            )
    finally:
        del spark.progress.note
    assert notes == []


def test_error_of_a_body_names_the_rank(spark, numbers):
    with pytest.raises(UserCodeError, match=r"rank 1 .* raised ZeroDivisionError: seven by nothing"):
        spark.spmd(AddUp(fault="crash"), {"train": numbers}, SpmdOptions(world_size=2, timeout=30))


def test_gang_runs_after_one_that_failed(spark, numbers):
    with pytest.raises(DataValueError):
        spark.spmd(AddUp(fault="bad value"), {"train": numbers}, SpmdOptions(world_size=2, timeout=30))
    assert spark.spmd(AddUp(rounds=1), {"train": numbers}, SpmdOptions(world_size=2))["total"] == 4950.0


def test_spark_frame_becomes_a_dataset_until_close(spark):
    frame = spark.session.sql("select id, id % 3 = 0 as third, timestamp'2026-01-02 03:04:05' as at from range(10)")
    with SparkEngine(spark.session, device="cpu") as engine:
        dataset = engine.from_spark(frame)
        files = dataset.fragments[0].paths
        assert dataset.count() == 10
        assert dataset.select("id").to_arrow()["id"].to_pylist() == list(range(10))
        assert dataset.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert not any(Path(file).exists() for file in files)


def test_given_session_goes_on_after_close(spark):
    SparkEngine(spark.session, device="cpu").close()
    assert spark.session.range(3).count() == 3


def test_running_session_is_used_when_none_is_given(spark):
    with SparkEngine(device="cpu") as engine:
        assert engine.session.sparkContext is spark.session.sparkContext
    assert spark.session.range(3).count() == 3


def test_settings_for_a_running_session_are_refused(spark):
    with pytest.raises(ConfigError, match=r"conf is given \(spark.master\)"):
        SparkEngine(spark.session, conf={"spark.master": "local[1]"})


def test_other_version_on_the_workers_is_refused(spark, monkeypatch):
    monkeypatch.setattr(penstock, "__version__", "0.0.0")
    with pytest.raises(ConfigError, match=r"penstock is 0\.0\.0 here, but on worker .*: \d"):
        SparkEngine(spark.session, device="cpu")


def test_other_python_on_the_workers_is_refused(spark, monkeypatch):
    monkeypatch.setattr(spark.session.sparkContext, "pythonVer", "3.0")
    with pytest.raises(ConfigError, match="workers cannot run Python tasks"):
        SparkEngine(spark.session, device="cpu")


def test_survey_of_versions_needs_no_penstock_on_the_worker():
    run_it = "import pickle, sys; print(list(pickle.load(sys.stdin.buffer)(())), 'penstock' in sys.modules)"
    survey = cloudpickle.dumps(cluster._survey(("numpy", "no_such_package")))
    told = subprocess.run([sys.executable, "-c", run_it], input=survey, capture_output=True, check=True).stdout.decode()
    assert f"'numpy': '{np.__version__}'" in told
    assert "'no_such_package': \"it cannot be imported" in told
    assert told.endswith("False\n")


def test_gpu_that_the_workers_lack_is_an_error(spark):
    if devices.choose().kind == "gpu":
        pytest.skip("the workers have a GPU")
    with pytest.raises(ConfigError, match=rf"^worker {socket.gethostname()}: device is 'gpu', but"):
        SparkEngine(spark.session, device="gpu")


def test_session_of_our_own_listens_on_loopback_only(spark):
    list(spark.map(abs, [1]))
    jvms = [child for child in psutil.Process().children(recursive=True) if "java" in child.name()]
    listening = [
        connection.laddr.ip
        for process in (psutil.Process(), *jvms)
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert jvms
    assert listening
    assert {ip.removeprefix("::ffff:") for ip in listening} <= {"127.0.0.1", "::1"}


def test_environment_is_as_it_was(spark):
    assert "SPARK_LOCAL_IP" not in os.environ


@pytest.mark.slow
@pytest.mark.thorough
def test_ranks_train_where_executors_come_as_they_are_needed():
    job = Path(__file__).parent / "spark_elastic_job.py"
    done = subprocess.run([sys.executable, str(job)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "1 6.0"


def test_settings_for_one_machine_are_not_those_of_a_cluster(monkeypatch):
    """A page that is off, joins in eight tasks and an address on loopback are for this machine alone."""
    seen = []
    monkeypatch.setattr(session, "_started", seen.append)
    monkeypatch.setattr(session, "SparkConf", partial(SparkConf, False))  # a JVM that runs would add what it was given
    for master in ("local[2]", "spark://far:7077"):
        session.start({"spark.master": master})
    here, there = seen
    for name, value in (("spark.ui.enabled", "false"), ("spark.driver.host", "127.0.0.1")):
        assert (here.get(name), there.get(name)) == (value, None)
    assert (here.get("spark.sql.shuffle.partitions"), there.get("spark.sql.shuffle.partitions")) == ("8", None)
    assert there.get("spark.app.name") == "penstock"


@pytest.mark.slow
def test_each_task_and_each_rank_on_a_cluster_sees_its_own_gpu():
    job = Path(__file__).parent / "spark_gpu_job.py"
    done = subprocess.run([sys.executable, str(job)], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["slots"] == 4
    assert seen["ranks"] == 2
    assert seen["rank_cpus"] == 2
    assert {tuple(addresses) for addresses in seen["tasks"]} <= {("0",), ("1",)}
    assert sorted(seen["gang"]) == [["0"], ["1"]]
    assert seen["total"] == 6.0
    assert seen["listening"] == ["127.0.0.1"]


def test_a_worker_of_spark_keeps_no_memory_of_a_gpu_that_it_does_not_use(monkeypatch):
    bound = []
    monkeypatch.setattr(tasks, "task_device", lambda choice: devices.Device(choice, 1))
    monkeypatch.setattr(devices, "bind", lambda device, *, release_threshold: bound.append((device, release_threshold)))
    tasks.hold_gpu()
    assert bound == [(devices.Device("gpu", 1), 0)]
