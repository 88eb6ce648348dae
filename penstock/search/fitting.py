"""Fits of many trials on many folds, side by side: a scan serves all that wait for one, and trainings share rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from penstock.core.errors import PenstockError
from penstock.dataset.dataset import Dataset
from penstock.pipeline.fit import nothing_left
from penstock.pipeline.fusion import Pass
from penstock.pipeline.training import Training
from penstock.search.joint_scan import JointScan, Key, ScanAnswer
from penstock.search.lanes import Lane, waiting
from penstock.search.trainings import train_lanes


def fit_lanes(lanes: Sequence[Lane], dealt: Dataset, parallelism: int | None = None) -> int:
    """Fit all lanes, or find out why they cannot be; return how many scans that took.

    `parallelism` is how many trainings run at the same time, see `train_lanes`.
    Scans come first wherever a lane waits for one, so that as many as can share it.
    """
    scans = 0
    while True:
        if scanning := waiting(lanes, Pass):
            scans += 1
            _gather(scanning, dealt, f"scan {scans} of {len({lane.trial for lane in lanes})} trial(s)")
        elif training := waiting(lanes, Training):
            train_lanes(training, parallelism)
        else:
            return scans


def _gather(lanes: Sequence[Lane], dealt: Dataset, label: str) -> None:
    scan = JointScan(dealt)
    asked: list[tuple[Lane, dict[tuple[int, str], Key]]] = []
    for lane in lanes:
        try:
            asked.append((lane, _asked(lane, scan)))
        except PenstockError as error:
            lane.fail(error)
    answers = scan.run(label)
    for lane, keys in asked:
        _answer(lane, {name: answers[key] for name, key in keys.items()})


def _asked(lane: Lane, scan: JointScan) -> dict[tuple[int, str], Key]:
    """Ask for the statistics that a lane waits for; return by stage and name what to look up."""
    return {
        (request.stage, request.name): scan.ask(lane.split.train, lane.ahead(request.position), request.statistic)
        for request in cast(Pass, lane.work).requests
    }


def _answer(lane: Lane, answers: dict[tuple[int, str], ScanAnswer]) -> None:
    try:
        lane.answer(_results(lane, answers))
    except PenstockError as error:
        lane.fail(error)


def _results(lane: Lane, answers: dict[tuple[int, str], ScanAnswer]) -> dict[int, dict[str, Any]]:
    """Return the results that a lane waits for, by stage and name; raise the error of any, as of that stage."""
    requests = cast(Pass, lane.work).requests
    results: dict[int, dict[str, Any]] = {}
    for request in requests:
        answer = answers[request.stage, request.name]
        if answer.error is None and not answer.log.kept:
            raise nothing_left(answer.log)
        try:
            results.setdefault(request.stage, {})[request.name] = answer.value()
        except PenstockError as error:
            raise lane.fit.blamed(lane.fit.located(error, request.position), request.stage) from error
    return results
