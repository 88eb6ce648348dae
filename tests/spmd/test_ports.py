"""What listens while a training runs: nothing that another machine can reach, unless it was allowed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier
from spmd.rank_processes import GangEngine
from spmd.rank_threads import Threads, run

from penstock import stages as st
from penstock.core.progress import Progress, Track
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.local import LocalEngine
from penstock.errors import InsecureClusterError
from penstock.frames import sparse
from penstock.pipeline import Pipeline
from penstock.spmd import SpmdOptions
from penstock.stages.trainer import Trainer

LOOKS = 5
ROWS = pa.schema({"a": pa.float64(), "b": pa.float64(), "y": pa.int8(), "query": pa.int64(), **sparse.fields(["v"])})
LOOPBACK = {"127.0.0.1", "::1"}


@dataclass
class Watch(Progress):
    """Looks, when the first rounds of many are complete, where this process and its children have begun to listen."""

    rounds: int = 0
    addresses: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._before = listening()

    @contextmanager
    def track(self, label: str, total: int) -> Iterator[Track]:
        watch = self

        class Watching(Track):
            def advance(self, parts: int = 1, detail: str = "") -> None:
                if label.startswith("train") and parts:
                    watch.rounds += parts
                    seen = listening() - watch._before if watch.rounds < LOOKS else set()
                    watch.addresses |= {ip for _, ip, _ in seen}

        yield Watching()


def listening() -> set[tuple[int, str, int]]:
    """Return the process, the address and the port of what listens."""
    return {
        (process.pid, each.laddr.ip.removeprefix("::ffff:"), each.laddr.port)
        for process in (psutil.Process(), *psutil.Process().children(recursive=True))
        for each in connections(process)
        if each.status == psutil.CONN_LISTEN
    }


def connections(process: psutil.Process) -> list[Any]:
    try:
        return process.net_connections("tcp")
    except (psutil.Error, FileNotFoundError):  # it ended meanwhile
        return []


def trained(engine: Engine, stage: Trainer, options: SpmdOptions | None) -> Watch:
    """Train, and return what was seen meanwhile."""
    x = np.random.default_rng(0).normal(size=(200, 2))
    y = (x[:, 0] + x[:, 1] > 0).astype("int8")
    vector = {"v_indices": [[row % 3] for row in range(200)], "v_values": [[1.0]] * 200}
    rows = pa.table({"a": x[:, 0], "b": x[:, 1], "y": y, "query": np.arange(200) // 10, **vector}, schema=ROWS)
    before, watch = engine.progress, Watch()
    engine.progress = watch
    try:
        Pipeline(stage).fit(engine.from_arrow(rows, fragment_bytes=1000), options=options)
    finally:
        engine.progress = before
    return watch


TRAINERS: tuple[Trainer, ...] = (
    st.GaussianMixture(features=("a", "b"), k=2, max_iter=5),
    st.GeneralizedLinearRegression("y", family="binomial"),
    st.KMeans(features=("a", "b"), k=2, max_iter=5),
    st.LinearRegression("y", features=("a", "v_indices", "v_values"), max_iter=6, tol=1e-300),
    st.LogisticRegression("y", max_iter=6, tol=1e-300),
    st.PerKey(st.KMeans(features=("a", "b"), k=2, max_iter=5), by="query"),
    st.RandomForestClassifier("y", num_trees=3),
    st.RandomForestRegressor("y", num_trees=3),
    st.SklearnEstimator(DecisionTreeClassifier(max_depth=2), "y"),
    st.TorchClassifier("y", module="mlp", epochs=2, batch_size=50),
    st.TorchRegressor("y", module="mlp", epochs=2, batch_size=50),
    st.XGBoostClassifier("y", num_boost_round=5),
    st.XGBoostRanker("y", group="query", num_boost_round=5),
    st.XGBoostRegressor("y", num_boost_round=5),
)

OF_EVERY_WAY = (st.KMeans, st.TorchClassifier)
"""Trainers with ranks on a coordinator, and with ranks on each other: an engine places them."""


def two_ranks(**options: Any) -> SpmdOptions:
    return SpmdOptions(world_size=2, timeout=60, **options)


def test_no_trainer_is_forgotten() -> None:
    public = (getattr(st, name) for name in dir(st))
    trainers = [each for each in public if isinstance(each, type) and issubclass(each, Trainer)]
    known = {each for each in trainers if each.train is not Trainer.train}
    assert {type(each) for each in TRAINERS} == known - {st.CumlEstimator}  # which is trained on a GPU, as one rank


@pytest.mark.faults
@pytest.mark.cpu("one GPU is for one rank")
def test_ranks_on_a_cluster_listen_on_loopback_only(distributed_engine: Engine, subtests: pytest.Subtests) -> None:
    for stage in TRAINERS:
        if type(stage) in OF_EVERY_WAY:
            with subtests.test(stage=stage.title):
                demand_loopback(trained(distributed_engine, stage, two_ranks()))


@pytest.mark.faults
@pytest.mark.cpu("one GPU is for one rank")
def test_no_trainer_listens_on_more_by_itself(subtests: pytest.Subtests) -> None:
    engine = GangEngine()
    engine.launch = Threads()  # type: ignore[assignment]
    for stage in {type(stage).train: stage for stage in reversed(TRAINERS)}.values():
        with subtests.test(stage=stage.title):
            alone = stage.tags.opens_ports or isinstance(stage, st.TorchClassifier)  # a process is one rank of PyTorch
            demand_loopback(trained(engine, stage, None if alone else two_ranks()))


def demand_loopback(watch: Watch) -> None:
    assert watch.rounds > 0
    assert watch.addresses <= LOOPBACK


@pytest.mark.dask
@pytest.mark.faults
def test_ranks_of_xgboost_listen_on_every_address_which_is_why_it_must_be_allowed(engines: Any) -> None:
    dask = engines.get("dask")
    many_trees = st.XGBoostClassifier("y", num_boost_round=300, max_depth=2)
    watch = trained(dask, many_trees, two_ranks(allow_insecure=True))
    assert "0.0.0.0" in watch.addresses


@pytest.mark.cpu("one GPU is for one rank")
def test_ranks_of_xgboost_are_refused_before_they_start(distributed_engine: Engine) -> None:
    with pytest.raises(InsecureClusterError, match="2 ranks of XGBoost would listen on every address") as caught:
        trained(distributed_engine, st.RandomForestClassifier("y", num_trees=2), two_ranks())
    assert "allow_insecure=True" in str(caught.value.hint)


def test_a_body_that_does_not_say_so_opens_no_port_either() -> None:
    """The check is where the ranks would meet, too."""
    engine = LocalEngine(device="cpu", progress=Progress())
    data: dict[str, Dataset] = {"train": engine.from_arrow(pa.table({"x": range(4)}))}

    def body(rank: Any) -> None:
        with rank.collective():
            raise AssertionError("they have met")

    with pytest.raises(InsecureClusterError):
        run(Threads(), body, data)
