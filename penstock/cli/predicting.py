"""What a fit is predicted to take on numbers of workers, before it runs."""

from __future__ import annotations

import math
from dataclasses import asdict
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


def predict(request: ExplainRequest, dataset: Dataset) -> dict[str, Any]:
    """Return what a request asks for, of a dataset as it is read.

    Returns
    -------
    dict
        ``rows``; ``calibrated``, the numbers of workers of the records: of one alone no communication is known;
        ``best_workers``, the fewest whose time is near the least there is; and ``runs``, by workers. Each of these has
        ``machines``, of the type that was asked for, the measures of `penstock.runs.scaling.Prediction`, and ``spans``:
        of each scan and training its ``name``, ``seconds``, ``interval``, ``bound``, and ``phases`` by name.

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
    return {
        "rows": sum(rows),
        "calibrated": model.workers,
        "best_workers": model.best_workers(rows, speed=speed),
        "runs": [_fit(model.predict(rows, workers=each, speed=speed), offer) for each in workers],
    }


def _offer(request: ExplainRequest, memory: int) -> Offer:
    machines = read_machines(request.machines or conf_folder(request) / "machines.yaml")
    name = str(request.machine)
    check_one_of("machine", name, list(machines))
    return offers_of({name: machines[name]}, memory)[0][0]


_MEASURES = ("seconds", "interval", "speedup", "efficiency", "serial", "parallel", "communication", "memory", "bound")


def _fit(found: Prediction, offer: Offer | None) -> dict[str, Any]:
    return {
        "workers": found.workers,
        "machines": None if offer is None else math.ceil(found.workers / offer.slots),
        **{name: getattr(found, name) for name in _MEASURES},
        "spans": [{**asdict(span), "bound": span.bound} for span in found.spans],
    }
