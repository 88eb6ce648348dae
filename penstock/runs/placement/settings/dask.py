"""The engine file of a plan on a Dask cluster that runs, and the commands that start its workers."""

from __future__ import annotations

import shlex

import yaml

from penstock.runs.placement.cluster_plan import ClusterPlan
from penstock.runs.placement.offers import Offer

SCHEDULER = "tls://SCHEDULER:8786"
"""Where the scheduler listens; its host is to be put in."""
_MIB = 2**20


def dask_worker(offer: Offer, scheduler: str | None = SCHEDULER) -> list[str]:
    """Return the command that starts the workers of one machine: a process of one thread for each core or GPU.

    Without a scheduler it is the one that the environment names.

    Examples
    --------
    >>> from penstock.runs.placement.machine_type import MachineType
    >>> large = Offer("large", MachineType(cores=16, memory="64GiB", price=0.8), 16, 1.0, "cpu")
    >>> " ".join(dask_worker(large, "tcp://10.0.0.5:8786"))
    'dask worker tcp://10.0.0.5:8786 --nworkers 16 --nthreads 1 --memory-limit 3686MiB'
    """
    size = ["--nthreads", "1", "--memory-limit", f"{offer.machine.usable_memory // offer.slots // _MIB}MiB"]
    address = [] if scheduler is None else [scheduler]
    if offer.device == "gpu":
        return ["dask", "cuda", "worker", *address, *size]
    return ["dask", "worker", *address, "--nworkers", str(offer.slots), *size]


def dask_engine(plan: ClusterPlan, scheduler: str = SCHEDULER) -> str:
    """Return a file as of ``conf/engines``, with the commands for workers as comments.

    Examples
    --------
    >>> from penstock.runs.placement.machine_type import MachineType
    >>> from penstock.runs.placement.workload import Demand
    >>> small = Offer("small", MachineType(cores=4, memory="16GiB", price=0.2), 4, 1.0, "cpu")
    >>> print(dask_engine(ClusterPlan({small: 3}, Demand(tasks=1.0)), "tcp://10.0.0.5:8786").rstrip())
    # On each of 3 machines of type small:
    #   dask worker tcp://10.0.0.5:8786 --nworkers 4 --nthreads 1 --memory-limit 3686MiB
    engine: dask
    device: cpu
    cluster: tcp://10.0.0.5:8786
    """
    lines = []
    for offer, count in plan.machines.items():
        machines = "one machine" if count == 1 else f"each of {count} machines"
        lines.append(f"# On {machines} of type {offer.name}:")
        lines.append(f"#   {shlex.join(dask_worker(offer, scheduler))}")
    engine = {"engine": "dask", "device": plan.device, "cluster": scheduler}
    return "\n".join([*lines, yaml.safe_dump(engine, sort_keys=False)])
