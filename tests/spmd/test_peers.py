"""Who is blamed when a rank is lost, on a clock that the test sets."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from penstock.errors import UserCodeError
from penstock.spmd.messages import Alive, Failed, Joined
from penstock.spmd.peers import Peers, RankLost

TIMEOUT = 10.0


@dataclass
class Gang:
    """Ranks that say what the test has them say, and their coordinator."""

    now: float = 0.0
    ranks: list[Connection] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.peers = Peers(TIMEOUT, lambda: self.now)

    def join(self, size: int) -> None:
        for index in range(size):
            ours, theirs = Pipe()
            theirs.send(Joined(index, f"process {index}"))
            self.peers.admit([ours])
            self.ranks.append(theirs)

    def hear(self, index: int, message: object = None) -> None:
        """Let a rank send something, a sign of life unless told, and its coordinator receive it."""
        self.ranks[index].send(message or Alive())
        assert [heard for heard, _ in self.peers.receive(0)] == [index]

    def fail(self, index: int, text: str = "recv failed") -> None:
        failure = Failed(UserCodeError(text), lost_peer=True)
        self.hear(index, failure)
        self.peers.cut_off(index, failure)


@pytest.fixture
def gang() -> Iterator[Gang]:
    gang = Gang()
    gang.join(3)
    yield gang
    gang.peers.close()
    for rank in gang.ranks:
        rank.close()


def test_the_rank_that_was_silent_for_longest_is_lost(gang: Gang) -> None:
    gang.peers.rounds = 7
    for gang.now, index in ((1.0, 2), (2.0, 0), (3.0, 1)):
        gang.hear(index)
    gang.now = 13.5
    with pytest.raises(
        RankLost, match=r"^rank 2 \(process 2\) was lost after round 7: it gave no sign of life for 12 s"
    ):
        gang.peers.check()


def test_no_rank_is_lost_before_its_time(gang: Gang) -> None:
    gang.now = TIMEOUT
    gang.peers.check()


def test_a_rank_whose_message_waits_is_not_silent(gang: Gang) -> None:
    gang.now = 2 * TIMEOUT  # the coordinator was busy itself
    for rank in gang.ranks:
        rank.send(Alive())
    gang.peers.check()


def test_a_rank_that_is_done_may_be_silent(gang: Gang) -> None:
    gang.peers.finish(1)
    gang.now = 9.0
    gang.hear(0)
    gang.hear(2)
    gang.now = 15.0
    gang.peers.check()


def test_a_rank_that_falls_silent_is_blamed_and_not_the_one_that_it_cut_off(gang: Gang) -> None:
    gang.now = 1.0
    gang.fail(0)
    gang.now = 3.0
    gang.hear(2)
    gang.now = 4.0
    gang.peers.check()  # its silence may yet end
    gang.now = 4.1
    with pytest.raises(RankLost, match=r"^rank 1 .* it fell silent, and rank 0 was cut off"):
        gang.peers.check()


def test_where_all_are_cut_off_the_first_is_blamed_at_once(gang: Gang) -> None:
    for gang.now, index in ((0.1, 1), (0.2, 0), (0.3, 2)):
        gang.fail(index, f"of rank {index}")
    with pytest.raises(RankLost, match=r"^rank 1 \(process 1\) was lost after round 0: of rank 1$"):
        gang.peers.check()


def test_a_rank_that_is_cut_off_while_all_others_live_on_is_blamed_itself(gang: Gang) -> None:
    gang.fail(1)
    for gang.now in (1.0, 2.9):
        gang.hear(0)
        gang.hear(2)
        gang.peers.check()
    gang.now = 3.1
    with pytest.raises(RankLost, match=r"^rank 1 .* recv failed"):
        gang.peers.check()


def test_a_rank_that_goes_away_is_lost_as_soon_as_it_is_heard(gang: Gang) -> None:
    gang.ranks[2].close()
    with pytest.raises(RankLost, match=r"^rank 2 .* its process ended \(the connection closed\)"):
        list(gang.peers.receive(0))


def test_a_rank_that_hung_up_cannot_be_told(gang: Gang) -> None:
    gang.ranks[1].close()
    with pytest.raises(RankLost, match=r"^rank 1 .* its connection closed"):
        gang.peers.broadcast("anything")


def test_who_leaves_before_it_has_said_which_rank_it_is_has_not_joined() -> None:
    peers = Peers(TIMEOUT)
    ours, theirs = Pipe()
    peers.admit([ours])
    assert peers.missing(1) == [0]
    theirs.close()
    peers.admit([])
    assert peers.missing(1) == [0]
    peers.close()
