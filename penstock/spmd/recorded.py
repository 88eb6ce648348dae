"""A training that is recorded: the body as it was, with the records of all ranks beside what rank 0 returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.core.recording import active_recorder
from penstock.core.recording.task_recording import Recorded, Ticket

if TYPE_CHECKING:
    from penstock.core.scheduler import Scheduler
    from penstock.dataset.dataset import Dataset
    from penstock.spmd.assignment import Body
    from penstock.spmd.options import SpmdOptions
    from penstock.spmd.rank import Rank


def train(engine: Scheduler, body: Body, datasets: Mapping[str, Dataset], options: SpmdOptions, *, label: str) -> Any:
    """Give what `Scheduler.spmd` gives; each rank is recorded where a recorder is active."""
    recorder = active_recorder()
    if recorder is None:
        return engine.spmd(body, datasets, options, label=label)
    with recorder.scan(label, 0, engine, kind="train") as ticket:
        return recorder.take(engine.spmd(RecordedBody(body, ticket), datasets, options, label=label))


@dataclass(frozen=True, repr=False)
class RecordedBody:
    """Runs a body on each rank, and gathers their records on all of them."""

    body: Body
    ticket: Ticket

    def __repr__(self) -> str:
        """Return the text of the body: a checkpoint is gone on from whether or not a training is recorded."""
        return repr(self.body)

    @property
    def rounds(self) -> int:
        """How many rounds there are, for progress."""
        return int(getattr(self.body, "rounds", 0))

    @property
    def opens_ports(self) -> bool:
        """Whether several ranks listen on every address of their machines."""
        return bool(getattr(self.body, "opens_ports", False))

    def __call__(self, rank: Rank) -> Recorded[Any]:
        """Train on one rank."""
        with self.ticket.record("rank", "train", rank) as recording:
            value = self.body(rank)
        return Recorded(value, rank.gather(recording.record))
