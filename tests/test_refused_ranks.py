"""Ranks that cannot be are refused when a fit is planned, by whatever fits: before anything is read."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.core.progress import Progress
from penstock.dataset import Dataset
from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, InsecureClusterError
from penstock.spmd import SpmdOptions


class Unread(LocalEngine):
    """Counts what is read, and would train on as many ranks as are asked for, two unless told, of three at most."""

    in_process = False
    slots = 2  # type: ignore[assignment]
    task_memory = 1  # type: ignore[assignment]  # so that no training is small enough to run beside others

    def __init__(self) -> None:
        super().__init__(device="cpu", progress=Progress())
        self.read: list[str] = []

    def ranks(self, options: SpmdOptions, *, label: str = "train") -> int:
        if (options.world_size or 2) > 3:
            raise ConfigError(f"world_size is {options.world_size}, but there is room for 3")
        return options.world_size or 2

    def map(self, task: Any, items: Any, *, label: str = "map") -> Any:
        self.read.append(label)
        return super().map(task, items, label=label)

    def spmd(self, body: Any, datasets: Any, options: SpmdOptions, *, label: str = "train") -> Any:
        return super().spmd(body, datasets, SpmdOptions(), label=label)


TREES = ps.Pipeline(st.StandardScaler("x"), st.XGBoostClassifier("y", num_boost_round=1))
AUC = st.BinaryClassificationEvaluator(label="y")
ROWS = pa.table({"x": [float(each % 7) for each in range(60)], "y": [each % 2 for each in range(60)]})
MODEL = TREES.fit(LocalEngine(device="cpu").from_arrow(ROWS), keep_statistics=True)


def search(rows: Dataset, options: SpmdOptions) -> Any:
    space = {"XGBoostClassifier.max_depth": [1, 2]}
    return ps.CrossValidator(TREES, space, AUC, folds=2, options=options).fit(rows)


FITS: Mapping[str, Callable[[Dataset, SpmdOptions], Any]] = {
    "fit": lambda rows, options: TREES.fit(rows, options=options),
    "refit": lambda rows, options: MODEL.refit(rows, freeze="StandardScaler", warm_start=True, options=options),
    "cross_validate": lambda rows, options: ps.cross_validate(TREES, rows, AUC, folds=2, options=options),
    "search": search,
    "learning_curve": lambda rows, options: ps.learning_curve(TREES, rows, AUC, sizes=[1.0], options=options),
    "out of fold": lambda rows, options: ps.TunedThreshold(TREES, "f1", folds=2, options=options).fit(rows),
}


@pytest.mark.parametrize("fit", FITS)
def test_ports_that_nobody_allowed_are_refused_before_anything_is_read(fit: str) -> None:
    engine = Unread()
    with pytest.raises(InsecureClusterError, match="2 ranks of XGBoost") as caught:
        FITS[fit](engine.from_arrow(ROWS), SpmdOptions())
    assert engine.read == []
    assert "--allow-insecure" in str(caught.value.hint)


@pytest.mark.parametrize("fit", FITS)
def test_more_ranks_than_there_is_room_for_are_refused_before_anything_is_read(fit: str) -> None:
    engine = Unread()
    with pytest.raises(ConfigError, match="world_size is 4, but there is room for 3"):
        FITS[fit](engine.from_arrow(ROWS), SpmdOptions(world_size=4, allow_insecure=True))
    assert engine.read == []


@pytest.mark.parametrize("options", [SpmdOptions(world_size=1), SpmdOptions(allow_insecure=True)], ids=str)
def test_one_rank_and_ranks_that_are_allowed_are_not_refused(options: SpmdOptions) -> None:
    engine = Unread()
    for fit in ("fit", "cross_validate"):
        FITS[fit](engine.from_arrow(ROWS), options)
    assert engine.read


def test_an_elastic_training_on_one_worker_is_refused_as_it_may_grow() -> None:
    with pytest.raises(InsecureClusterError):
        FITS["fit"](Unread().from_arrow(ROWS), SpmdOptions(world_size=1, elastic=True))


def test_trainings_that_run_side_by_side_are_one_rank_each_and_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Unread, "task_memory", 2**30)
    assert len(FITS["cross_validate"](Unread().from_arrow(ROWS), SpmdOptions()).models) == 2


def test_stages_that_open_no_port_and_frozen_ones_are_not_asked() -> None:
    ps.Pipeline(st.KMeans("x", k=2)).fit(Unread().from_arrow(ROWS))
    MODEL.refit(Unread().from_arrow(ROWS), freeze="XGBoostClassifier")


def test_the_local_engine_refuses_a_second_rank_before_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalEngine, "map", None)
    rows = LocalEngine(device="cpu").from_arrow(ROWS)
    with pytest.raises(ConfigError, match="world_size is 2, but the local engine has one rank"):
        TREES.fit(rows, options=SpmdOptions(world_size=2))
