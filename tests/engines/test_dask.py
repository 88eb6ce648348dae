"""The Dask engine on real worker processes: order, retries, restarts, limits, and what it leaves behind."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask_bodies as bodies
import distributed
import pandas as pd
import psutil
import pyarrow as pa
import pytest
import yaml
from eventually import until
from gang_bodies import AddUp

from penstock import devices
from penstock.devices import Device
from penstock.engines.dask import DaskEngine, frames, session
from penstock.engines.dask import workers as dask_workers
from penstock.errors import ConfigError, ExecutionError, InsecureClusterError, StageTimeoutError, WorkerLostError
from penstock.io.fragments import Fragment, Piece
from penstock.spmd import SpmdOptions

pytestmark = pytest.mark.dask

CONF = Path(__file__).parents[2] / "conf" / "engines"
FRAGMENTS = tuple(Fragment(index, 10 * index, (Piece(f"part-{index}.parquet", 0, 10),)) for index in range(20))


def spec(**arguments: Any) -> dict[str, Any]:
    return {"class": "distributed.LocalCluster", "arguments": arguments}


@pytest.fixture
def dask(engines: Any) -> Iterator[DaskEngine]:
    """The cluster of the run, on CPUs: two workers, where there may be one GPU; those that a test ends come again."""
    shared = engines.get("dask")
    engine = shared if shared.kind == "cpu" else DaskEngine(shared.client, device="cpu", speculation=False)
    yield engine
    dask_workers.await_workers(engine.client, 2, 120)


def test_map_gives_results_in_the_order_of_the_items(dask):
    for items in (range(40), []):
        assert list(dask.map(bodies.slow_square, items)) == [item * item for item in items]


def test_map_runs_a_bounded_number_of_items_ahead_and_stops_when_it_is_closed(dask, tmp_path):
    results = dask.map(bodies.Touch(tmp_path), range(200))
    assert next(results) == 0
    until(lambda: len(list(tmp_path.iterdir())) >= 2 * 2 + 2)  # all that it has started
    results.close()
    assert list(dask.map(abs, range(-9, 0))) == list(range(9, 0, -1))
    assert len(list(tmp_path.iterdir())) == 2 * 2 + 2


@pytest.fixture
def keeping_replicas(dask) -> Iterator[None]:
    """Stop Dask from looking, every two seconds, for copies to drop: what is fetched again is unpickled again."""
    dask.client.amm.stop()
    yield
    dask.client.amm.start()


def test_a_large_task_is_unpickled_once_a_worker_however_many_items_there_are(dask, keeping_replicas, tmp_path):
    assert list(dask.map(bodies.Heavy(tmp_path), range(40))) == [12_000_000 + item for item in range(40)]
    assert 1 <= len(list(tmp_path.iterdir())) <= 2


def slowly(part: pd.DataFrame) -> pd.DataFrame:
    time.sleep(1.5)  # longer than the engine waits in one go: an error of time then refers to what it waited for
    return part


def tasks_of(dask_scheduler: Any) -> set[str]:
    return set(map(str, dask_scheduler.tasks))


@pytest.mark.parametrize("call", ["reduce", "from_dask"])
def test_a_call_leaves_nothing_on_the_scheduler(dask, call):
    before = dask.client.run_on_scheduler(tasks_of)
    if call == "reduce":
        assert dask.reduce(bodies.name_of, bodies.in_brackets, FRAGMENTS)
    else:
        slowly.__module__ = "__main__"  # sent by value
        assert dask.from_dask(frame_of(3).map_partitions(slowly, meta={"x": "int64"})).count() == 3
    until(lambda: dask.client.run_on_scheduler(tasks_of) <= before)


def test_reduce_is_equal_to_the_local_one_to_the_bit(dask, local):
    for count in (1, 2, 8, 9, 17):
        expected = local.reduce(bodies.tenth, bodies.left_to_right, FRAGMENTS[:count])
        assert dask.reduce(bodies.tenth, bodies.left_to_right, FRAGMENTS[:count]) == expected


def test_tasks_are_spread_over_all_workers_as_they_share_no_name_with_what_they_need(dask):
    def needs(dask_scheduler):
        return {name: [each.name for each in group.dependencies] for name, group in dask_scheduler.task_groups.items()}

    numbers = dask.map(bodies.slow_square, range(20), label="spread")
    next(numbers)
    found = {name: needed for name, needed in dask.client.run_on_scheduler(needs).items() if name.startswith("spread")}
    assert sum(numbers) == sum(item * item for item in range(1, 20))
    assert any(found.values())  # or Dask keeps what it goes by elsewhere
    assert not [name for name, needed in found.items() if name in needed]


@pytest.mark.faults
def test_a_worker_killed_during_a_map_or_a_reduction_does_not_change_the_results(dask, tmp_path):
    task = bodies.Dying(bodies.slow_square, at=11, marker=tmp_path / "map")
    assert list(dask.map(task, range(30))) == [item * item for item in range(30)]
    named = bodies.Dying(bodies.name_of, at=FRAGMENTS[13], marker=tmp_path / "reduction")
    assert dask.reduce(named, bodies.in_brackets, FRAGMENTS) == "((01234567)(89abcdef)(10111213))"
    assert sorted(os.listdir(tmp_path)) == ["map", "reduction"]


@pytest.mark.slow
@pytest.mark.faults
def test_a_frozen_worker_is_named_and_its_tasks_run_elsewhere_but_a_slow_one_goes_on(tmp_path, caplog):
    task = bodies.Dying(bodies.slow_square, at=11, marker=tmp_path / "frozen", signal=signal.SIGSTOP)
    with DaskEngine(spec(n_workers=2), device="cpu", timeout=6, speculation=False) as engine:
        before = engine.client.nthreads()
        assert list(engine.map(task, range(30), label="scan")) == [item * item for item in range(30)]
        warnings = [record.getMessage() for record in caplog.records if "no sign of life" in record.getMessage()]
        (lost,) = before.keys() - engine.client.nthreads().keys()
        assert [text.split(" gave")[0] for text in warnings] == [f"scan: worker {lost}"]
        caplog.clear()
        assert list(engine.map(time.sleep, [10.0])) == [None]
        assert "no sign of life" not in caplog.text
    assert task.marker.exists()


@pytest.mark.faults
def test_a_fragment_that_ends_every_worker_is_named_with_its_file_and_the_signal(dask):
    task = bodies.Dying(bodies.name_of, at=FRAGMENTS[0], marker=None)
    with pytest.raises(
        WorkerLostError, match=r"fragment 0 \(part-0.parquet\), .* ended 3 workers.*killed by signal 9"
    ) as caught:
        dask.reduce(task, bodies.in_brackets, FRAGMENTS[:1])
    assert (caught.value.path, caught.value.partition) == ("part-0.parquet", 0)


def test_an_error_of_a_graph_that_is_not_ours_is_told_by_its_own_words(dask):
    from dask import dataframe

    frame = dataframe.from_map(bodies.exit_of_a_frame, [0], meta=pd.DataFrame({"x": [1]}))
    with pytest.raises(ExecutionError, match="from_dask raised BaseException: of a frame"):
        dask.from_dask(frame)


def test_workers_of_other_machines_are_a_rank_each_unless_told(dask, monkeypatch):
    monkeypatch.setattr(session, "is_on_this_machine", lambda client: False)
    numbers = {"train": dask.from_arrow(pa.table({"x": range(100)}), fragment_bytes=160)}
    for size, ranks in ((None, 2), (1, 1)):
        found = dask.spmd(AddUp(rounds=1), numbers, SpmdOptions(world_size=size))
        assert (found["total"], len(found["rows"]), found["threads"]) == (4950.0, ranks, 1)


def test_a_dask_frame_keeps_its_rows_and_their_order(dask):
    from dask import dataframe

    frame = pd.DataFrame({"x": range(120), "s": [f"name {index}" for index in range(120)]})
    read = dask.from_dask(dataframe.from_pandas(frame, npartitions=12)).to_arrow()
    assert read["x"].to_pylist() == list(range(120))
    assert read["s"].to_pylist() == frame["s"].tolist()


def test_nothing_listens_beyond_loopback(dask):
    list(dask.map(bodies.slow_square, range(8)))
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    seen = {ip.removeprefix("::ffff:") for process in family for ip, _ in listening(process)}
    assert seen == {"127.0.0.1"}


def listening(process: psutil.Process) -> list[tuple[str, int]]:
    try:
        connections = process.net_connections()
    except psutil.NoSuchProcess:  # it has ended meanwhile
        return []
    return [(each.laddr.ip, each.laddr.port) for each in connections if each.status == psutil.CONN_LISTEN]


def test_workers_have_a_thread_each_as_their_libraries_and_tell_why_they_have_their_device(dask):
    import polars

    assert set(dask.client.run(polars.thread_pool_size).values()) == {1}
    assert dask.slots == 2
    assert dask.kind == "cpu"
    assert dask.device.reason.startswith("2 worker(s): ")


def test_close_ends_what_was_started_and_restores_the_environment():
    names = devices.thread_environment(1)
    before = {name: os.environ.get(name) for name in names}
    cluster = yaml.safe_load((CONF / "dask.yaml").read_text())["cluster"]
    cluster["arguments"]["n_workers"] = 1
    with DaskEngine(cluster) as engine:
        (worker,) = engine.client.run(os.getpid).values()
        staged = engine.from_dask(frame_of(3)).fragments[0].paths[0]
        assert Path(staged).parents[1].stat().st_mode & 0o777 == 0o700
    assert not Path(staged).exists()
    assert {name: os.environ.get(name) for name in names} == before
    until(lambda: not psutil.pid_exists(worker))


def test_a_cluster_of_threads_works_without_a_port():
    before = set(listening(psutil.Process()))
    with DaskEngine(spec(n_workers=1, processes=False)) as engine:
        assert engine.from_dask(frame_of(3)).count() == 3
        assert {host for host, _ in set(listening(psutil.Process())) - before} <= {"127.0.0.1"}


def frame_of(rows: int) -> Any:
    from dask import dataframe

    return dataframe.from_pandas(pd.DataFrame({"x": range(rows)}), npartitions=1)


def test_a_given_client_goes_on_and_an_address_is_connected_to(dask):
    for cluster in (dask.client, dask.client.scheduler.address):
        with DaskEngine(cluster, device="cpu") as engine:
            assert list(engine.map(abs, [-1])) == [1]
        assert dask.client.submit(abs, -2).result(timeout=60) == 2


def of_threads() -> distributed.LocalCluster:
    return distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)


@pytest.mark.faults
def test_losing_all_workers_is_told_in_time():
    with of_threads() as cluster, cluster.get_client() as client:
        engine = DaskEngine(client, device="cpu", no_workers_timeout=2)
        cluster.scale(0)
        until(lambda: not client.nthreads())
        with pytest.raises(StageTimeoutError, match=r"at inproc://.* had 0 of 1 worker\(s\) after 2 s"):
            list(engine.map(abs, [-1]))


@pytest.mark.faults
def test_a_closed_scheduler_is_told():
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    with DaskEngine(cluster.scheduler_address, device="cpu") as engine:
        results = engine.map(bodies.slow_square, range(100))
        assert next(results) == 0
        cluster.close()
        with pytest.raises(ExecutionError):
            list(results)


def test_a_cluster_without_workers_is_told_in_time():
    with pytest.raises(StageTimeoutError, match=r"had 0 of 1 worker\(s\) after 1 s"):
        DaskEngine(spec(n_workers=0), no_workers_timeout=1)


def test_a_cluster_that_turns_out_to_be_open_is_stopped_again(monkeypatch):
    monkeypatch.setattr(session, "_is_private", lambda address: False)
    before = set(listening(psutil.Process()))
    with pytest.raises(InsecureClusterError, match=r"listens on tcp://.*, without authentication"):
        DaskEngine(spec(n_workers=0))
    until(lambda: set(listening(psutil.Process())) <= before)


def test_a_given_cluster_that_is_open_is_warned_of(dask, monkeypatch, caplog):
    monkeypatch.setattr(session, "_is_private", lambda address: False)
    DaskEngine(dask.client, device="cpu").close()
    assert f"{dask.client.scheduler.address} is neither encrypted nor authenticated" in caplog.text


def test_a_cluster_open_to_other_machines_is_not_started():
    for arguments in ({"host": "0.0.0.0"}, {"dashboard_address": ":8787"}, {"interface": "eth0"}):
        with pytest.raises(InsecureClusterError, match=f"{next(iter(arguments))} is "):
            DaskEngine(spec(n_workers=1, **arguments))


def test_a_wrong_cluster_is_told_before_anything_starts(subtests):
    for cluster, problem in (
        ({"class": "distributed.LocalClutser"}, "'distributed.LocalClutser' cannot be imported"),
        ({"class": "nowhere.Cluster"}, "'nowhere.Cluster' cannot be imported"),
        ({"class": "pathlib.Path"}, "expected a subclass"),
        ({"class": "distributed.LocalCluster", "argument": {}}, "keys"),
        (7, "cluster is 7"),
        ({"class": "distributed.LocalCluster", "arguments": {"n_wokers": 1}}, "does not start with .*n_wokers"),
        ("tpc://127.0.0.1:8786", "no Dask scheduler answers"),
    ):
        with subtests.test(problem=problem), pytest.raises(ConfigError, match=problem):
            DaskEngine(cluster)


def test_a_worker_with_another_version_is_named():
    here = {"python": "3.11.7.final.0", "numpy": "2.4.6", "polars": "2.1.0"}
    there = {**here, "polars": "1.40.0"}
    found = {"client": {"packages": here}, "workers": {"tcp://w:1": {"packages": there}}}
    with pytest.raises(ConfigError, match=r"tcp://w:1 has polars 1\.40\.0 \(here 2\.1\.0\)"):
        dask_workers.check_versions(SimpleNamespace(get_versions=lambda packages: found))


def answering(*found: Any) -> Any:
    workers = {f"tcp://w:{index}": answer for index, answer in enumerate(found)}
    return SimpleNamespace(run=lambda *_, on_error: workers)


def test_workers_that_disagree_on_the_device_are_named():
    with pytest.raises(ConfigError, match=r"worker tcp://w:0 is on gpu:0 .*worker tcp://w:1 on cpu"):
        dask_workers.choose_device(answering(Device("gpu", 0, uuid="a"), Device("cpu")), "auto")


def test_workers_that_share_a_gpu_are_refused_it_and_auto_says_why_it_takes_the_cpu():
    gpu = Device("gpu", 0, uuid="a")
    with pytest.raises(ConfigError, match=r"2 workers share 1 GPU"):
        dask_workers.choose_device(answering(gpu, gpu), "gpu")
    device = dask_workers.choose_device(answering(gpu, gpu), "auto")
    assert (device.kind, "2 workers share 1 GPU" in device.reason) == ("cpu", True)


def test_a_gpu_asked_for_and_not_there_is_refused_with_the_name_of_the_worker(dask):
    if devices.choose().kind == "gpu":
        pytest.skip("the workers have GPUs")
    with pytest.raises(ConfigError, match=r"worker tcp://127.0.0.1:.* device is 'gpu'"):
        DaskEngine(dask.client, device="gpu")


def test_a_query_on_gpus_is_refused_by_a_client_without_one_in_the_words_of_the_driver():
    if devices.choose().kind == "gpu":
        pytest.skip("this process has a GPU")
    rows = SimpleNamespace(engine=SimpleNamespace(kind="gpu"), schema=pa.schema({"x": pa.int64()}))
    with pytest.raises(ConfigError, match="device is 'gpu'"):
        frames.frame_of(rows)
