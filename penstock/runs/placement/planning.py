"""The machines that a run is best placed on, and what else there is to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.core.errors import ConfigError, InfeasiblePlanError, check_one_of
from penstock.runs.placement import branch
from penstock.runs.placement.cluster_plan import ClusterPlan, show_price
from penstock.runs.placement.durations import show_duration
from penstock.runs.placement.goals import GOALS, goal_of
from penstock.runs.placement.machine_type import MachineType
from penstock.runs.placement.offers import Device, Offer, offers_of
from penstock.runs.placement.workload import Workload

_LIMITS = {"time": "deadline", "cost": "budget"}


@dataclass(frozen=True)
class PlannedCluster:
    """The best plan, and others.

    Attributes
    ----------
    best : ClusterPlan
    alternatives : mapping of str to ClusterPlan
        By what was asked for instead: ``"least time"``, ``"large alone"``, ``"without the deadline"``.
    limited_by : tuple of str
        What keeps the best plan from being better: ``"deadline"``, ``"budget"``, ``"machines"``.
    left_out : mapping of str to str
        Types that cannot run a worker, and why.
    """

    best: ClusterPlan
    alternatives: Mapping[str, ClusterPlan]
    limited_by: tuple[str, ...]
    left_out: Mapping[str, str]


def plan_cluster(
    workload: Workload,
    machines: Mapping[str, MachineType],
    *,
    minimise: str = "cost",
    deadline: float | None = None,
    budget: float | None = None,
    device: Device = "auto",
) -> PlannedCluster:
    """Return how many machines of which types run a workload best.

    Parameters
    ----------
    workload : Workload
    machines : mapping of str to MachineType
    minimise : {"cost", "time", "energy"}, default "cost"
        Of plans with equal workers the cheapest.
    deadline : float, optional
        Seconds that the predicted time may be at most.
    budget : float, optional
        What it may cost at most.
    device : {"auto", "cpu", "gpu"}, default "auto"
        ``auto`` is the better of both: cores, or the GPUs of types that have a ``speed_gpu``. No plan has both.

    Raises
    ------
    InfeasiblePlanError
        No machines are within deadline and budget; names the nearest plan.
    ConfigError
        A parameter is wrong, no type can run a worker, or energy is to be least and ``watts`` are missing.

    Examples
    --------
    >>> from penstock.runs.placement.workload import LinearWorkload
    >>> small = MachineType(cores=2, memory="8GiB", price=0.1)
    >>> large = MachineType(cores=16, memory="64GiB", price=0.75)
    >>> run = LinearWorkload(serial=60.0, tasks=100_000.0)
    >>> planned = plan_cluster(run, {"small": small, "large": large}, deadline=1200.0)
    >>> planned.best.counts, planned.best.workers, round(planned.best.cost, 3)
    ({'large': 6}, 96, 1.377)
    """
    check_one_of("minimise", minimise, GOALS)
    limits = {name: limit for name, limit in (("time", deadline), ("cost", budget)) if limit is not None}
    for name, limit in limits.items():
        if not limit > 0:
            raise ConfigError(f"{_LIMITS[name]} is {limit!r}, expected more than 0")
    offers, left_out = offers_of(machines, workload.memory, device)
    problem = _Problem(workload, offers, minimise, limits)
    best = problem.best
    if best is None:
        raise _infeasible(problem)
    alternatives = _distinct(best, _alternatives(problem))
    return PlannedCluster(best, alternatives, tuple(_limited_by(problem, best, alternatives)), left_out)


@dataclass(frozen=True)
class _Problem:
    """Which goal is to be least within limits of which others."""

    workload: Workload
    offers: Sequence[Offer]
    goal: str
    limits: Mapping[str, float]

    @cached_property
    def best(self) -> ClusterPlan | None:
        """The best plan, on cores alone or on GPUs alone, as engines have them; None if none is within the limits."""
        found = [plan for device in ("cpu", "gpu") if (plan := self._best_on(device)) is not None]
        return min(found, key=self.value, default=None)

    def _best_on(self, device: str) -> ClusterPlan | None:
        offers = [offer for offer in self.offers if offer.device == device]
        if not offers:
            return None
        goals = {name: goal_of(name, offers) for name in {"cost", self.goal, *self.limits}}
        limits = [(goals[name], limit) for name, limit in self.limits.items()]
        found = branch.minimise(self.workload, offers, goals[self.goal], limits, then=goals["cost"])
        if found is None:
            return None
        counts = {offer: int(count) for offer, count in zip(offers, found.counts, strict=True) if count}
        return ClusterPlan(counts, self.workload.demand(sum(offer.slots * each for offer, each in counts.items())))

    def value(self, plan: ClusterPlan) -> float:
        """Return the goal of a plan."""
        return {"time": plan.seconds, "cost": plan.cost, "energy": plan.energy or 0.0}[self.goal]

    def of_type(self, name: str) -> _Problem:
        """Return the problem with the machines of one type."""
        return replace(self, offers=[offer for offer in self.offers if offer.name == name])

    def without(self, limit: str) -> _Problem:
        """Return the problem with one limit fewer."""
        return replace(self, limits={name: most for name, most in self.limits.items() if name != limit})


def _alternatives(problem: _Problem) -> Iterator[tuple[str, ClusterPlan]]:
    """Yield plans of problems near to this one: less limited, of one type alone, for other goals."""
    near = {f"without the {_LIMITS[limit]}": problem.without(limit) for limit in problem.limits}
    names = list(dict.fromkeys(offer.name for offer in problem.offers))
    near |= {f"{name} alone": problem.of_type(name) for name in names if len(names) > 1}
    known = [goal for goal in GOALS if goal != "energy" or all(offer.machine.watts for offer in problem.offers)]
    near |= {f"least {goal}": replace(problem, goal=goal) for goal in known if goal != problem.goal}
    for name, each in near.items():
        if each.best is not None:
            yield name, each.best


def _distinct(best: ClusterPlan, alternatives: Iterator[tuple[str, ClusterPlan]]) -> dict[str, ClusterPlan]:
    """Return the alternatives that are other machines than the best, each once."""
    kept: dict[str, ClusterPlan] = {}
    for name, plan in alternatives:
        if plan.counts not in [best.counts, *(each.counts for each in kept.values())]:
            kept[name] = plan
    return kept


def _limited_by(problem: _Problem, best: ClusterPlan, alternatives: Mapping[str, ClusterPlan]) -> Iterator[str]:
    """Yield what would make the plan better, were it not there."""
    for name in _LIMITS.values():
        freed = alternatives.get(f"without the {name}")
        if freed is not None and problem.value(freed) < problem.value(best) * (1 - branch.TOLERANCE):
            yield name
    most = {offer.name: offer.machine.max for offer in problem.offers}
    if all(best.counts.get(name) == count for name, count in most.items()):
        yield "machines"


def _infeasible(problem: _Problem) -> InfeasiblePlanError:
    """Return the error that names the plans nearest to the limits."""
    asked, nearby, hints = [], [], ["raise max of a type of machine"]
    for name, limit in problem.limits.items():
        asked.append(f"{'takes' if name == 'time' else 'costs'} at most {_shown(name, limit)}")
        others = replace(problem.without(name), goal=name)
        if (nearest := others.best) is not None:
            within = "".join(f" within the {_LIMITS[each]}" for each in others.limits)
            nearby.append(f"the {'fastest' if name == 'time' else 'cheapest'}{within} {_described(nearest)}")
            hints.insert(-1, f"allow a {_LIMITS[name]} of {_shown(name, others.value(nearest))}")
    hint = f"{', or '.join(hints)}."
    return InfeasiblePlanError(f"no plan {' and '.join(asked)}: {'; '.join(nearby)}", hint=hint[0].upper() + hint[1:])


def _described(plan: ClusterPlan) -> str:
    machines = ", ".join(f"{count} {name}" for name, count in plan.counts.items())
    return f"takes {_shown('time', plan.seconds)} and costs {_shown('cost', plan.cost)}, on {machines}"


def _shown(name: str, value: float) -> str:
    return show_duration(value) if name == "time" else show_price(value)
