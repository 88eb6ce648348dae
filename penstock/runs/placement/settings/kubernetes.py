"""Manifests of a plan for the Dask operator of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from penstock.runs.placement.cluster_plan import ClusterPlan
from penstock.runs.placement.machine_type import USABLE
from penstock.runs.placement.offers import Offer
from penstock.runs.placement.settings.dask import dask_worker

API = "kubernetes.dask.org/v1"
IMAGE = "registry.example.com/penstock:0.1.0"
_MIB = 2**20


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
