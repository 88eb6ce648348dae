"""What a run that has ended cost, by the price of the machines that it ran on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.errors import ConfigError, check_one_of
from penstock.runs.placement.goals import HOUR
from penstock.runs.placement.machine_type import MachineType
from penstock.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """The cost of a run.

    Attributes
    ----------
    machine : str
        The type of machine.
    count : int
        How many there were.
    seconds : float
        For which they were there.
    cost : float
        In the unit of their price.
    """

    machine: str
    count: int
    seconds: float
    cost: float


def run_cost(run: Run, machines: Mapping[str, MachineType], machine: str | None = None) -> RunCost:
    """Return what a run cost: the hosts that its tasks ran on, or its own host if it has no tasks, by its time.

    Parameters
    ----------
    run : Run
    machines : mapping of str to MachineType
        See `read_machines`.
    machine : str, optional
        The type of its hosts; unless given the one that has as many cores as the host that recorded it, and of several
        the one whose memory is nearest.

    Raises
    ------
    ConfigError
        There is no such type, or none with as many cores.

    Examples
    --------
    >>> import tempfile, penstock as ps
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ps.runs.record(folder) as recording:
    ...         pass
    ...     run = ps.runs.Run.load(recording.path)
    >>> cost = run_cost(run, {"mine": MachineType(cores=4, memory="16GiB", price=3600.0)}, "mine")
    >>> cost.count, abs(cost.cost - run.seconds) < 1e-9
    (1, True)
    """
    name = machine_of(run, machines) if machine is None else machine
    check_one_of("machine", name, list(machines))
    count = max(1, len(run.tasks["host"].unique()))
    cost = count * run.seconds / HOUR * machines[name].price
    return RunCost(machine=name, count=count, seconds=run.seconds, cost=cost)


def machine_of(run: Run, machines: Mapping[str, MachineType]) -> str:
    """Return the name of the type that is as the host which recorded a run; see `run_cost`."""
    host = run.info["machine"]
    like = {name: each for name, each in machines.items() if each.cores == host["cores"]}
    if not like:
        problem = f"run {run.id} was recorded on a machine of {host['cores']} cores, and no type has as many"
        raise ConfigError(problem, hint=f"Name the type: {', '.join(machines)}.")
    return min(like, key=lambda name: abs(like[name].memory_bytes - host["memory"]))
