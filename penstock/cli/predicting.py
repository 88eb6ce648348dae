"""What a fit is predicted to take on numbers of workers, before it runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from penstock.cli.calibrating import whole_numbers
from penstock.cli.job_setup import conf_folder
from penstock.cli.planning import recorded_fits
from penstock.cli.requests import ExplainRequest
from penstock.core.errors import check_one_of
from penstock.dataset.dataset import Dataset
from penstock.runs.placement.machine_type import read_machines
from penstock.runs.placement.offers import Offer, offers_of
from penstock.runs.scaling import Prediction, ScalingModel


@dataclass(frozen=True, kw_only=True)
class PredictedFit:
    """What is predicted of a fit on some workers.

    Attributes
    ----------
    workers : int
        How many tasks run at the same time.
    machines : int or None
        Of the type that was asked for.
    seconds, interval
        As of `penstock.runs.scaling.Prediction`, as are the others.
    spans : sequence of mapping
        Of each scan and training its ``name``, ``seconds``, ``interval``, ``bound``, and ``phases`` by name.
    """

    workers: int
    machines: int | None
    seconds: float
    interval: tuple[float, float]
    speedup: float
    efficiency: float
    serial: float
    parallel: float
    communication: float
    memory: int
    bound: str
    spans: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class PredictedFits:
    """What is predicted of a fit to some rows.

    Attributes
    ----------
    rows : int
    calibrated : sequence of int
        The numbers of workers of the records: of one alone no communication is known.
    best_workers : int
        The fewest whose time is near the least there is.
    runs : sequence of PredictedFit
        By workers.
    """

    rows: int
    calibrated: Sequence[int]
    best_workers: int
    runs: Sequence[PredictedFit]


def predict(request: ExplainRequest, dataset: Dataset) -> PredictedFits:
    """Return what a request asks for, of a dataset as it is read.

    Raises
    ------
    ConfigError
        Workers are no whole numbers; there is no calibration and no record; or no such machine, or none that a worker
        fits.
    MissingInputError, CorruptFileError
        The calibration is not there, or none.
    """
    assert request.workers is not None
    workers = whole_numbers("workers", request.workers)
    rows = [fragment.rows for fragment in dataset.fragments]
    model = ScalingModel.load(request.calibration) if request.calibration else ScalingModel.fit(recorded_fits(request))
    offer = None if request.machine is None else _offer(request, model.predict(rows, workers=max(workers)).memory)
    speed = 1.0 if offer is None else offer.speed
    return PredictedFits(
        rows=sum(rows),
        calibrated=model.workers,
        best_workers=model.best_workers(rows, speed=speed),
        runs=[_fit(model.predict(rows, workers=each, speed=speed), offer) for each in workers],
    )


def _offer(request: ExplainRequest, memory: int) -> Offer:
    machines = read_machines(request.machines or conf_folder(request) / "machines.yaml")
    name = str(request.machine)
    check_one_of("machine", name, list(machines))
    return offers_of({name: machines[name]}, memory)[0][0]


def _fit(found: Prediction, offer: Offer | None) -> PredictedFit:
    names = ("workers", "seconds", "interval", "speedup", "efficiency", "serial", "parallel", "communication", "memory")
    return PredictedFit(
        machines=None if offer is None else math.ceil(found.workers / offer.slots),
        bound=found.bound,
        spans=[{**asdict(span), "bound": span.bound} for span in found.spans],
        **{name: getattr(found, name) for name in names},
    )
