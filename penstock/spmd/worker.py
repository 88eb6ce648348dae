"""What a worker does to be a rank of a gang."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from multiprocessing.connection import Client, Connection
from typing import Any, Self

import numpy as np

from penstock import devices
from penstock.core.errors import ExecutionError, PenstockError, StageTimeoutError, UserCodeError
from penstock.core.recording.attempts import on_attempt
from penstock.dataset.task_errors import translated
from penstock.spmd.assignment import Assignment, RankAssignment
from penstock.spmd.checkpoints import Checkpoint
from penstock.spmd.messages import Alive, Answer, Done, Failed, Gather, Joined, Ready, Reduce, Round, Saved, Start
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


_BEAT = 1.0
"""Seconds between signs of life, at most; a quarter of the time after which silence is a loss, where that is less."""


class Channel:
    """Connects when it is entered, and tells that its process is alive until it is left; a `Communicator`.

    Parameters
    ----------
    place : RankAssignment
    """

    def __init__(self, place: RankAssignment) -> None:
        self._place = place
        self.index, self.size, self.timeout = place.index, place.size, place.timeout
        self.name = f"{socket.gethostname()}, process {os.getpid()}"
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._beat = threading.Thread(target=self._keep_alive, name="penstock-heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._connection = _connect(self._place)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._beat.is_alive():
            self._beat.join()
        self._connection.close()

    def join(self) -> Start:
        """Join the gang and wait until all ranks have."""
        self._send(Joined(self.index, self.name))
        self._beat.start()
        return self._wait(self._place.start_timeout)

    def rendezvous(self) -> dict[str, Any]:
        """Wait until all ranks are ready for collective calls; a frozen one is found by its silence."""
        return self._call(Ready())

    def gather(self, value: Any) -> list[Any]:
        """Hand a small value to the coordinator, and wait for those of all ranks."""
        return self._call(Gather(value))

    def allreduce(self, values: np.ndarray) -> np.ndarray:
        """Hand an array to the coordinator, and wait for the sum of those of all ranks."""
        return self._call(Reduce(values))

    @property
    def host(self) -> str:
        """The address of this machine on the network of the coordinator."""
        with socket.socket(fileno=os.dup(self._connection.fileno())) as connected:
            return connected.getsockname()[0]

    keeps_checkpoints = True

    def save(self, checkpoint: Checkpoint) -> None:
        """Hand a checkpoint to the coordinator."""
        self._send(Saved(checkpoint))

    def report(self, rounds: int, detail: str) -> None:
        """Tell how far the training is."""
        self._send(Round(rounds, detail))

    def done(self, result: Any) -> None:
        """Tell that the body returned."""
        self._send(Done(result))

    def failed(self, error: PenstockError, *, lost_peer: bool) -> None:
        """Tell that the body raised; the error can be pickled."""
        self._send(Failed(error, lost_peer))

    def _send(self, message: object) -> None:
        with self._lock:
            self._connection.send(message)

    def _call(self, contribution: Ready | Gather | Reduce) -> Any:
        self._send(contribution)
        answer: Answer = self._wait(None)
        return answer.value

    def _wait(self, seconds: float | None) -> Any:
        if not self._connection.poll(seconds):
            raise StageTimeoutError(
                f"rank {self.index} waited {seconds:g} s for {self.size} ranks to start",
                hint="Free some slots of the cluster, or ask for fewer ranks with world_size.",
            )
        return self._connection.recv()

    def _keep_alive(self) -> None:
        while not self._stop.wait(min(_BEAT, self.timeout / 4)):
            try:
                self._send(Alive())
            except OSError:
                return


def _connect(place: RankAssignment) -> Connection:
    try:
        return Client(place.address, authkey=place.key)
    except OSError as error:
        host, port = place.address
        raise ExecutionError(
            f"rank {place.index} cannot reach its coordinator at {host}:{port}: {error}",
            hint="Workers must be able to open connections to the machine of the driver.",
        ) from error
