"""What is predicted of runs on a simulated cluster, from smaller ones on it."""

import itertools
from dataclasses import replace
from functools import cache

import pytest
from simulated_cluster import Cluster, Scan, Training

from penstock.runs import TASKS, Run
from penstock.runs.scaling import Amdahl, Prediction, RunObservation, ScalingModel

PIECE = 250_000
SPEEDS = (1.0, 0.8, 1.25, 0.95, 1.1, 0.9, 1.0, 1.05)
SCAN = Scan(per_row=4e-6, fixed=0.05, merge=0.02, result_bytes=2e7)
TRAINING = Training(rounds=50, per_row=3e-7, fixed=0.02, reduced_bytes=5e6)


def uneven(workers: int, pieces: int, seed: int) -> Run:
    """Return a run on uneven workers that fail now and then, over a network that takes its time."""
    network = {"latency": 0.002, "bandwidth": 1e9, "dispatch": 0.001}
    chance = {"failures": 0.002, "recovery": 2.0, "noise": 0.05}
    cluster = Cluster(workers, speeds=SPEEDS, seed=seed, **network, **chance)
    return cluster.run([PIECE] * pieces, SCAN, TRAINING, driver=1.0)


@cache
def calibrated() -> ScalingModel:
    """Return the model of runs of at most 16 million rows on at most 16 workers."""
    return ScalingModel.fit(uneven(workers, pieces, seed=100) for workers in (1, 2, 4, 8, 16) for pieces in (4, 16, 64))


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [1, 16, 64, 256])
def test_a_run_is_predicted_within_a_tenth_up_to_256_workers_and_phases_apart(workers: int) -> None:
    truth = uneven(workers, 1024, seed=7)
    prediction = calibrated().predict([PIECE] * 1024, workers=workers)
    assert prediction.seconds == pytest.approx(truth.seconds, rel=0.1)
    assert prediction.interval[0] < truth.seconds < prediction.interval[1]
    if workers in (16, 64):
        phases = RunObservation.of(truth).phases()
        for phase in ("decode", "compute", "train", "communicate", "merge"):
            assert prediction.phases[phase].seconds == pytest.approx(phases[phase], rel=0.3), phase


def test_phases_add_up_to_the_time() -> None:
    prediction = calibrated().predict(8 * PIECE, workers=4)
    parts = prediction.serial + prediction.parallel + prediction.communication
    assert sum(each.seconds for each in prediction.phases.values()) == pytest.approx(prediction.seconds)
    assert parts == pytest.approx(prediction.seconds)


def test_a_run_is_observed_as_it_was_simulated() -> None:
    run = uneven(4, 16, seed=1)
    observed = RunObservation.of(run)
    assert run.tasks.schema == TASKS
    assert (observed.rows, len(observed.fragments), observed.workers) == (16 * PIECE, 16, 4)
    assert sum(observed.phases().values()) == pytest.approx(run.seconds)


def plain(workers: int, pieces: int, scan: Scan, **network: float) -> Run:
    return Cluster(workers, **network).run([1] * pieces, scan)  # type: ignore[arg-type]


def predicted(pieces: int, workers: int, scan: Scan, **network: float) -> Prediction:
    """Return what is predicted from runs on one and two workers."""
    runs = [plain(each, size, scan, **network) for each in (1, 2) for size in (12, 24)]
    return ScalingModel.fit(runs).predict([1] * pieces, workers=workers)


@pytest.mark.thorough
def test_tasks_and_squares_of_n_by_n_are_done_in_waves() -> None:
    """T = N * P / S * T, for N items of P parts each, on S slots, of T seconds a part."""
    items, parts, seconds = 24, 5, 0.5
    for slots in (1, 2, 4, 12):
        scan, expected = Scan(per_row=seconds), items * parts / slots * seconds
        assert plain(slots, items * parts, scan).seconds == pytest.approx(expected)
        assert predicted(items * parts, slots, scan).seconds == pytest.approx(expected)
    scan = Scan(per_row=2.0)
    for side, slots in itertools.product((3, 5, 8), (1, 4, 9)):
        expected = -(-(side**2) // slots) * 2.0
        assert plain(slots, side**2, scan).seconds == pytest.approx(expected)
        assert predicted(side**2, slots, scan).seconds == pytest.approx(expected)


def test_where_communication_dominates_more_slots_gain_nothing() -> None:
    """One task after another goes through the driver, which takes longer than the task on all other slots."""
    scan, network = Scan(per_row=0.1), {"dispatch": 0.2}
    expected = 99 * 0.2 + 0.1
    for slots in (4, 16, 64):
        assert plain(slots, 100, scan, **network).seconds == pytest.approx(expected)
        assert predicted(100, slots, scan, **network).seconds == pytest.approx(expected, rel=0.01)


def test_one_slot_takes_the_sum_of_tasks_and_communication_and_the_rest() -> None:
    """T = sum(t + c) + r, for tasks of t seconds, c to start each, and r to have the result."""
    task, start, rest = 0.25, 0.05, 0.5
    scan, network = Scan(per_row=task, result_bytes=0.45e6), {"latency": start, "bandwidth": 1e6}
    assert plain(1, 40, scan, **network).seconds == pytest.approx(40 * (task + start) + rest)
    assert predicted(40, 1, scan, **network).seconds == pytest.approx(40 * (task + start) + rest, rel=0.01)


def test_a_training_without_communication_follows_amdahl() -> None:
    training, rows = Training(rounds=10, per_row=1e-6, fixed=0.1), 16 * PIECE
    runs = [Cluster(each).run([PIECE] * 16, training) for each in (1, 2, 4)]
    law = Amdahl.fit([1, 2, 4], [run.seconds for run in runs])
    known = [replace(run, info={**run.info, "inputs": [{"path": "a", "rows": rows}]}) for run in runs]
    assert ScalingModel.fit(known).predict(rows, workers=32).seconds == pytest.approx(law.seconds(32), rel=1e-3)
