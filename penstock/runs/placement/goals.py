"""What a plan is good by: its seconds, its cost, its energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.errors import ConfigError
from penstock.runs.placement.offers import Offer
from penstock.runs.placement.workload import Demand

HOUR = 3600.0
GOALS = ("cost", "time", "energy")


@dataclass(frozen=True)
class Goal:
    """A sum over machines of a rate by the seconds that they wait, and another by those that they work.

    Attributes
    ----------
    waiting, working : array of shape (offers,)
        Per second of one machine of each offer.
    alone : float
        Per second, however many machines there are: 1 for the time itself.
    """

    waiting: np.ndarray
    working: np.ndarray
    alone: float = 0.0

    def value(self, counts: np.ndarray, demand: Demand, *, speed: float, slowest: float) -> float:
        """Return what the goal is for so many machines of each offer."""
        parts = demand.parts(speed=speed, slowest=slowest)
        waits, works = parts["serial"] + parts["communicate"], parts["train"] + parts["tasks"]
        return float((self.alone + self.waiting @ counts) * waits + (self.alone + self.working @ counts) * works)


def goal_of(name: str, offers: Sequence[Offer]) -> Goal:
    """Return the goal of a name: seconds, units of the price, or joules.

    Raises
    ------
    ConfigError
        It is energy, and machines have no ``watts``.

    Examples
    --------
    >>> from penstock.runs.placement.machine_type import MachineType
    >>> offer = Offer("large", MachineType(cores=4, memory="8GiB", price=36.0), 4, 1.0, "cpu")
    >>> goal = goal_of("cost", [offer])
    >>> goal.value(np.array([2]), Demand(tasks=400.0), speed=8.0, slowest=1.0)
    1.0
    """
    if name == "time":
        return Goal(np.zeros(len(offers)), np.zeros(len(offers)), 1.0)
    if name == "cost":
        prices = np.array([offer.machine.price / HOUR for offer in offers])
        return Goal(prices, prices)
    unknown = [offer.name for offer in offers if offer.machine.watts is None]
    if unknown:
        raise ConfigError(f"energy is not known of {', '.join(unknown)}", hint="Say their watts in machines.yaml.")
    watts = np.array([offer.machine.watts or 0.0 for offer in offers])
    idle = [offer.machine.watts_idle for offer in offers]
    return Goal(np.array([busy if low is None else low for busy, low in zip(watts, idle, strict=True)]), watts)
