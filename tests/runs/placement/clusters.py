"""Every cluster there can be, each with what a run takes on it by its formula: what a plan is compared with."""

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.runs.placement import LinearWorkload, MachineType


@dataclass(frozen=True)
class Cluster:
    counts: dict[str, int]
    time: float
    cost: float
    energy: float


def every_cluster(run: LinearWorkload, machines: Mapping[str, MachineType]) -> Iterator[Cluster]:
    """Yield all clusters of machines on whose cores one worker each runs."""
    for counts in itertools.product(*(range(machine.max + 1) for machine in machines.values())):
        used = [(machine, count) for machine, count in zip(machines.values(), counts, strict=True) if count]
        if not used:
            continue
        workers = sum(machine.cores * count for machine, count in used)
        speed = sum(machine.cores * machine.speed * count for machine, count in used)
        slowest = min(machine.speed for machine, _ in used)
        waits = run.serial + run.communication * (workers - 1)
        works = run.train / workers / slowest + run.tasks / speed
        named = {name: count for name, count in zip(machines, counts, strict=True) if count}
        cost = (waits + works) / 3600 * sum(machine.price * count for machine, count in used)
        energy = sum((machine.watts_idle * waits + machine.watts * works) * count for machine, count in used)
        yield Cluster(named, waits + works, cost, energy)


def random_problem(seed: int) -> tuple[LinearWorkload, dict[str, MachineType]]:
    """Return a run and two or three types of few machines; of every fourth seed their prices go by their speed."""
    draw = random.Random(seed)
    machines = {}
    for name in "abc"[: draw.choice([2, 2, 3])]:
        cores, speed = draw.choice([1, 2, 3, 4, 8]), draw.choice([1.0, 0.5, 1.25, round(draw.uniform(0.4, 3), 3)])
        price = cores * speed if seed % 4 == 0 else round(draw.uniform(0.5, 2) * cores, 2)
        power = {"watts": round(draw.uniform(20, 60) * cores), "watts_idle": round(draw.uniform(1, 20) * cores)}
        machines[name] = MachineType(
            cores=cores, memory="8GiB", speed=speed, price=price, max=draw.randint(1, 5), **power
        )
    parts = {"serial": 40, "tasks": 900, "train": 300, "communication": 1.5}
    run = {name: draw.choice([0.0, draw.uniform(0, most)]) for name, most in parts.items()} | {"tasks": 500.0}
    return LinearWorkload(**run), machines
