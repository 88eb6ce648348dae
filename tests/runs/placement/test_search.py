"""The plan is the best of all clusters there are, within limits of time and cost."""

import random
from collections.abc import Iterable

import pytest
from clusters import every_cluster, random_problem

from penstock.runs.placement import LinearWorkload, MachineType
from penstock.runs.placement.branch import minimise
from penstock.runs.placement.goals import GOALS, goal_of
from penstock.runs.placement.offers import Offer, offers_of


def goals(offers: list[Offer], names: Iterable[str] = ("time", "cost")):
    return {name: goal_of(name, offers) for name in names}


@pytest.mark.thorough
@pytest.mark.parametrize("goal", GOALS)
def test_what_is_found_is_as_good_as_the_best_of_all_clusters(goal) -> None:
    for seed in range(5):
        run, machines = random_problem(seed)
        clusters = list(every_cluster(run, machines))
        draw = random.Random(f"{seed} {goal}")
        limited = [name for name in ("time", "cost") if name != goal and draw.random() < 0.7]
        least = {name: min(getattr(each, name) for each in clusters) for name in limited}
        limits = {name: draw.choice([1.0, 1.2, 2.0]) * least[name] for name in limited}
        within = [c for c in clusters if all(getattr(c, name) <= most * (1 + 1e-9) for name, most in limits.items())]
        offers, _ = offers_of(machines, 0, "cpu")
        known = goals(offers, GOALS)
        found = minimise(run, offers, known[goal], [(known[name], most) for name, most in limits.items()])
        if not within:
            assert found is None, seed
            continue
        assert found is not None
        assert found.value == pytest.approx(min(getattr(each, goal) for each in within), rel=2e-9)
        counts = {offer.name: count for offer, count in zip(offers, found.counts.tolist(), strict=True) if count}
        assert counts in [each.counts for each in within if getattr(each, goal) == pytest.approx(found.value, rel=2e-9)]


def test_of_clusters_with_equal_workers_the_cheapest_is_taken() -> None:
    machines = {name: MachineType(cores=4, memory="8GiB", price=p, max=2) for name, p in (("dear", 3), ("cheap", 2))}
    offers, _ = offers_of(machines, 0)
    known = goals(offers)
    run = LinearWorkload(serial=1.0, tasks=100.0, communication=2.0)  # the fastest are of 8 cores
    found = minimise(run, offers, known["time"], then=known["cost"])
    assert found is not None
    assert found.counts.tolist() == [0, 2]


def test_a_training_waits_for_its_slowest_rank() -> None:
    """A second machine, at half the speed, would take a half of the rows and as long as the first alone takes."""
    slow = MachineType(cores=1, memory="8GiB", speed=0.5, price=1, max=1)
    fast = MachineType(cores=1, memory="8GiB", speed=1.0, price=1, max=1)
    offers, _ = offers_of({"slow": slow, "fast": fast}, 0)
    known = goals(offers)
    limits = [(known["time"], 100.0)]
    trained = minimise(LinearWorkload(train=100.0), offers, known["cost"], limits)
    shared_out = minimise(LinearWorkload(tasks=100.0), offers, known["time"])
    assert trained is not None
    assert shared_out is not None
    assert trained.counts.tolist() == [0, 1]
    assert shared_out.counts.tolist() == [1, 1]
