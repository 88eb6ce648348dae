"""A scaling model: what it is fitted to, what it refuses, its file, and what placement asks it."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from run_samples import run, span, task
from simulated_cluster import Cluster, Scan, Training

import penstock as ps
from penstock import stages as st
from penstock.core.errors import ConfigError, CorruptFileError, MissingInputError
from penstock.engines.base import Engine
from penstock.runs.scaling import RunObservation, ScalingModel

PIECE = 1000
SCAN, TRAINING = Scan(per_row=1e-3, merge=0.01, name="scan 1 of 1"), Training(rounds=10, per_row=1e-5, fixed=0.01)


def model(workers: tuple[int, ...] = (1, 2, 4), latency: float = 0.0, driver: float = 0.0) -> ScalingModel:
    return ScalingModel.fit(
        Cluster(each, latency=latency).run([PIECE] * pieces, SCAN, TRAINING, driver=driver)
        for each in workers
        for pieces in (4, 16)
    )


def test_of_runs_of_one_size_and_one_worker_all_is_taken_to_grow_with_rows() -> None:
    run = Cluster(1).run([PIECE] * 4, SCAN, TRAINING)
    prediction = ScalingModel.fit([run]).predict([PIECE] * 8)
    assert prediction.seconds == pytest.approx(2 * run.seconds, rel=0.01)


def cold(tasks: int) -> ps.runs.Run:
    """Return a run on one worker whose tasks take a second, and the first one three, two of them to decode."""
    phases = [{"decode": 2.0, "compute": 1.0}, *([{"compute": 1.0}] * (tasks - 1))]
    rows = [task(place + 2.0 * (place > 0), each, rows_in=100, fragment=place) for place, each in enumerate(phases)]
    return run([span("scan", 0.0, tasks + 2.0)], rows, tasks + 2.0, engine={"slots": 1})


def test_what_only_the_first_task_of_a_worker_takes_is_taken_once_a_worker() -> None:
    found = ScalingModel.fit([cold(2), cold(8)]).predict([100] * 32)
    assert found.seconds == pytest.approx(34.0)
    phases = {name: each.seconds for name, each in found.phases.items() if each.seconds}
    assert phases == pytest.approx({"decode": 2.0, "compute": 32.0})
    found = ScalingModel.fit([cold(2), cold(8)]).predict([100] * 32, workers=4)
    assert found.seconds == pytest.approx(2 + 32 / 4)


def test_failed_runs_are_left_out_and_what_cannot_be_predicted_is_refused() -> None:
    run = Cluster(1).run([PIECE], SCAN)
    failed = replace(run, info={**run.info, "status": "failed"})
    with pytest.raises(ConfigError, match="0 runs that have ended well"):
        ScalingModel.fit([failed])
    for given in ({"workers": 0}, {"speed": 0.0}, {"level": 1.0}):
        with pytest.raises(ConfigError, match=next(iter(given))):
            model().predict(PIECE, **given)  # type: ignore[arg-type]


def test_an_interval_of_more_confidence_is_wider() -> None:
    half, most = (model().predict(PIECE, level=level).interval for level in (0.5, 0.99))
    assert most[0] < half[0] < half[1] < most[1]


def test_workers_of_twice_the_speed_take_half_the_time_where_nothing_is_exchanged() -> None:
    one, fast = (model(driver=1.0).predict([PIECE] * 32, workers=4, speed=speed).seconds for speed in (1.0, 2.0))
    assert fast == pytest.approx(one / 2, rel=0.05)


def test_the_best_number_of_workers_is_where_communication_outgrows_what_is_gained() -> None:
    rows, found = [PIECE] * 64, model(workers=(1, 2, 4, 8), latency=0.01)
    best = found.best_workers(rows)
    times = {each: found.predict(rows, workers=each).seconds for each in (*range(1, 40, 3), best, 1000)}
    assert 1 < best < 40
    assert min(times.values()) < times[best] * 1.01 < min(times.values()) * 1.07
    assert times[1000] > times[best]


def test_a_scan_says_what_it_is_bound_by() -> None:
    spans = model(driver=500.0).predict([PIECE] * 16, workers=2).spans
    assert [span.bound for span in spans] == ["decode", "boosting", "driver"]


def test_a_model_is_read_back_as_it_was_saved_and_other_files_are_refused(tmp_path: Path) -> None:
    found = model()
    found.save(tmp_path / "calibration.json")
    assert ScalingModel.load(tmp_path / "calibration.json").predict(9 * PIECE) == found.predict(9 * PIECE)
    (tmp_path / "other.json").write_text('{"spans": {}}')
    with pytest.raises(CorruptFileError, match="no calibration"):
        ScalingModel.load(tmp_path / "other.json")
    with pytest.raises(MissingInputError, match="penstock calibrate"):
        ScalingModel.load(tmp_path / "none.json")


def test_placement_is_given_the_time_that_is_predicted() -> None:
    rows, found = [PIECE] * 32, model(latency=0.01)
    for workers in (1, 5):
        demand = found.workload(rows).demand(workers)
        expected = found.predict(rows, workers=workers).seconds
        assert demand.seconds(speed=workers, slowest=1.0) == pytest.approx(expected)


def test_a_fit_on_an_engine_is_predicted_by_its_scans_and_trainings(engine: Engine, tmp_path: Path) -> None:
    rows = pa.table({"x": [float(each) for each in range(400)], "y": [0.0, 1.0] * 200})
    pipeline = ps.Pipeline(st.StandardScaler("x"), st.LogisticRegression(features=["x"], label="y", max_iter=2))
    with ps.runs.record(tmp_path) as recording:
        pipeline.fit(engine.from_arrow(rows, fragment_bytes=1600))
    run = ps.runs.Run.load(recording.path)
    observed = RunObservation.of(run)
    assert observed.fragments == (100, 100, 100, 100)
    assert observed.workers in (1, engine.slots)  # of so short tasks it may be that no two were seen at work together
    names = [span.name for span in ScalingModel.fit([run]).predict(1000).spans]
    assert names == [*dict.fromkeys(span.name for span in observed.spans), "driver"]
    assert any(name.startswith("train") for name in names)
