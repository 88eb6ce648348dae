"""Machine types from a file: mistakes are located, and a run costs the sum of its hosts."""

from pathlib import Path

import pyarrow as pa
import pytest

from penstock.core.errors import ConfigError
from penstock.runs import TASKS, Run
from penstock.runs.cost import run_cost
from penstock.runs.placement import MachineType, read_machines

EXAMPLE = Path(__file__).parents[3] / "conf" / "machines.yaml"


def test_the_example_is_read() -> None:
    machines = read_machines(EXAMPLE)
    assert machines["large"].cores == 16
    assert machines["gpu"].speed_gpu is not None


def test_a_type_that_is_wrong_is_refused_with_its_place(tmp_path) -> None:
    path = tmp_path / "machines.yaml"
    for line, match in {
        "cores: 4, memory: 16GiB, price: 1, colour: red": "line 2, .*'colour' is not known",
        "cores: 4, price: 1": "line 2, .*memory is not given",
        "cores: 4, memory: 16 gigs, price: 1": "line 2, .*no size",
        "cores: 0, memory: 16GiB, price: 1": "line 2, .*greater than or equal to 1",
        "cores: 4, memory: 16GiB, price: cheap": "line 2, .*price is read as 'cheap'",
    }.items():
        path.write_text(f"machines:\n  small: {{{line}}}\n")
        with pytest.raises(ConfigError, match=match):
            read_machines(path)
    path.write_text("machines:\n")
    with pytest.raises(ConfigError, match="has no machines"):
        read_machines(path)


MACHINES = {
    "small": MachineType(cores=4, memory="16GiB", price=1.0),
    "roomy": MachineType(cores=4, memory="64GiB", price=2.0),
    "large": MachineType(cores=16, memory="64GiB", price=4.0),
}


def run_on(hosts: list[str], *, cores: int = 4, memory: int = 60 * 2**30) -> Run:
    tasks = pa.table({**{name: pa.nulls(len(hosts), TASKS.field(name).type) for name in TASKS.names}, "host": hosts})
    return Run({"run_id": "r", "seconds": 1800.0, "machine": {"cores": cores, "memory": memory}}, tasks)


def test_the_cost_of_a_run_is_that_of_each_host_once_and_of_its_own_without_tasks() -> None:
    cost = run_cost(run_on(["a", "b", "a"]), MACHINES, "large")
    assert (cost.count, cost.cost) == (2, 4.0)
    assert run_cost(run_on([]), MACHINES, "small").cost == 0.5


def test_the_type_of_a_run_is_that_with_as_many_cores_and_the_nearest_memory() -> None:
    assert run_cost(run_on(["a"]), MACHINES).machine == "roomy"
    assert run_cost(run_on(["a"], memory=15 * 2**30), MACHINES).machine == "small"


def test_a_type_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="no type has as many"):
        run_cost(run_on(["a"], cores=6), MACHINES)
    with pytest.raises(ConfigError, match="Did you mean 'large'"):
        run_cost(run_on(["a"]), MACHINES, "larg")
