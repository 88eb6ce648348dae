"""The only rank, in the process of the driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock import devices
from penstock.core.errors import ConfigError, PenstockError, UserCodeError
from penstock.dataset.task_errors import translated
from penstock.spmd.assignment import Assignment, Body
from penstock.spmd.checkpoints import CheckpointStore, checkpoint_store
from penstock.spmd.communicator import SoloCommunicator
from penstock.spmd.options import SpmdOptions
from penstock.spmd.rank import Rank

if TYPE_CHECKING:
    from penstock.core.scheduler import Scheduler
    from penstock.dataset.dataset import Dataset


def run_alone(
    body: Body, datasets: Mapping[str, Dataset], options: SpmdOptions, engine: Scheduler, label: str, *, threads: int
) -> Any:
    """Run the body in this process as the only rank, on so many threads.

    Raises
    ------
    ConfigError
        More than one rank was asked for.
    PenstockError, UserCodeError
        What the body raised.
    """
    assignment = Assignment.of(body, datasets, rank_alone(options, engine), engine.kind, threads)
    total = getattr(body, "rounds", 0)
    with checkpoint_store(options, body, datasets, 1) as store, engine.progress.track(label, total) as track:
        communicator = SoloCommunicator(store, track.advance)
        rank = Rank(assignment, communicator, store.load(), options.checkpoint_interval)
        result = _run(rank, label)
        store.clear()
        return result


def rank_alone(options: SpmdOptions, engine: Scheduler) -> int:
    """Return 1, the ranks of a process; ConfigError where more are asked for."""
    if options.world_size not in (None, 1):
        raise ConfigError(
            f"world_size is {options.world_size}, but the {engine.name} engine has one rank", hint="Use Dask or Spark."
        )
    return 1


def train_in_process(assignment: Assignment, label: str) -> Any:
    """Run the body of an assignment of one rank in this process, a worker's say; return what it returns.

    Raises
    ------
    PenstockError, UserCodeError
        What the body raised.
    """
    with CheckpointStore(None, label) as store:
        return _run(Rank(assignment, SoloCommunicator(store, lambda rounds, detail: None)), label)


def _run(rank: Rank, label: str) -> Any:
    devices.use(rank.kind)
    try:
        return rank.assignment.body(rank)
    except (PenstockError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever is not an error of Penstock's own is raised as one
        raise translated(error, label, UserCodeError, stage=label) from error
