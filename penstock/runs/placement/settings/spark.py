"""Options of spark-submit for a plan."""

from __future__ import annotations

import math
import shlex

from penstock.runs.placement.cluster_plan import ClusterPlan

_MIB = 2**20
_MOST_HEAP = 2 * 2**30
"""Python workers compute beside the JVM, which only passes results on."""


def spark_submit(plan: ClusterPlan) -> str:
    r"""Return the options: executors of one size that fits each machine a whole number of times.

    Each executor has little heap and much overhead. ``spark.cores.max`` is for a standalone cluster, which does not
    know ``--num-executors``.

    Examples
    --------
    >>> from penstock.runs.placement.machine_type import MachineType
    >>> from penstock.runs.placement.offers import Offer
    >>> from penstock.runs.placement.workload import Demand
    >>> large = Offer("large", MachineType(cores=16, memory="64GiB", price=0.8), 16, 1.0, "cpu")
    >>> print(spark_submit(ClusterPlan({large: 4}, Demand(tasks=1.0))).replace(" --", "\n--"))
    --num-executors 4
    --executor-cores 16
    --executor-memory 2048m
    --conf spark.executor.memoryOverhead=56934m
    --conf spark.cores.max=64
    --conf spark.task.cpus=1
    --conf spark.dynamicAllocation.enabled=false
    """
    slots = math.gcd(*(offer.slots for offer in plan.machines))
    executors = plan.workers // slots
    task_cpus = min(offer.machine.cores // offer.slots for offer in plan.machines)
    memory = min(offer.machine.usable_memory * slots // offer.slots for offer in plan.machines)
    heap = min(_MOST_HEAP, memory // 5)
    settings = {
        "spark.executor.memoryOverhead": f"{(memory - heap) // _MIB}m",
        "spark.cores.max": executors * slots * task_cpus,
        "spark.task.cpus": task_cpus,
        "spark.dynamicAllocation.enabled": "false",
    }
    if plan.device == "gpu":
        settings |= {"spark.executor.resource.gpu.amount": slots, "spark.task.resource.gpu.amount": 1}
    options = ["--num-executors", executors, "--executor-cores", slots * task_cpus]
    options += ["--executor-memory", f"{heap // _MIB}m"]
    options += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return shlex.join(map(str, options))
