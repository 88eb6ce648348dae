"""A rank of a real training is killed or frozen: all ranks start again, and the model is the undisturbed one."""

import functools
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from communicators import stricken

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import WorkerLostError

ROUNDS, HIT = 12, 7


def struck(marker: Path, blow: int, times: int = 1, **sampling: float) -> st.XGBoostClassifier:
    """Return a classifier whose rank 1 is sent a signal after round 7, as often as told; sent to workers by value."""

    @dataclass(frozen=True)
    class Struck(st.XGBoostClassifier):
        def train(self, rank: Any, learned: Any) -> Any:
            return st.XGBoostClassifier.train(self, stricken(rank, marker, 1, HIT, blow, times), learned)

    Struck.__module__ = "__main__"
    return Struck("label", num_boost_round=ROUNDS, max_depth=3, **sampling)


pytestmark = [pytest.mark.cpu("the second of two ranks is killed, and one GPU is for one rank"), pytest.mark.faults]


def rows(engine: Engine) -> Dataset:
    source = np.random.default_rng(3)
    x = source.normal(size=(4000, 4))
    table = {f"x{i}": x[:, i] for i in range(4)}
    return engine.from_arrow(
        pa.table({**table, "label": (x[:, 0] + x[:, 1] ** 2 > 0.5).astype("int8")}), fragment_bytes=20_000
    )


def trees(model: ps.PipelineModel) -> bytes:
    return model.fitted[0]["booster"].data  # type: ignore[no-any-return]


@functools.cache
def undisturbed(engine: Engine, interval: int, **sampling: float) -> bytes:
    """Return the trees of a training that loses no rank; they depend on the interval where rows are sampled."""
    options = ps.SpmdOptions(world_size=2, allow_insecure=True, checkpoint_interval=interval)
    plain = st.XGBoostClassifier("label", num_boost_round=ROUNDS, max_depth=3, **sampling)
    return trees(ps.Pipeline(plain).fit(rows(engine), options=options))


@pytest.mark.slow
@pytest.mark.each_value
@pytest.mark.parametrize("interval, sampling", [(3, {}), (100, {}), (3, {"subsample": 0.7, "colsample_bytree": 0.5})])
def test_a_killed_rank_costs_nothing_but_time(distributed_engine, engine_notes, tmp_path, interval, sampling):
    options = ps.SpmdOptions(world_size=2, allow_insecure=True, checkpoint_interval=interval, timeout=30)
    model = ps.Pipeline(struck(tmp_path / "hit", signal.SIGKILL, **sampling)).fit(
        rows(distributed_engine), options=options
    )
    assert (tmp_path / "hit").exists()
    assert trees(model) == undisturbed(distributed_engine, interval, **sampling)
    assert any("rank 1 (" in line and "its process ended" in line for line in engine_notes)


@pytest.mark.slow
@pytest.mark.one_cluster
def test_a_frozen_rank_is_found_by_its_silence(distributed_engine, engine_notes, tmp_path):
    options = ps.SpmdOptions(world_size=2, allow_insecure=True, checkpoint_interval=3, timeout=4)
    model = ps.Pipeline(struck(tmp_path / "hit", signal.SIGSTOP)).fit(rows(distributed_engine), options=options)
    assert trees(model) == undisturbed(distributed_engine, 3)
    assert any("rank 1 (" in line for line in engine_notes)


@pytest.mark.slow
@pytest.mark.one_cluster
def test_a_rank_lost_too_often_is_named_with_its_cause(distributed_engine, tmp_path):
    options = ps.SpmdOptions(world_size=2, allow_insecure=True, checkpoint_interval=3, max_restarts=1, timeout=30)
    pipeline = ps.Pipeline(struck(tmp_path / "hit", signal.SIGKILL, times=9))
    with pytest.raises(
        WorkerLostError, match=r"2 attempt.*rank 1 \(.*process \d+\) was lost after round \d+: its process ended"
    ):
        pipeline.fit(rows(distributed_engine), options=options)
