"""Ranks as threads: done, lost, started again, given up, and visited by strangers."""

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Client
from typing import Any

import psutil
import pyarrow as pa
import pytest
from spmd.rank_threads import Threads, run

from penstock.core.recording.task_recording import Ticket
from penstock.errors import DataValueError, PenstockError, StageTimeoutError, UserCodeError, WorkerLostError
from penstock.spmd import Assignment, Body, Rank, RankAssignment, SpmdOptions, peers
from penstock.spmd.messages import Joined
from penstock.spmd.recorded import RecordedBody


def rows(rank: Rank) -> list[int]:
    return [row for batch in rank.batches("train", ["x"], lambda frame: frame["x"].to_list()) for row in batch]


# Done


def test_the_result_is_that_of_rank_0(data):
    found = run(Threads(), lambda rank: (rank.index, rank.size, rank.threads, rank.datasets), data, size=3)
    assert found == (0, 3, 1, ["train"])


def test_ranks_share_the_rows_if_any(data):
    seen: dict[int, list[int]] = {}
    run(Threads(), lambda rank: seen.update({rank.index: rows(rank)}), data, size=3)
    assert sorted(row for part in seen.values() for row in part) == list(range(10))
    assert sorted(map(len, seen.values())) == [3, 3, 4]
    seen.clear()
    few = {"train": data["train"].engine.from_arrow(pa.table({"x": [1]}))}
    run(Threads(), lambda rank: seen.update({rank.index: rows(rank)}), few, size=3)
    assert sorted(map(len, seen.values())) == [0, 0, 1]


def test_progress_is_that_of_rank_0(data, notes):
    run(Threads(), lambda rank: [rank.report(number) for number in (1, 2, 5)], data)
    assert notes.advanced == [0, 1, 1, 3]


def test_nothing_is_left_behind(data):
    before, launch = set(threading.enumerate()), Threads()
    run(launch, rows, data)
    deadline = time.monotonic() + 100
    while left := [each for each in set(threading.enumerate()) - before if each.name.startswith("penstock-")]:
        assert time.monotonic() < deadline, left
        time.sleep(0.01)
    listening = {each.laddr for each in psutil.Process().net_connections() if each.status == psutil.CONN_LISTEN}
    assert launch.places[0].address not in listening


# Lost


def loses_once(lost: set[int], *, saves: bool) -> Body:
    """Return a body whose rank 1 goes away in the first attempt, and which gives what it went on from."""

    def body(rank: Rank) -> Any:
        if rank.index == 0 and saves and rank.checkpoint is None:
            rank.save(4, b"state")
        rank.gather(None)  # the checkpoint has arrived
        if rank.index == 1 and not lost:
            lost.add(1)
            raise KeyboardInterrupt
        return rank.checkpoint

    return body


def test_a_lost_rank_is_started_again_from_the_checkpoint(data, notes):
    launch = Threads()
    found = run(launch, loses_once(set(), saves=True), data)
    assert (found.rounds, found.data) == (4, b"state")
    assert launch.started == 2
    assert "rank 1" in notes.notes[0]
    assert "attempt 1 of 2 ended" in notes.notes[0]
    assert notes.advanced[-1] == 4  # the second attempt begins at round 4


def test_without_a_checkpoint_it_begins_anew(data):
    assert run(Threads(), loses_once(set(), saves=False), data) is None


def test_ranks_are_recorded_with_the_number_of_their_attempt(data):
    found = run(Threads(), RecordedBody(loses_once(set(), saves=False), Ticket(0, "cpu")), data)
    assert [record.attempt for record in found.records] == [1, 1]


def test_a_rank_lost_too_often_is_named_with_its_process_and_cause(data):
    launch = Threads()

    def body(rank: Rank) -> None:
        rank.report(3)
        rank.gather(None)
        if rank.index == 1:
            raise KeyboardInterrupt
        rank.gather(None)

    with pytest.raises(WorkerLostError, match=r"lost a rank in each of 2 attempt\(s\)") as caught:
        run(launch, body, data)
    assert f"rank 1 ({socket.gethostname()}, process {os.getpid()})" in caught.value.message
    assert "after round 3: its process ended" in caught.value.message
    assert (caught.value.attempt, caught.value.engine, caught.value.stage) == (2, "local", "train it")
    assert launch.started == 2


def test_no_restart_is_made_where_none_is_allowed(data):
    launch = Threads()
    with pytest.raises(WorkerLostError, match=r"each of 1 attempt\(s\)"):
        run(launch, loses_once(set(), saves=False), data, SpmdOptions(max_restarts=0))
    assert launch.started == 1


def join_and_freeze(place: RankAssignment, assignment: Assignment) -> None:
    """Join the gang, and give no sign of life until the coordinator hangs up, as a stopped process does."""
    with Client(place.address, authkey=place.key) as connection:
        connection.send(Joined(place.index, "one who froze"))
        with suppress(EOFError, OSError):
            while True:
                connection.recv()


@pytest.mark.faults
def test_a_frozen_rank_is_lost_and_a_slow_one_that_gives_signs_of_life_is_not(data):
    options = SpmdOptions(timeout=3, max_restarts=0)
    with pytest.raises(WorkerLostError, match=r"rank 1 \(one who froze\) .* gave no sign of life for \d+ s"):
        run(Threads({1: join_and_freeze}), lambda rank: rank.gather(None), data, options)
    assert run(Threads(), lambda rank: time.sleep(3.2), data, options) is None


class XGBoostError(Exception):
    """Stands for the one that a collective call raises when a peer is gone."""


@pytest.mark.faults
def test_the_rank_that_fell_silent_is_blamed_and_not_the_one_it_cut_off(data, monkeypatch):
    monkeypatch.setattr(peers, "_GRACE", 0.5)

    def body(rank: Rank) -> None:
        raise XGBoostError("collective/allreduce: recv failed")

    with pytest.raises(WorkerLostError, match=r"rank 1 .* it fell silent, and rank 0 was cut off"):
        run(Threads({1: join_and_freeze}), body, data, SpmdOptions(timeout=60, max_restarts=0))


def test_a_collective_call_that_fails_everywhere_is_a_loss_too(data):
    def body(rank: Rank) -> None:
        raise XGBoostError("collective/allreduce: recv failed")

    with pytest.raises(WorkerLostError, match=r"rank [01] .*: its collective call raised XGBoostError: collective"):
        run(Threads(), body, data, SpmdOptions(max_restarts=0))


# Failed


def test_an_error_of_the_body_is_not_tried_again(data):
    launch = Threads()

    def body(rank: Rank) -> None:
        if rank.index == 1:
            raise KeyError("no such thing")

    with pytest.raises(UserCodeError, match=r"rank 1 .* raised KeyError: 'no such thing'"):
        run(launch, body, data)
    assert launch.started == 1


def test_an_error_of_penstock_keeps_its_type_and_place(data):
    def body(rank: Rank) -> None:
        raise DataValueError("bad", path="f.parquet", row=3)

    with pytest.raises(DataValueError) as caught:
        run(Threads(), body, data)
    assert (caught.value.path, caught.value.row) == ("f.parquet", 3)


def test_a_result_that_cannot_travel_is_an_error_and_no_loss(data):
    launch = Threads()
    with pytest.raises(PenstockError, match="lock") as caught:
        run(launch, lambda rank: threading.Lock(), data)
    assert not isinstance(caught.value, WorkerLostError)
    assert launch.started == 1


# Started


@dataclass
class Late(Threads):
    """Starts all ranks but the last."""

    why: str | None = None

    def __call__(self, places: Sequence[RankAssignment], assignment: Assignment) -> Threads:
        return super().__call__(places[:-1], assignment)

    def problem(self) -> str | None:
        return self.why


@pytest.mark.faults
def test_ranks_that_do_not_start_in_time_are_named(data):
    launch = Late()
    with pytest.raises(StageTimeoutError, match=r"1 of 3 rank\(s\) did not start within 2 s: rank 2"):
        run(launch, rows, data, SpmdOptions(start_timeout=2), size=3)
    assert launch.started == 1


def test_why_an_engine_gave_up_is_told(data):
    with pytest.raises(WorkerLostError, match="the ranks did not start: no worker is left"):
        run(Late(why="no worker is left"), rows, data)


# Strangers


@dataclass
class Visited(Threads):
    """Lets somebody else in first."""

    visit: Callable[[tuple[str, int]], Any] = lambda address: None
    guests: list[Any] = field(default_factory=list)

    def __call__(self, places: Sequence[RankAssignment], assignment: Assignment) -> Threads:
        self.guests.append(self.visit(places[0].address))
        return super().__call__(places, assignment)


def wrong_key(address: tuple[str, int]) -> str:
    def knock() -> None:
        try:
            Client(address, authkey=b"a guess")
        except Exception as error:
            answers.append(type(error).__name__)

    answers: list[str] = []
    for _ in range(3):
        threading.Thread(target=knock, daemon=True).start()
    return "knocked"


def says_nothing(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address)


def hangs_up(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as guest:
        guest.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # a reset, not an orderly end


def test_a_stranger_is_not_let_in_and_holds_up_nobody(data):
    for visit in (wrong_key, says_nothing, hangs_up):
        launch = Visited(visit=visit)
        assert run(launch, lambda rank: rank.size, data, SpmdOptions(start_timeout=60)) == 2
        for guest in launch.guests:
            if isinstance(guest, socket.socket):
                guest.close()
