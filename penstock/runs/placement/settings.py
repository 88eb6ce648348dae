"""Settings of a plan: for Dask, on its own and on Kubernetes, for Slurm and for spark-submit."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from typing import Any

import yaml

from penstock.runs.placement.cluster_plan import ClusterPlan
from penstock.runs.placement.machine_type import USABLE
from penstock.runs.placement.offers import Offer

SCHEDULER = "tls://SCHEDULER:8786"
"""Where the scheduler listens; its host is to be put in."""
_MIB = 2**20
API = "kubernetes.dask.org/v1"
IMAGE = "registry.example.com/penstock:0.1.0"
_LEEWAY = 2
"""Times that a run may take longer than the upper bound of its interval before Slurm ends it."""
_MOST_HEAP = 2 * 2**30
"""Python workers compute beside the JVM, which only passes results on."""


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


def dask_cluster(plan: ClusterPlan, *, name: str = "penstock", image: str = IMAGE) -> str:
    """Return a ``DaskCluster`` with a pod for each machine, and a ``DaskWorkerGroup`` for each further type.

    Pods go to nodes by the label ``node.kubernetes.io/instance-type``, which is the name of the type, and ask for as
    much of a node as its system leaves.

    Examples
    --------
    >>> from penstock.runs.placement.machine_type import MachineType
    >>> from penstock.runs.placement.workload import Demand
    >>> large = Offer("large", MachineType(cores=16, memory="64GiB", price=0.8), 16, 1.0, "cpu")
    >>> manifest = yaml.safe_load(dask_cluster(ClusterPlan({large: 4}, Demand(tasks=1.0))))
    >>> manifest["kind"], manifest["spec"]["worker"]["replicas"]
    ('DaskCluster', 4)
    """
    return yaml.safe_dump_all(_manifests(plan, name, image), sort_keys=False)


def _manifests(plan: ClusterPlan, name: str, image: str) -> Iterator[dict[str, Any]]:
    (first, count), *others = plan.machines.items()
    spec = {"worker": _worker(first, count, image), "scheduler": _scheduler(name, image)}
    yield {"apiVersion": API, "kind": "DaskCluster", "metadata": {"name": name}, "spec": spec}
    for offer, count in others:
        metadata = {"name": f"{name}-{offer.name}"}
        group = {"cluster": name, "worker": _worker(offer, count, image)}
        yield {"apiVersion": API, "kind": "DaskWorkerGroup", "metadata": metadata, "spec": group}


def _worker(offer: Offer, count: int, image: str) -> dict[str, Any]:
    command = dask_worker(offer, scheduler=None)  # the operator sets DASK_SCHEDULER_ADDRESS
    threads = [{"name": each, "value": "1"} for each in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS")]
    container = {
        "name": "worker",
        "image": image,
        "args": [*command, "--name", "$(DASK_WORKER_NAME)"],
        "env": threads,
        "resources": _resources(offer),
    }
    selector = {"node.kubernetes.io/instance-type": offer.name}
    return {"replicas": count, "spec": {"nodeSelector": selector, "containers": [container]}}


def _resources(offer: Offer) -> dict[str, Any]:
    memory = {"memory": f"{offer.machine.usable_memory // _MIB}Mi"}
    gpus = {"nvidia.com/gpu": offer.slots} if offer.device == "gpu" else {}
    return {"requests": {"cpu": f"{int(1000 * USABLE * offer.machine.cores)}m", **memory}, "limits": {**memory, **gpus}}


def _scheduler(name: str, image: str) -> dict[str, Any]:
    ports = {"tcp-comm": 8786, "http-dashboard": 8787}
    container = {
        "name": "scheduler",
        "image": image,
        "args": ["dask", "scheduler"],
        "ports": [{"name": port, "containerPort": number, "protocol": "TCP"} for port, number in ports.items()],
        "readinessProbe": {"httpGet": {"port": "http-dashboard", "path": "/health"}},
    }
    service = {
        "type": "ClusterIP",
        "selector": {"dask.org/cluster-name": name, "dask.org/component": "scheduler"},
        "ports": [
            {"name": port, "port": number, "targetPort": port, "protocol": "TCP"} for port, number in ports.items()
        ],
    }
    return {"spec": {"containers": [container]}, "service": service}


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
