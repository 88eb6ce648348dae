"""What a worker does to be a rank of a gang."""

from __future__ import annotations

from contextlib import suppress

from penstock import devices
from penstock.core.errors import UserCodeError
from penstock.core.recording.attempts import on_attempt
from penstock.dataset.task_errors import translated
from penstock.spmd.assignment import Assignment, RankAssignment
from penstock.spmd.channel import Channel
from penstock.spmd.rank import Rank


def run_rank(place: RankAssignment, assignment: Assignment) -> None:
    """Run the body as one rank of a gang, on a worker; its outcome goes to the coordinator."""
    with Channel(place) as channel:
        start = channel.join()
        rank = Rank(assignment, channel, start.checkpoint, place.checkpoint_interval)
        try:
            devices.use(assignment.kind)
            with on_attempt(place.attempt):
                result = assignment.body(rank)
            channel.done(result if rank.index == 0 else None)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            lost_peer = is_lost_peer(error)
            what = "its collective call" if lost_peer else f"rank {rank.index} ({channel.name})"
            with suppress(OSError):  # the coordinator has hung up: it has given up on this attempt
                channel.failed(translated(error, what, UserCodeError), lost_peer=lost_peer)


_LOST = {
    "XGBoostError": ("collective/", "allreduce", "allgather", "broadcast", "socket"),
    "DistError": ("",),  # all of torch.distributed but gloo, which has no class of its own
    "RuntimeError": ("/gloo/", "NCCL error", "NCCL_ERROR", "failed rank"),  # the others are those of RAFT
}
"""Classes of errors, and words one of which is in the text of those that tell of a lost peer."""


def is_lost_peer(error: BaseException) -> bool:
    """Return whether an error is what a lost peer looks like from inside a collective call."""
    words = [word for kind in type(error).__mro__ for word in _LOST.get(kind.__name__, ())]
    return any(word in str(error) for word in words)
