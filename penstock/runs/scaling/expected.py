"""What a run is expected to take by the runs of the same job before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.errors import ConfigError
from penstock.runs.run import Run
from penstock.runs.scaling.model import ScalingModel
from penstock.runs.scaling.observation import RunObservation, input_rows
from penstock.runs.scaling.prediction import Prediction

LEAST = 3
"""Runs that a prediction is made from."""


def expected_time(run: Run, before: Sequence[Run]) -> Prediction | None:
    """Return what a run that has ended should have taken, by the rows that it read.

    Parameters
    ----------
    run : Run
    before : sequence of Run
        Of the same kind and name. Those on another engine are left out.

    Returns
    -------
    Prediction or None
        None where fewer than three runs are left, or none of them has a scan or a training.

    Examples
    --------
    >>> import tempfile, penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": range(1_000)}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for _ in range(4):
    ...         with ps.runs.record(folder):
    ...             table = data.to_arrow()
    ...     *before, last = ps.runs.RunStore(folder)
    >>> expected_time(last, before).rows
    1000
    """
    alike = _alike(run.info, before)
    if not alike:
        return None
    observed = RunObservation.of(run)
    return _predict(observed.fragments, observed.workers, alike)


def expected_time_under_way(info: Mapping[str, Any], before: Sequence[Run]) -> Prediction | None:
    """Return what a run under way will take in all, by the rows of its inputs.

    Parameters
    ----------
    info : mapping
        Its ``engine`` and ``inputs``, as ``run.json`` has them.
    before : sequence of Run
        As of `expected_time`.

    Returns
    -------
    Prediction or None
        None also where the inputs are not known.
    """
    alike = _alike(info, before)
    read = sum(map(input_rows, (run.info for run in alike)))
    scanned = sum(RunObservation.of(run).rows for run in alike)
    # A fit scans the rows that it does not keep for its evaluation.
    rows = round(input_rows(info) * scanned / read) if read else 0
    return _predict(rows, int(info.get("engine", {}).get("slots", 1)), alike)


def _alike(info: Mapping[str, Any], before: Sequence[Run]) -> list[Run]:
    """Return the runs on the same engine; none where they are too few."""
    engine = info.get("engine", {}).get("name")
    alike = [run for run in before if run.info.get("engine", {}).get("name") == engine]
    return alike if len(alike) >= LEAST else []


def _predict(rows: int | Sequence[int], workers: int, alike: Sequence[Run]) -> Prediction | None:
    if not rows:
        return None
    try:
        return ScalingModel.fit(alike).predict(rows, workers=workers)
    except ConfigError:  # there is nothing to scale by: no scan in the runs before, no row in this one
        return None
