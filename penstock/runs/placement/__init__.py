"""Placement: how many machines of which types a run is best put on, by what it is predicted to take there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from penstock.runs.placement.cluster_plan import ClusterPlan as ClusterPlan
    from penstock.runs.placement.machine_type import MachineType as MachineType
    from penstock.runs.placement.machine_type import read_machines as read_machines
    from penstock.runs.placement.planning import PlannedCluster as PlannedCluster
    from penstock.runs.placement.planning import plan_cluster as plan_cluster
    from penstock.runs.placement.workload import Demand as Demand
    from penstock.runs.placement.workload import LinearWorkload as LinearWorkload
    from penstock.runs.placement.workload import Workload as Workload

__getattr__, __dir__, __all__ = lazy_imports(__name__)
