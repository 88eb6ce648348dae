"""Workers that come while a training runs: when it begins again on them, and from where."""

import time
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from spmd.rank_threads import Threads, run

from penstock import stages as st
from penstock.engines.local import LocalEngine
from penstock.errors import InsecureClusterError, UserCodeError
from penstock.spmd import Rank, SpmdOptions
from penstock.spmd.gang import Growth
from penstock.testing.gang import LocalGang

# When


def growth(beginning: float, a_round: float, *, size: int = 1, rounds: int = 100, room: int = 2) -> Growth:
    """Return what is known after 11 rounds: how long the first took from the beginning, and each of the others."""
    moments = iter([0.0, beginning, beginning + 10 * a_round])
    found = Growth(size, rounds, lambda: room, lambda: next(moments))
    found.advanced(1)
    return found


def test_it_begins_again_where_that_is_sooner():
    for beginning, a_round, size, room, expected in (
        (5.0, 1.0, 1, 2, 2), (44.0, 1.0, 1, 2, 2), (45.0, 1.0, 1, 2, None),  # half of the 89 s that are left
        (5.0, 1.0, 2, 2, None), (5.0, 1.0, 2, 1, None), (5.0, 1.0, 2, 3, 3), (30.0, 1.0, 2, 3, None),
        (1.0, 0.001, 1, 8, None),
    ):  # fmt: skip
        found = growth(beginning, a_round, size=size, room=room).size_from(11)
        assert found == expected, (beginning, a_round, size, room)


def test_it_goes_on_where_nothing_is_known_of_rounds():
    assert growth(5.0, 1.0, rounds=0).size_from(11) is None
    assert growth(5.0, 1.0).size_from(1) is None  # as many as there were when the first was over
    assert Growth(1, 100, lambda: 2, lambda: 0.0).size_from(11) is None


# From where


@dataclass
class Room:
    """How many ranks there could be: one, until so many have been asked for."""

    later: int
    asked: int = 0

    def __call__(self) -> int:
        self.asked += 1
        return self.later if self.asked > 2 else 1


@dataclass(frozen=True)
class AddUp:
    """Adds up the rows of all ranks in each round, on several ranks without a wait, as if they were faster by far.

    One rank alone takes half a minute: however long a busy machine takes to begin again, that is sooner.
    """

    rounds: int = 60
    opens_ports: bool = False

    def __call__(self, rank: Rank) -> tuple[int, int, float]:
        own = sum(sum(rows) for rows in rank.batches("train", ["x"], lambda frame: frame["x"].to_list()))
        first = 0 if rank.checkpoint is None else rank.checkpoint.rounds
        total = 0.0 if rank.checkpoint is None else float(rank.checkpoint.data)
        for done in range(first + 1, self.rounds + 1):
            time.sleep(0.4 if rank.size == 1 else 0.0)
            total += float(rank.allreduce(np.array([float(own)]))[0])
            rank.report(done)
            rank.save(done, str(total).encode())
        return rank.size, first, total


ELASTIC = SpmdOptions(timeout=60, start_timeout=60, max_restarts=0, elastic=True)


@pytest.mark.faults
def test_rounds_that_are_done_are_not_done_again_and_all_ranks_share_the_rows(data, notes):
    launch = Threads()
    size, first, total = run(launch, AddUp(), data, ELASTIC, size=1, room=Room(3))
    assert (size, launch.started, total) == (3, 2, 60 * 45.0)
    assert 3 <= first < 60
    assert notes.notes == ["train it: workers came, so it begins again on 3 ranks from a checkpoint"]
    assert notes.advanced.count(first) >= 1  # progress begins where the checkpoint is
    assert [place.attempt for place in launch.places] == [1, 1, 1]  # and it may still lose as many ranks


def test_after_a_loss_it_begins_again_on_the_workers_that_are_left(data):
    launch = Threads()

    def body(rank: Rank) -> int:
        if rank.index == 1:
            raise KeyboardInterrupt
        rank.gather(None)
        return rank.size

    found = run(launch, body, data, replace(ELASTIC, max_restarts=1), room=lambda: 1)
    assert (found, launch.started) == (1, 2)


@pytest.mark.thorough
def test_it_does_not_begin_again_where_no_worker_comes(data, notes):
    launch = Threads()
    assert run(launch, AddUp(rounds=4), data, ELASTIC, size=1, room=lambda: 1) == (1, 0, 4 * 45.0)
    assert (launch.started, notes.notes) == (1, [])


def test_ranks_that_would_open_ports_are_refused_before_there_are_several(data):
    launch = Threads()
    with pytest.raises(InsecureClusterError):
        run(launch, AddUp(opens_ports=True), data, ELASTIC, size=1, room=lambda: 1)
    assert launch.started == 0


@dataclass(frozen=True)
class EndsAlone:
    """Saves what one rank has done, and fails; several ranks give what they go on from."""

    def __call__(self, rank: Rank) -> int | None:
        if rank.size == 1:
            rank.save(4, b"state")
            rank.gather(None)  # the checkpoint has arrived
            raise ValueError("of one rank")
        return None if rank.checkpoint is None else rank.checkpoint.rounds


@pytest.mark.faults
@pytest.mark.parametrize(("elastic", "expected"), [(True, 4), (False, None)])
def test_a_run_that_is_started_again_goes_on_with_another_number_of_ranks_where_it_is_elastic(
    data, tmp_path, elastic, expected
):
    options = SpmdOptions(timeout=60, start_timeout=60, checkpoint_dir=tmp_path, elastic=elastic)
    with pytest.raises(UserCodeError, match="of one rank"):
        run(Threads(), EndsAlone(), data, options, size=1)
    assert run(Threads(), EndsAlone(), data, options, size=2) == expected


TRAINERS = [
    st.LogisticRegression("y", features=["a", "b"], max_iter=30, tol=1e-12),
    st.KMeans(["a", "b"], k=3, max_iter=12, tol=0.0),
    st.GaussianMixture(["a", "b"], k=2, max_iter=12, tol=1e-9),
    st.GeneralizedLinearRegression("y", features=["a", "b"], family="binomial", max_iter=12, tol=1e-12),
]


@pytest.mark.thorough
def test_what_is_learned_is_that_of_one_rank(subtests):
    draw = np.random.default_rng(5)
    table = pa.table({"a": draw.normal(size=300), "b": draw.normal(size=300), "y": draw.integers(0, 2, 300)})
    rows = LocalEngine(device="cpu").from_arrow(table, fragment_bytes=1000)
    for stage in TRAINERS:
        with subtests.test(stage=type(stage).__name__):
            alone = LocalGang(1, options=SpmdOptions(checkpoint_interval=1))
            (expected,) = alone.train(stage, rows)
            middle = alone.checkpoints[len(alone.checkpoints) // 2]
            assert LocalGang(3).train(stage, rows, checkpoint=middle) == [expected] * 3
