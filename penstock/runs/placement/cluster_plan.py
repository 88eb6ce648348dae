"""Machines for a run, and what it is predicted to take on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.runs.placement.goals import HOUR
from penstock.runs.placement.offers import Offer
from penstock.runs.placement.workload import Demand


@dataclass(frozen=True)
class ClusterPlan:
    """So many machines of each type, and what a run takes on them.

    Parameters
    ----------
    machines : mapping of Offer to int
        Types that are used, and how many of each.
    demand : Demand
        Of so many workers.

    Examples
    --------
    >>> from penstock.runs.placement.machine_type import MachineType
    >>> large = MachineType(cores=16, memory="64GiB", price=0.8, watts=200)
    >>> plan = ClusterPlan({Offer("large", large, 16, 1.0, "cpu"): 2}, Demand(serial=60.0, tasks=57_600.0))
    >>> plan.counts, plan.workers, plan.seconds, round(plan.cost, 3), plan.energy
    ({'large': 2}, 32, 1860.0, 0.827, 744000.0)
    """

    machines: Mapping[Offer, int]
    demand: Demand

    @property
    def counts(self) -> dict[str, int]:
        """Machines by the name of their type."""
        return {offer.name: count for offer, count in self.machines.items()}

    @property
    def device(self) -> str:
        """What workers compute on, ``"cpu"`` or ``"gpu"``: the same of all."""
        return next(iter(self.machines)).device

    @property
    def workers(self) -> int:
        """Workers of all machines: cores or GPUs that work on one task each."""
        return sum(offer.slots * count for offer, count in self.machines.items())

    @property
    def parts(self) -> dict[str, float]:
        """Seconds by what they are for: ``serial``, ``communicate``, ``train``, ``tasks``."""
        speed = sum(offer.slots * offer.speed * count for offer, count in self.machines.items())
        return self.demand.parts(speed=speed, slowest=min(offer.speed for offer in self.machines))

    @property
    def seconds(self) -> float:
        """The predicted time."""
        return sum(self.parts.values())

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the predicted time; both are the time itself where its spread is not known."""
        low, high = self.demand.spread
        return self.seconds * low, self.seconds * high

    @property
    def cost(self) -> float:
        """What the machines cost for the predicted time, in units of their price."""
        return self.seconds / HOUR * sum(offer.machine.price * count for offer, count in self.machines.items())

    @property
    def energy(self) -> float | None:
        """Joules of the machines; None where their power is not known."""
        parts, total = self.parts, 0.0
        waits, works = parts["serial"] + parts["communicate"], parts["train"] + parts["tasks"]
        for offer, count in self.machines.items():
            busy, idle = offer.machine.watts, offer.machine.watts_idle
            if busy is None:
                return None
            total += count * (busy * works + (busy if idle is None else idle) * waits)
        return total


def show_price(value: float) -> str:
    """Return an amount with two decimals, or four below 1; what is left over is rounded up.

    Examples
    --------
    >>> show_price(12.341), show_price(0.02561), show_price(2.5)
    ('12.35', '0.0257', '2.50')
    """
    digits = 2 if value >= 1 else 4
    return f"{math.ceil(round(value * 10**digits, 6)) / 10**digits:.{digits}f}"
