"""The engine on Spark: order, errors, reduction, gangs and their faults, sessions given and started."""

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

import narwhals as nw
import numpy as np
import psutil
import pyarrow as pa
import pytest
from eventually import until
from gang_bodies import AddUp

import penstock
from penstock import devices
from penstock.core.progress import Progress
from penstock.core.recording import Recorder, recording
from penstock.core.scheduler import map_all
from penstock.errors import ConfigError, DataValueError, WorkerLostError
from penstock.io.sources.files import InputFile
from penstock.spmd import SpmdOptions

pytestmark = [pytest.mark.spark]


@pytest.fixture(scope="module")
def spark(engines):
    """The session of the run, on CPUs: two ranks, where there may be one GPU."""
    shared = engines.get("spark")
    return shared if shared.kind == "cpu" else penstock.SparkEngine(shared.session, device="cpu")


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


def test_results_come_in_the_order_of_the_items(spark, tmp_path):
    later = str(tmp_path / "later")

    def first_waits_for_the_second(item):
        if item == 1:
            Path(later).touch()
        deadline = time.monotonic() + 100
        while item == 0 and not Path(later).exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return item * item

    for items in (range(6), []):
        assert list(spark.map(first_waits_for_the_second, items)) == [item * item for item in items]


def test_frames_are_read_by_the_python_workers_of_tasks(numbers):
    daemons = numbers.map_partitions(lambda frame: frame.with_columns(x=nw.lit(os.getppid())), {"x": pa.int64()})
    assert set(daemons.to_arrow()["x"].to_pylist()) == {row.x for row in daemons.to_spark().collect()}


def test_error_keeps_its_type_and_place_and_is_not_tried_again(spark, tmp_path):
    with pytest.raises(DataValueError, match="x is infinite") as caught:
        list(spark.map(attempts_in(tmp_path), range(3)))
    assert (caught.value.column, caught.value.row) == ("x", 7)
    assert len(list(tmp_path.glob("1-*"))) == 1
    assert "in task" in str(caught.value.__cause__)  # the traceback of the worker


def test_error_ends_the_other_tasks(spark):
    def task(item):
        if item == 0:
            raise DataValueError("at once")
        time.sleep(3600)

    with pytest.raises(DataValueError):
        list(spark.map(task, range(2)))  # each that is ended costs a new worker


@pytest.mark.faults
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


@pytest.mark.faults
def test_worker_that_always_dies_is_reported_with_its_partition(spark):
    def task(item):
        if item.path == "part-1.parquet":
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(WorkerLostError, match=r"lost a worker on part-1.parquet .*exited unexpectedly") as caught:
        list(spark.map(task, [InputFile(f"part-{index}.parquet", 0, 0.0) for index in range(2)]))
    assert (caught.value.partition, caught.value.path) == (1, "part-1.parquet")


def test_first_error_of_a_reduction_wins(spark):
    def task(item):
        if item in (3, 15):
            raise DataValueError(f"item {item}")
        return item

    with pytest.raises(DataValueError, match="item 3"):
        spark.reduce(task, max, range(20))


def test_libraries_of_a_worker_use_the_cores_of_its_task_and_other_jobs_keep_their_threads(spark):
    def threads(item):
        import polars

        return polars.thread_pool_size(), os.environ["OMP_NUM_THREADS"]

    assert set(spark.map(threads, range(4))) == {(1, "1")}
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


@pytest.mark.faults
def test_interrupt_cancels_the_job(spark, tmp_path):
    started = str(tmp_path / "started")

    def task(item):
        Path(started).touch()
        time.sleep(3600)

    def interrupt():
        until((tmp_path / "started").exists)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        list(spark.map(task, range(2)))
    assert list(spark.map(abs, [-1, -2])) == [1, 2]  # the slots are free


def test_an_elastic_training_begins_on_the_slots_that_are_there(spark, numbers):
    for most, ranks in ((None, 2), (1, 1), (3, 2)):
        result = spark.spmd(AddUp(rounds=1), {"train": numbers}, SpmdOptions(world_size=most, elastic=True))
        assert (result["total"], len(result["rows"])) == (4950.0, ranks)


def test_spark_frame_becomes_a_dataset_until_close(spark):
    frame = spark.session.sql("select id, id % 3 = 0 as third, timestamp'2026-01-02 03:04:05' as at from range(10)")
    with penstock.SparkEngine(spark.session, device="cpu") as engine:
        dataset = engine.from_spark(frame)
        files = dataset.fragments[0].paths
        assert dataset.count() == 10
        assert dataset.select("id").to_arrow()["id"].to_pylist() == list(range(10))
        assert dataset.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert not any(Path(file).exists() for file in files)


def test_running_session_is_used_when_none_is_given_and_goes_on_after_close(spark):
    with penstock.SparkEngine(device="cpu") as engine:
        assert engine.session.sparkContext is spark.session.sparkContext
    penstock.SparkEngine(spark.session, device="cpu").close()
    assert spark.session.range(3).count() == 3


def test_settings_for_a_running_session_are_refused(spark):
    with pytest.raises(ConfigError, match=r"conf is given \(spark.master\)"):
        penstock.SparkEngine(spark.session, conf={"spark.master": "local[1]"})


def test_other_version_on_the_workers_is_refused(spark, monkeypatch):
    monkeypatch.setattr(penstock, "__version__", "0.0.0")
    with pytest.raises(ConfigError, match=r"penstock is 0\.0\.0 here, but on worker .*: \d"):
        penstock.SparkEngine(spark.session, device="cpu")


def test_other_python_on_the_workers_is_refused(spark, monkeypatch):
    monkeypatch.setattr(spark.session.sparkContext, "pythonVer", "3.0")
    with pytest.raises(ConfigError, match="workers cannot run Python tasks"):
        penstock.SparkEngine(spark.session, device="cpu")


def test_survey_of_versions_needs_no_penstock_on_the_worker():
    from pyspark import cloudpickle

    from penstock.engines.spark import cluster

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
        penstock.SparkEngine(spark.session, device="gpu")


def test_session_of_our_own_listens_on_loopback_only_and_leaves_the_environment(spark):
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
    assert "SPARK_LOCAL_IP" not in os.environ


@pytest.mark.slow
@pytest.mark.faults
def test_ranks_train_where_executors_come_as_they_are_needed():
    job = Path(__file__).parent / "spark_elastic_job.py"
    done = subprocess.run([sys.executable, str(job)], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "1 6.0"


@pytest.mark.slow
@pytest.mark.faults
def test_an_executor_that_dies_in_a_training_is_said_at_once_and_in_the_record(tmp_path):
    job = Path(__file__).parent / "spark_lost_executor_job.py"
    done = subprocess.run([sys.executable, str(job), str(tmp_path)], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    *_, loss, restart, last = done.stdout.splitlines()
    outcome = json.loads(last)
    assert outcome["trained"]["total"] == 60.0  # 10 rounds of 0 + 1 + 2 + 3
    assert outcome["trained"]["from"] in (4, 5)
    assert loss.endswith("attempt 1 of 3 ended")
    assert "no sign of life" not in loss  # for 30 s, while its connection stays open: Spark says it
    assert restart.endswith(f"begins again after round {outcome['trained']['from']}, on 2 rank(s)")
    events = penstock.runs.Run.load(outcome["run"]).info["events"]
    assert [each["text"] for each in events] == [line.split(" ", 1)[1] for line in (loss, restart)]


def test_settings_for_one_machine_are_not_those_of_a_cluster(monkeypatch):
    """A page that is off, joins in eight tasks and an address on loopback are for this machine alone."""
    from pyspark import SparkConf

    from penstock.engines.spark import session

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
@pytest.mark.services
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
    from penstock.engines.spark import tasks

    bound = []
    monkeypatch.setattr(tasks, "task_device", lambda choice: devices.Device(choice, 1))
    monkeypatch.setattr(devices, "bind", lambda device, *, release_threshold: bound.append((device, release_threshold)))
    tasks.hold_gpu()
    assert bound == [(devices.Device("gpu", 1), 0)]
