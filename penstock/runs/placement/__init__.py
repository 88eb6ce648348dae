"""Placement: how many machines of which types a run is best put on, by what it is predicted to take there."""

from penstock.runs.placement.cluster_plan import ClusterPlan
from penstock.runs.placement.machine_type import MachineType, read_machines
from penstock.runs.placement.planning import PlannedCluster, plan_cluster
from penstock.runs.placement.workload import Demand, LinearWorkload, Workload

__all__ = [
    "ClusterPlan",
    "Demand",
    "LinearWorkload",
    "MachineType",
    "PlannedCluster",
    "Workload",
    "plan_cluster",
    "read_machines",
]
