"""`benchmarks/gpu.py` without a GPU: its rehearsal, what it does about parts that fail, and what peers do by hand."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import clicks as generator
import pandas as pd
import pytest
import sklearn.cluster
import sklearn.ensemble
import sklearn.linear_model
import sklearn.metrics

from benchmarks import gpu
from benchmarks.on_gpu import data as gpu_data
from benchmarks.on_gpu import ours as gpu_ours
from benchmarks.on_gpu import polars as gpu_polars
from benchmarks.on_gpu import rapids as gpu_rapids
from benchmarks.on_gpu import runner as gpu_runner
from benchmarks.on_gpu.answers import area_under_roc, compare
from benchmarks.on_gpu.job import Job
from benchmarks.on_gpu.meter import Meter, metered
from benchmarks.on_gpu.parts import PARTS, Part, choose_parts
from benchmarks.on_gpu.report import Report, agreement, ratios
from benchmarks.on_gpu.suite import count_tests
from penstock.errors import ConfigError

WORKS = """
import time
from benchmarks.on_gpu.job import Task

def done(job):
    return Task(lambda rows: 1, lambda found: {"auc": 0.5})

def raises(job):
    raise ValueError("no such\\ncolumn")

def dies(job):
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)

def sleeps(job):
    time.sleep(600)

WORKS = {"train": done, "raises": raises, "dies": dies, "sleeps": sleeps}
"""


def read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text())


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function from a work of `WORKS` to a part that does it."""
    (tmp_path / "made_up_works.py").write_text(WORKS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return lambda work, side="gpu", **more: Part(work, side, "made_up_works", **more)


# The command

FITS = "fit.gpu,fit.polars,fit.rapids"
"""Without a GPU the side `cpu` does what `gpu` does."""


@pytest.mark.stand_in
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_rehearsal_has_figures_of_every_side_that_needs_no_gpu(tmp_path):
    out = tmp_path / "figures.json"
    chosen = choose_parts(FITS)
    asked = ["--rehearse", "--only", FITS, "--rows", "2000", "--minutes", "60", "--out", str(out)]
    assert gpu.main(asked) == 0
    found = read(out)
    ended = {each["part"]: each for each in found["parts"]}
    assert list(ended) == [part.name for part in chosen]
    assert (found["rows"], found["rehearsed"]) == (2000, True)
    for part in chosen:
        record = ended[part.name]
        if part.side == "rapids":
            assert record["status"] == "skipped"
            assert "cudf" in record["reason"] or "needs a GPU" in record["reason"]
        else:
            assert record["status"] == "done", record
            assert len(record["runs"]) == (1 if part.once else 3)
            assert record["peak_bytes"] > 2**20
    compared = {(each["work"], each["side"], each["agrees"]) for each in found["agreement"]}
    assert compared == {("fit", "polars", True)}


def test_without_a_gpu_it_says_so_in_a_line(tmp_path, monkeypatch, capsys):
    def refuse(choice: str) -> None:
        raise ConfigError(f"device is {choice!r}, but there is none", hint="Install the driver.")

    monkeypatch.setattr(gpu.devices, "choose", refuse)
    out = tmp_path / "figures.json"
    assert gpu.main(["--out", str(out)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == ["device is 'gpu', but there is none. Install the driver. Without a GPU, pass --rehearse."]
    assert not out.exists()


@pytest.mark.thorough
def test_what_the_budget_does_not_reach_is_skipped(tmp_path):
    out = tmp_path / "figures.json"
    assert gpu.main(["--rehearse", "--minutes", "0.1", "--only", "train", "--out", str(out)]) == 4
    parts = {each["part"]: each for each in read(out)["parts"]}
    assert {each["status"] for each in parts.values()} == {"skipped"}
    assert parts["data.clicks"]["reason"].endswith("are left for it, expected 10 or more; raise --minutes")
    assert parts["train.gpu"]["reason"] == "data.prepared, which makes its data, was not done"


def test_a_part_that_is_not_known_and_a_rehearsal_of_figures_are_refused(tmp_path, capsys):
    assert gpu.main(["--rehearse", "--only", "boost", "--out", str(tmp_path / "figures.json")]) == 2
    assert "--only has boost, expected some of data, data.clicks, fit, fit.gpu" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        gpu.parse(["--rehearse"])


# Parts


def test_parts_are_chosen_with_what_makes_their_data():
    assert [part.name for part in choose_parts("fit.polars")] == ["data.clicks", "fit.polars"]
    assert [part.name for part in choose_parts("train.gpu", suite=True)] == [
        "data.clicks", "data.prepared", "train.gpu", "suite.penstock",
    ]  # fmt: skip
    assert choose_parts() == list(PARTS)


def test_a_part_gets_twice_its_share_of_what_is_left_and_half_a_minute_at_least():
    parts = [Part("a", "gpu", "", share=1), Part("b", "gpu", "", share=3)]
    assert gpu_runner.limit_of(parts, 600) == 300
    assert gpu_runner.limit_of(parts[1:], 250) == 250
    assert gpu_runner.limit_of(parts, 40) == 30
    assert gpu_runner.limit_of(parts, 20) == 20
    assert gpu_runner.limit_of(parts, -1) == 0


@pytest.mark.thorough
@pytest.mark.faults
def test_parts_that_fail_are_recorded_and_the_next_ones_run(tmp_path, monkeypatch, made_up):
    monkeypatch.setattr(gpu_runner, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(gpu_runner, "FLOOR_SECONDS", 0.0)
    parts = [
        made_up("raises", share=50.0),
        made_up("dies", share=50.0),
        made_up("sleeps", share=0.5),
        made_up("fit", "rapids", needs=("no_such_package",)),
        made_up("kmeans", "cpu", reads="raises.gpu"),
        made_up("train", share=100.0),
    ]
    saved: list[int] = []
    report = Report(tmp_path / "figures.json", {})

    def done(record: dict[str, Any]) -> None:
        report.add(record)
        saved.append(len(read(report.target)["parts"]))

    records = gpu_runner.run_parts(parts, gpu_runner.Setting(tmp_path, tmp_path, 10), 300, done)
    ends = {name: (each["status"], each.get("reason")) for name, each in records.items()}
    status, reason = ends.pop("sleeps.gpu")
    assert status == "cut off"
    assert "raise --minutes, or take fewer --rows" in reason
    assert ends == {
        "raises.gpu": ("failed", "ValueError: no such"),
        "dies.gpu": ("failed", "ended by signal 9"),
        "fit.rapids": ("skipped", "not installed: no_such_package"),
        "kmeans.cpu": ("skipped", "raises.gpu, which makes its data, was not done"),
        "train.gpu": ("done", None),
    }
    assert "column" in records["raises.gpu"]["log"]
    assert len(records["train.gpu"]["runs"]) == 3
    assert saved == [1, 2, 3, 4, 5, 6]
    assert not report.is_good()


def test_a_part_that_is_cut_off_keeps_the_runs_that_it_came_to():
    runs = [{"seconds": seconds, "peak_bytes": 10 * seconds, "gpu_joules": None} for seconds in (3.0, 1.0, 2.0)]
    reports = [{"start_seconds": 1.0}, *({"run": run} for run in runs), {"answer": {"auc": 0.5}}]
    found = gpu_runner.summarise(reports, None, 60.0, "")
    assert (found["status"], found["answer"], found["runs"]) == ("cut off", {"auc": 0.5}, runs)
    assert (found["seconds"], found["peak_bytes"], found["gpu_joules"]) == (2.0, 30.0, None)


def test_tests_are_counted(tmp_path):
    report = tmp_path / "tests.xml"
    ends = ("", "<failure/>", "<error/>", "<skipped/>", "")
    cases = "".join(f"<testcase classname='tests.a' name='t{at}'>{end}</testcase>" for at, end in enumerate(ends))
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    counts = {"passed": 2, "failed": 1, "errors": 1, "skipped": 1}
    assert count_tests(report) == {**counts, "not_passed": ["tests.a::t1", "tests.a::t2"]}
    assert count_tests(tmp_path / "none.xml") == {**dict.fromkeys(counts, 0), "not_passed": []}


# Figures


class Nvml:
    """Stands in for pynvml: a GPU that takes a joule and a byte more each time that it is asked."""

    class NVMLError(Exception):
        pass

    def __init__(self, *, has_energy: bool = True) -> None:
        self.asked, self.has_energy = 0, has_energy

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        if not self.has_energy:
            raise self.NVMLError
        self.asked += 1
        return 1000 * self.asked

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> SimpleNamespace:
        self.asked += 1
        return SimpleNamespace(used=self.asked)


def test_joules_and_memory_of_a_gpu_are_measured_and_null_where_they_are_not_known():
    with metered(Meter(Nvml(), "gpu")) as figures:
        pass
    found = figures.as_dict()
    assert found["gpu_joules"] >= 1
    assert found["gpu_peak_bytes"] >= 1
    assert set(found) == {"seconds", "cpu_seconds", "peak_bytes", "gpu_joules", "gpu_peak_bytes"}
    for meter in (Meter(), Meter(Nvml(has_energy=False), "slice")):  # without a GPU, and of a MIG slice
        with metered(meter) as figures:
            pass
        assert figures.as_dict()["gpu_joules"] is None


def test_answers_of_sides_agree_with_ours_on_the_gpu_within_what_is_stated():
    known = {"means": [1.0, 2.0], "log_means": [1.0], "log_stds": [1.0], "categories": [3], "first": ["a", "b"]}
    near = known | {"means": [1.0, 2.0 + 1e-7], "first": ["a", "c"]}
    ours, peers = (compare("fit", near, known, ours=ours) for ours in (True, False))
    assert not ours["means"]["agrees"]
    assert peers["means"]["agrees"]
    assert peers["means"]["difference"] == pytest.approx(5e-8)
    assert (peers["first"]["difference"], peers["first"]["agrees"]) == (0.5, False)
    lacking = compare("fit", {}, known, ours=True)["means"]
    assert (lacking["difference"], lacking["agrees"]) == (None, False)
    sides = {"cpu": (8.0, 0.75), "gpu": (2.0, 0.75), "rapids": (1.0, 0.5)}
    parts = [
        {"part": f"train.{side}", "work": "train", "side": side, "runs": [{}], "seconds": s, "answer": {"auc": auc}}
        for side, (s, auc) in sides.items()
    ]
    assert ratios(parts) == {"train.cpu": 4.0, "train.rapids": 0.5}
    assert [(each["side"], each["against"], each["agrees"]) for each in agreement(parts)] == [
        ("cpu", "gpu", True), ("rapids", "gpu", False),
    ]  # fmt: skip


def test_the_area_under_the_curve_is_that_of_scikit_learn():
    labels, scores = [0, 1, 1, 0, 1, 0, 0], [0.1, 0.4, 0.4, 0.4, 0.9, 0.2, 0.95]
    assert area_under_roc(labels, scores) == pytest.approx(sklearn.metrics.roc_auc_score(labels, scores))


# What peers do by hand: on pandas and scikit-learn in place of cuDF and cuML, whose parameters these are (26.10)

ESTIMATORS: Mapping[str, tuple[Any, str, str]] = {  # the parameters that both have, and those that only cuML has
    "cluster.KMeans": (sklearn.cluster.KMeans, "n_clusters max_iter tol random_state", "init output_type"),
    "linear_model.LogisticRegression": (sklearn.linear_model.LogisticRegression, "C max_iter tol", "output_type"),
    "ensemble.RandomForestClassifier": (
        sklearn.ensemble.RandomForestClassifier,
        "n_estimators max_depth max_features max_samples random_state",
        "n_bins output_type",
    ),
}


def estimator(name: str) -> Any:
    made, both, own = ESTIMATORS[name]

    def construct(**parameters: Any) -> Any:
        assert set(parameters) <= {*both.split(), *own.split()}
        return made(**{each: value for each, value in parameters.items() if each in both.split()})

    return construct


def modules() -> Iterator[ModuleType]:
    """Yield what is imported as cuDF and as cuML."""
    cudf, cuml, metrics = ModuleType("cudf"), ModuleType("cuml"), ModuleType("cuml.metrics")
    cudf.__dict__.update(
        {name: type(name, (), {}) for name in ("DataFrame", "Series", "Index")},  # which Narwhals looks for
        CategoricalDtype=pd.CategoricalDtype,
        read_parquet=lambda files, columns: pd.concat([pd.read_parquet(each, columns=columns) for each in files]),
    )
    metrics.__dict__.update(roc_auc_score=sklearn.metrics.roc_auc_score, log_loss=sklearn.metrics.log_loss)
    yield from (cudf, cuml, metrics)
    for name in ESTIMATORS:
        place, _, cls = name.partition(".")
        module = ModuleType(f"cuml.{place}")
        setattr(module, cls, estimator(name))
        yield module


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job on clicks that are there already, as numbers too."""
    folder = tmp_path_factory.mktemp("clicks")
    job = Job("", "", "cpu", str(folder), 8_000, False, 0.0, str(folder / "job.jsonl"))
    for seed, rows in enumerate((job.all, job.sample)):
        generator.write(rows.raw, job.rows, seed=seed)
    gpu_data.prepare(job).run(job.all)
    return job


def answer(module: ModuleType, work: str, job: Job) -> Any:
    job = replace(job, reports=f"{job.folder}/{module.__name__}.jsonl")
    task = module.WORKS[work](job)
    return task.answer(task.run(job.all))


@pytest.fixture(scope="module")
def ours(prepared: Job) -> Callable[[str], Any]:
    """A function from a work to the answer of ours."""
    return cache(lambda work: answer(gpu_ours, work, prepared))


@pytest.mark.thorough
def test_work_by_hand_has_the_answer_of_ours(prepared, ours, monkeypatch, subtests):
    answers = {work: ours(work) for work in gpu_rapids.WORKS}
    for module in modules():
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for work, expected in answers.items():
        with subtests.test(work=work):
            found = compare(work, answer(gpu_rapids, work, prepared), expected, ours=False)
            assert all(each["agrees"] for each in found.values()), found


@pytest.mark.thorough
def test_queries_of_polars_have_the_answer_of_ours(prepared, ours, subtests):
    for work in gpu_polars.WORKS:
        with subtests.test(work=work):
            found = compare(work, answer(gpu_polars, work, prepared), ours(work), ours=False)
            assert all(each["agrees"] for each in found.values()), found
