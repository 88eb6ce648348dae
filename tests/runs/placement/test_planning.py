"""A plan says what limits it, what else there is, and what would be feasible where it is not."""

import pytest
from clusters import every_cluster

from penstock.core.errors import ConfigError, InfeasiblePlanError
from penstock.runs.placement import LinearWorkload, MachineType, plan_cluster
from penstock.runs.placement.cluster_plan import show_price
from penstock.runs.placement.durations import parse_duration, show_duration
from penstock.runs.placement.workload import Demand, SampledWorkload

POWER = {"watts": 100.0, "watts_idle": 10.0}
MACHINES = {
    "small": MachineType(cores=2, memory="8GiB", price=0.2, max=4, **POWER),
    "large": MachineType(cores=8, memory="32GiB", price=0.7, max=2, **POWER),
}
RUN = LinearWorkload(serial=100.0, tasks=24_000.0)  # 1,100 seconds on all 24 cores


@pytest.mark.thorough
def test_the_best_plan_is_the_cheapest_within_the_deadline() -> None:
    planned = plan_cluster(RUN, MACHINES, deadline=2000.0)
    within = [each for each in every_cluster(RUN, MACHINES) if each.time <= 2000.0]
    cheapest = min(within, key=lambda each: each.cost)
    assert planned.best.counts == cheapest.counts
    assert planned.best.seconds == pytest.approx(cheapest.time)
    assert planned.best.cost == pytest.approx(cheapest.cost)
    assert planned.best.energy == pytest.approx(cheapest.energy)


@pytest.mark.thorough
def test_what_limits_a_plan_is_what_it_would_be_better_without() -> None:
    few = {
        "small": MachineType(cores=2, memory="8GiB", price=0.2, max=2),
        "large": MachineType(cores=8, memory="32GiB", price=0.7, max=1),
    }
    assert plan_cluster(RUN, few, deadline=2500.0).limited_by == ("deadline",)
    assert plan_cluster(RUN, few, deadline=100_000.0).limited_by == ()
    assert plan_cluster(RUN, few, minimise="time").limited_by == ("machines",)
    assert plan_cluster(RUN, few, minimise="time", budget=0.63).limited_by == ("budget",)  # all take 2,100 s for 0.64


def test_alternatives_are_other_machines_each_once() -> None:
    planned = plan_cluster(RUN, MACHINES, deadline=1300.0)
    assert planned.best.counts == {"small": 2, "large": 2}  # no type alone has the 20 cores that it takes
    assert {name: plan.counts for name, plan in planned.alternatives.items()} == {
        "without the deadline": min(every_cluster(RUN, MACHINES), key=lambda each: each.cost).counts,
        "least time": {"small": 4, "large": 2},
    }  # that of least energy is the best


@pytest.mark.thorough
def test_limits_that_cannot_be_met_are_refused_with_the_nearest_plans() -> None:
    with pytest.raises(
        InfeasiblePlanError, match=r"at most 16 min 40 s: the fastest takes 18 min 20 s .*4 small, 2 large"
    ) as caught:
        plan_cluster(RUN, MACHINES, deadline=1000.0)
    assert plan_cluster(RUN, MACHINES, deadline=parse_duration("18 min 20 s")).best.seconds == 1100.0
    assert "deadline of 18 min 20 s" in str(caught.value.hint)
    clusters = list(every_cluster(RUN, MACHINES))
    deadline, budget = 1200.0, 1.01 * min(each.cost for each in clusters)
    fastest = min(each.time for each in clusters if each.cost <= budget)
    cheapest = min(each.cost for each in clusters if each.time <= deadline)
    told = rf"fastest within the budget takes {show_duration(fastest)} .*cheapest .* costs {show_price(cheapest)}"
    with pytest.raises(InfeasiblePlanError, match=told):
        plan_cluster(RUN, MACHINES, deadline=deadline, budget=budget)


def test_machines_whose_memory_a_worker_does_not_fit_are_left_out() -> None:
    run = LinearWorkload(tasks=100.0, memory=12 * 2**30)
    planned = plan_cluster(run, MACHINES, minimise="time")
    assert (planned.best.counts, planned.best.workers) == ({"large": 2}, 4)  # two of 12 GiB each in 28.8 GiB
    assert "12.0 GiB" in planned.left_out["small"]
    with pytest.raises(ConfigError, match=r"no machine can run a worker: small: .*; large: "):
        plan_cluster(LinearWorkload(memory=2**40), MACHINES)


def test_gpus_are_used_where_they_are_better_and_never_beside_cores() -> None:
    gpu = MachineType(cores=8, memory="32GiB", gpus=1, speed_gpu=30.0, price=1.0, max=2)
    machines = {**MACHINES, "gpu": gpu}
    run = LinearWorkload(tasks=36_000.0)
    auto = plan_cluster(run, machines, minimise="time").best
    assert (auto.counts, auto.device, auto.workers, auto.seconds) == ({"gpu": 2}, "gpu", 2, 600.0)
    assert plan_cluster(run, machines, device="cpu", minimise="time").best.seconds == 900.0  # on 40 cores
    left_out = plan_cluster(run, machines, device="gpu").left_out
    assert left_out == {"small": "it has no GPU", "large": "it has no GPU"}


def test_parameters_that_mean_nothing_or_lack_watts_are_refused() -> None:
    for options in ({"minimise": "price"}, {"deadline": 0.0}, {"budget": -1.0}):
        with pytest.raises(ConfigError, match=next(iter(options))):
            plan_cluster(RUN, MACHINES, **options)
    machines = {"a": MachineType(cores=1, memory="8GiB", price=1.0)}
    with pytest.raises(ConfigError, match="energy is not known of a"):
        plan_cluster(RUN, machines, minimise="energy")
    assert plan_cluster(RUN, machines).best.energy is None


def test_the_interval_of_a_plan_is_that_of_its_number_of_workers() -> None:
    class Spread:
        memory = 0

        def demand(self, workers: int) -> Demand:
            return Demand(tasks=80.0, spread=(0.5, float(workers)))

    machines = {"a": MachineType(cores=2, memory="8GiB", price=1.0, max=2)}
    assert plan_cluster(Spread(), machines, minimise="time").best.interval == (10.0, 80.0)


def test_fragments_run_in_waves() -> None:
    run = LinearWorkload(tasks=100.0, fragments=10)
    seconds = [run.demand(workers).tasks / workers for workers in (1, 3, 9, 10, 40)]
    assert seconds == pytest.approx([100, 40, 20, 10, 10])


def test_a_sampled_workload_asks_for_few_numbers_of_workers_and_is_near_the_others() -> None:
    class Counting(LinearWorkload):
        def demand(self, workers: int) -> Demand:
            asked.append(workers)
            return super().demand(workers)

    asked: list[int] = []
    run = Counting(serial=3.0, tasks=5000.0, train=700.0, communication=0.01)
    sampled = SampledWorkload(run)
    for workers in range(1, 1000):
        demand, exact = sampled.demand(workers), LinearWorkload.demand(run, workers)
        assert demand.seconds(speed=workers, slowest=1.0) == pytest.approx(exact.seconds(speed=workers, slowest=1.0))
    assert len(asked) == len(set(asked)) < 40
