"""Ranks that are threads of a test: they talk as those of a cluster do, and say so when they cannot."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.local import LocalEngine
from penstock.errors import DataValueError, ExecutionError, InsecureClusterError
from penstock.pipeline import Pipeline
from penstock.spmd import Rank, SpmdOptions
from penstock.spmd.checkpoints import Checkpoint
from penstock.testing import LocalGang


@pytest.fixture
def data() -> dict[str, Dataset]:
    engine = LocalEngine(device="cpu")
    return {"train": engine.from_arrow(pa.table({"x": range(10)}), fragment_bytes=24)}


def test_ranks_share_the_rows_and_know_what_each_gave(data: dict[str, Dataset]) -> None:
    def body(rank: Rank) -> Any:
        own = [row for batch in rank.batches("train", ["x"], lambda frame: frame["x"].to_list()) for row in batch]
        return rank.threads, rank.gather(own)

    for threads, parts in LocalGang(3).run(body, data, threads=2):
        assert threads == 2
        assert sorted(map(len, parts)) == [3, 3, 4]
        assert sorted(row for part in parts for row in part) == list(range(10))


def test_a_rank_can_have_the_rows_of_all_in_their_order(data: dict[str, Dataset]) -> None:
    def body(rank: Rank) -> list[int]:
        batches = rank.with_all_rows().batches("train", ["x"], lambda frame: frame["x"].to_list())
        return [row for batch in batches for row in batch]

    assert LocalGang(3).run(body, data) == [list(range(10))] * 3


def test_sums_are_made_in_the_order_of_the_ranks_unless_they_are_shuffled() -> None:
    terms = [np.array([0.1]), np.array([1e16]), np.array([-1e16])]

    def sums(shuffled: bool) -> list[list[float]]:
        gang = LocalGang(3, shuffle_sums=shuffled)
        return gang.run(lambda rank: [float(rank.allreduce(terms[rank.index])[0]) for _ in range(20)], {})

    assert sums(False) == [[(0.1 + 1e16) - 1e16] * 20] * 3
    first, *others = sums(True)
    assert others == [first] * 2
    assert set(first) == {0.0, 0.1}


def test_what_a_rank_is_given_is_its_own() -> None:
    def body(rank: Rank) -> tuple[list[float], list[list[int]]]:
        total, given = rank.allreduce(np.array([1.0])), rank.gather([rank.index])
        total += rank.index
        given[0].append(rank.index)
        rank.gather(None)
        return total.tolist(), given

    assert LocalGang(2).run(body, {}) == [([2.0], [[0, 0], [1]]), ([3.0], [[0, 1], [1]])]


def test_checkpoints_of_rank_0_and_rounds_of_all_are_kept(data: dict[str, Dataset]) -> None:
    def body(rank: Rank) -> Checkpoint | None:
        rank.save(4 + rank.index, b"state")
        rank.report(4, f"of {rank.index}")
        return rank.checkpoint

    gang = LocalGang(2)
    assert gang.run(body, data) == [None, None]
    assert gang.checkpoints == [Checkpoint(4, b"state")]
    assert gang.reports == [[(4, "of 0")], [(4, "of 1")]]
    assert gang.run(body, data, checkpoint=gang.checkpoints[0]) == [Checkpoint(4, b"state")] * 2


def test_an_error_of_one_rank_lets_the_others_go_and_is_raised_as_it_is() -> None:
    def body(rank: Rank) -> None:
        if rank.index == 1:
            raise DataValueError("bad", row=3)
        rank.gather(None)

    with pytest.raises(DataValueError) as caught:
        LocalGang(3).run(body, {})
    assert caught.value.row == 3


def test_ranks_that_make_different_calls_are_told_which() -> None:
    def body(rank: Rank) -> None:
        if rank.index:
            rank.allreduce(np.zeros(1))
        else:
            rank.gather(None)

    with pytest.raises(ExecutionError, match="different collective calls at the same time: Gather and Reduce"):
        LocalGang(2).run(body, {})


@pytest.mark.thorough
def test_a_call_that_a_rank_leaves_out_ends_after_the_timeout() -> None:
    gang = LocalGang(2, options=SpmdOptions(timeout=1))
    with pytest.raises(ExecutionError, match="waited for a rank that has ended, or makes none"):
        gang.run(lambda rank: rank.index or rank.gather(None), {})


def test_ranks_of_xgboost_meet_where_it_is_allowed() -> None:
    def body(rank: Rank) -> tuple[int, int]:
        from xgboost import collective

        with rank.collective():
            return collective.get_rank(), collective.get_world_size()

    assert LocalGang(2, options=SpmdOptions(allow_insecure=True)).run(body, {}) == [(0, 2), (1, 2)]
    with pytest.raises(InsecureClusterError):
        LocalGang(2).run(body, {})


@pytest.mark.thorough
def test_a_trainer_learns_on_each_rank_what_it_learns_alone() -> None:
    x = np.random.default_rng(0).normal(size=(60, 2))
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "label": (x[:, 0] + x[:, 1] > 0).astype("int8")})
    data = LocalEngine(device="cpu").from_arrow(table, fragment_bytes=200)
    stage, gang = st.LogisticRegression("label", max_iter=5), LocalGang(3, shuffle_sums=True)
    assert gang.train(stage, data) == [Pipeline(stage).fit(data).fitted[0]] * 3
    assert {rounds for rounds, _ in gang.reports[2]} == {1, 2, 3, 4, 5}


def test_a_trainer_sees_the_rows_held_out() -> None:
    engine = LocalEngine(device="cpu")
    train, held_out = (engine.from_arrow(pa.table({"x": x, "y": x})) for x in ([0.0, 1.0], [2.0, 3.0]))
    stage = st.XGBoostRegressor("y", num_boost_round=2, early_stopping_rounds=2)
    [fitted] = LocalGang(1).train(stage, train, validation=held_out)
    assert len(fitted["history"]["rmse"]) == 2
