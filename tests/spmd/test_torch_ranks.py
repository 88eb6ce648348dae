"""Ranks that form a group of `torch.distributed`: three learn what one does, and a lost one costs nothing but time."""

import functools
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from spmd.rank_processes import GangEngine

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.local import LocalEngine
from penstock.spmd import SpmdOptions

pytestmark = [
    pytest.mark.cpu("ranks are processes that share this machine, and one GPU is for one rank"),
    pytest.mark.thorough,
]

OPTIONS: dict[str, Any] = {
    "features": ("a", "b"), "categories": ("c",), "module": "tabular", "module_options": {"hidden": [8]},
    "optimizer": "sgd", "momentum": 0.9, "learning_rate": 0.02, "batch_size": 16, "epochs": 6, "schedule": "cosine",
}  # fmt: skip


def rows(engine: Engine) -> Dataset:
    draw = np.random.default_rng(0)
    x, c = draw.normal(size=(150, 2)), draw.integers(0, 3, 150)
    return engine.from_arrow(pa.table({"a": x[:, 0], "b": x[:, 1], "c": c, "y": x[:, 0] - c}), fragment_bytes=1000)


def learned(engine: Engine, options: SpmdOptions | None = None) -> dict[str, Any]:
    from safetensors.torch import load

    model = ps.Pipeline(st.TorchRegressor("y", **OPTIONS)).fit(rows(engine), options=options)
    return load(model.fitted[0]["weights"].data)


@functools.cache
def learned_by_two(engine: Engine) -> dict[str, Any]:
    return learned(engine, SpmdOptions(world_size=2))


def test_three_processes_learn_what_one_does():
    import torch

    alone = learned(LocalEngine(device="cpu"))
    together = learned(GangEngine(device="cpu"), SpmdOptions(world_size=3, timeout=60))
    for name, values in alone.items():
        torch.testing.assert_close(together[name], values, rtol=0, atol=1e-6)


def struck(marker: Path, blow: int) -> st.TorchRegressor:
    """Return a regressor whose rank 1 is once sent a signal in the middle of epoch 5; sent to workers by value."""

    @dataclass(frozen=True)
    class Struck(st.TorchRegressor):
        def train(self, rank: Any, learned: Any) -> Any:
            from penstock.stages.training.torch import _strategy as strategy

            backward = strategy.DataParallel.backward
            calls = iter(range(10**6))

            def deadly(*arguments: Any, **options: Any) -> Any:
                loss = backward(*arguments, **options)
                if rank.index == 1 and next(calls) == 4 * 10 + 5 and not marker.exists():
                    marker.touch()
                    os.kill(os.getpid(), blow)
                return loss

            strategy.DataParallel.backward = deadly  # type: ignore[method-assign]
            try:
                return st.TorchRegressor.train(self, rank, learned)
            finally:
                strategy.DataParallel.backward = backward  # type: ignore[method-assign]

    Struck.__module__ = "__main__"
    return Struck("y", **OPTIONS)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.each_value
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_rank_lost_in_the_middle_of_an_epoch_costs_nothing_but_time(distributed_engine, engine_notes, tmp_path, blow):
    import torch
    from safetensors.torch import load

    options = SpmdOptions(world_size=2, checkpoint_interval=2, timeout=4, max_restarts=4)
    model = ps.Pipeline(struck(tmp_path / "hit", blow)).fit(rows(distributed_engine), options=options)
    assert (tmp_path / "hit").exists()
    assert any("rank 1 (" in line and "after round 4" in line for line in engine_notes)
    undisturbed = learned_by_two(distributed_engine)
    found = load(model.fitted[0]["weights"].data)
    assert all(torch.equal(found[name], values) for name, values in undisturbed.items())
