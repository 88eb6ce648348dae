"""The header of a job of Slurm for a plan."""

from __future__ import annotations

import math
from collections.abc import Iterator

from penstock.runs.placement.cluster_plan import ClusterPlan
from penstock.runs.placement.offers import Offer

_MIB = 2**20
_LEEWAY = 2
"""Times that a run may take longer than the upper bound of its interval before Slurm ends it."""


def sbatch_header(plan: ClusterPlan) -> str:
    """Return the first lines of a script for ``sbatch``: a node a machine, with one task that has all of it.

    Machines of several types are components of one heterogeneous job. The names of types are features of nodes
    (``--constraint``).

    Examples
    --------
    >>> from penstock.runs.placement.machine_type import MachineType
    >>> from penstock.runs.placement.workload import Demand
    >>> large = Offer("large", MachineType(cores=16, memory="64GiB", price=0.8), 16, 1.0, "cpu")
    >>> print(sbatch_header(ClusterPlan({large: 4}, Demand(tasks=64 * 3600.0))))
    #!/usr/bin/env bash
    #SBATCH --job-name=penstock
    #SBATCH --time=0-02:00:00
    #SBATCH --nodes=4
    #SBATCH --ntasks-per-node=1
    #SBATCH --cpus-per-task=16
    #SBATCH --mem=58982M
    #SBATCH --constraint=large
    <BLANKLINE>
    """
    time = _time(_LEEWAY * plan.interval[1])
    components = [_component(offer, count, time) for offer, count in plan.machines.items()]
    lines = "\n#SBATCH hetjob\n".join("\n".join(f"#SBATCH {option}" for option in options) for options in components)
    return f"#!/usr/bin/env bash\n{lines}\n"


def _component(offer: Offer, count: int, time: str) -> Iterator[str]:
    yield "--job-name=penstock"
    yield f"--time={time}"
    yield f"--nodes={count}"
    yield "--ntasks-per-node=1"
    yield f"--cpus-per-task={offer.machine.cores}"
    yield f"--mem={offer.machine.usable_memory // _MIB}M"
    if offer.device == "gpu":
        yield f"--gpus-per-node={offer.slots}"
    yield f"--constraint={offer.name}"


def _time(seconds: float) -> str:
    minutes = max(1, math.ceil(seconds / 60))
    return f"{minutes // 1440}-{minutes // 60 % 24:02}:{minutes % 60:02}:00"
