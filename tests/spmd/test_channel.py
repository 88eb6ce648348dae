"""A rank's end of the conversation, held with a coordinator that the test plays."""

import os
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Client, Connection
from typing import Any

import pytest

from penstock.errors import ConfigError, ExecutionError, StageTimeoutError
from penstock.spmd import RankAssignment
from penstock.spmd import messages as m
from penstock.spmd.checkpoints import Checkpoint
from penstock.spmd.listener import Listener
from penstock.spmd.worker import Channel

KEY = b"key of the test"


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener("127.0.0.1", KEY, 60.0, backlog=4) as listener:
        yield listener


def place(listener: Listener, **changes: Any) -> RankAssignment:
    """Return the place of rank 1 of 2."""
    times = {"timeout": 60.0, "start_timeout": 20.0, "checkpoint_interval": 10}
    return RankAssignment(**{"index": 1, "size": 2, "address": listener.address, "key": KEY, **times, **changes})


def arrival(listener: Listener, seconds: float = 60.0) -> Connection:
    for _ in range(int(seconds * 10)):
        if found := listener.arrivals(0.1):
            return found[0]
    raise AssertionError("nobody came")


def hear(coordinator: Connection, kind: type) -> Any:
    """Return the next message that is no sign of life."""
    while coordinator.poll(60):
        message = coordinator.recv()
        if not isinstance(message, m.Alive) or kind is m.Alive:
            assert isinstance(message, kind), message
            return message
    raise AssertionError(f"no {kind.__name__} came")


@pytest.fixture
def talk(listener: Listener) -> Iterator[tuple[Channel, Connection]]:
    """A channel and the coordinator's end of it, signs of life four times a second."""
    channel = Channel(place(listener, timeout=1.0))
    entered = threading.Thread(target=channel.__enter__)
    entered.start()
    coordinator = arrival(listener)
    entered.join()
    yield channel, coordinator
    channel.__exit__(None, None, None)
    coordinator.close()


def test_a_rank_joins_with_its_process_and_starts_from_the_checkpoint(talk):
    channel, coordinator = talk
    coordinator.send(m.Start(Checkpoint(3, b"trees")))
    assert channel.join().checkpoint == Checkpoint(3, b"trees")
    joined = hear(coordinator, m.Joined)
    assert joined.index == 1
    assert "process" in joined.name


@pytest.mark.thorough
def test_it_gives_signs_of_life_until_it_leaves(talk):
    channel, coordinator = talk
    coordinator.send(m.Start(None))
    channel.join()
    hear(coordinator, m.Joined)
    assert [hear(coordinator, m.Alive) for _ in range(3)] == [m.Alive()] * 3
    channel.__exit__(None, None, None)
    with pytest.raises(EOFError):
        while True:
            coordinator.recv()


def test_signs_of_life_are_more_frequent_than_the_silence_that_is_a_loss(talk, monkeypatch):
    channel, coordinator = talk
    waits: list[float] = []
    monkeypatch.setattr(channel._stop, "wait", lambda seconds: waits.append(seconds) or len(waits) > 3)
    coordinator.send(m.Start(None))
    channel.join()
    hear(coordinator, m.Joined)
    assert [hear(coordinator, m.Alive) for _ in range(3)] == [m.Alive()] * 3
    assert set(waits) == {0.25}  # of the second that its coordinator allows


def test_it_waits_for_the_others_only_so_long(listener):
    channel = Channel(place(listener, start_timeout=0.2))
    entered = threading.Thread(target=channel.__enter__)
    entered.start()
    coordinator = arrival(listener)
    entered.join()
    with pytest.raises(StageTimeoutError, match=r"rank 1 waited 0\.2 s for 2 ranks to start"):
        channel.join()
    channel.__exit__(None, None, None)
    coordinator.close()


def test_it_tells_of_rounds_checkpoints_and_the_end(talk):
    channel, coordinator = talk
    channel.report(4, "auc 0.5")
    channel.save(Checkpoint(4, b"x"))
    channel.done({"rounds": 4})
    assert hear(coordinator, m.Round) == m.Round(4, "auc 0.5")
    assert hear(coordinator, m.Saved) == m.Saved(Checkpoint(4, b"x"))
    assert hear(coordinator, m.Done) == m.Done({"rounds": 4})


def test_meeting_gives_the_arguments_of_the_communicator(talk):
    channel, coordinator = talk
    coordinator.send(m.Answer({"dmlc_tracker_port": 9}))
    assert channel.rendezvous() == {"dmlc_tracker_port": 9}
    assert hear(coordinator, m.Ready) == m.Ready()


def test_an_error_travels_as_it_is(talk):
    channel, coordinator = talk
    channel.failed(ConfigError("bad", column="x"), lost_peer=False)
    failed = hear(coordinator, m.Failed)
    assert isinstance(failed.error, ConfigError)
    assert (failed.error.column, failed.lost_peer) == ("x", False)


def test_a_coordinator_that_cannot_be_reached_is_named(listener):
    listener.__exit__(None, None, None)
    host, port = listener.address
    with pytest.raises(ExecutionError, match=f"rank 1 cannot reach its coordinator at {host}:{port}"):
        Channel(place(listener)).__enter__()


def test_the_key_is_not_shown(listener):
    assert "key" not in repr(place(listener))


@pytest.fixture
def frozen() -> Iterator[tuple[Connection, Connection]]:
    """A coordinator's end of a connection, and that of a rank which neither reads nor goes on writing."""
    with Listener("127.0.0.1", KEY, 1.0, backlog=1) as listener, ThreadPoolExecutor(1) as outside:
        rank = outside.submit(Client, listener.address, authkey=KEY)
        coordinator = arrival(listener)
        yield coordinator, rank.result()
        coordinator.close()
        rank.result().close()


@pytest.mark.faults
def test_a_rank_that_no_longer_reads_holds_up_its_coordinator_for_the_timeout(frozen):
    began = time.monotonic()
    with pytest.raises(OSError, match="temporarily unavailable"):
        frozen[0].send_bytes(bytes(64_000_000))
    assert time.monotonic() - began > 0.9


@pytest.mark.faults
def test_a_message_that_is_cut_off_holds_up_the_coordinator_for_the_timeout(frozen):
    coordinator, rank = frozen
    os.write(rank.fileno(), struct.pack("!i", 1000) + b"a part")
    began = time.monotonic()
    with pytest.raises(OSError, match="temporarily unavailable"):
        coordinator.recv_bytes()
    assert time.monotonic() - began > 0.9
