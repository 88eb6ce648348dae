"""What a run cost is the price of its hosts by its time."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.core.errors import ConfigError
from penstock.runs import TASKS, Run
from penstock.runs.cost import run_cost
from penstock.runs.placement import MachineType

MACHINES = {
    "small": MachineType(cores=4, memory="16GiB", price=1.0),
    "roomy": MachineType(cores=4, memory="64GiB", price=2.0),
    "large": MachineType(cores=16, memory="64GiB", price=4.0),
}


def run_on(hosts: list[str], *, cores: int = 4, memory: int = 60 * 2**30) -> Run:
    tasks = pa.table({**{name: pa.nulls(len(hosts), TASKS.field(name).type) for name in TASKS.names}, "host": hosts})
    return Run({"run_id": "r", "seconds": 1800.0, "machine": {"cores": cores, "memory": memory}}, tasks)


def test_it_is_that_of_each_host_once() -> None:
    cost = run_cost(run_on(["a", "b", "a"]), MACHINES, "large")
    assert (cost.count, cost.cost) == (2, 4.0)


def test_a_run_without_tasks_ran_on_its_own_host() -> None:
    assert run_cost(run_on([]), MACHINES, "small").cost == 0.5


def test_the_type_is_that_with_as_many_cores_and_the_nearest_memory() -> None:
    assert run_cost(run_on(["a"]), MACHINES).machine == "roomy"
    assert run_cost(run_on(["a"], memory=15 * 2**30), MACHINES).machine == "small"


def test_a_type_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="no type has as many"):
        run_cost(run_on(["a"], cores=6), MACHINES)
    with pytest.raises(ConfigError, match="Did you mean 'large'"):
        run_cost(run_on(["a"]), MACHINES, "larg")
