"""What makes two trained models the same, by one function for whoever trained them, over all rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.dataset as ds
from numpy.typing import NDArray

from benchmarks.contenders import FEATURES, HYPERPARAMETERS

Floats = NDArray[np.float64]
Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Rows:
    """The rows that were learned from, and the means and deviations of their columns."""

    data: Path
    mean: Mapping[str, float]
    deviation: Mapping[str, float]

    @classmethod
    def of(cls, data: Path) -> Rows:
        scan = pl.scan_parquet(f"{data}/*.parquet").select(*FEATURES, "amount")
        mean, deviation = (each.collect(engine="streaming").row(0, named=True) for each in (scan.mean(), scan.std()))
        return cls(data, mean, deviation)

    def batches(self, columns: Sequence[str]) -> Iterator[Floats]:
        """Give the columns as matrices, a batch at a time."""
        for batch in ds.dataset(self.data, format="parquet").to_batches(columns=list(columns)):
            yield np.column_stack([column.to_numpy().astype(np.float64) for column in batch.columns])


def figures(work: str, answer: Answer, rows: Rows) -> dict[str, Floats]:
    """Return by name what has to be the same in all answers to one work."""
    if work == "kmeans":
        return {"inertia": np.array([_inertia(answer, rows)])}
    if work == "logistic":
        return {"model": _standardised(answer, rows), "objective": np.array([_objective(answer, rows)])}
    chosen = ("reg_param", "mean_rmse") if work == "ridge_cv" else ()
    label = rows.mean["amount"], rows.deviation["amount"]
    return {"model": _standardised(answer, rows, *label), **{name: np.array([answer[name]]) for name in chosen}}


def difference(found: Floats, known: Floats) -> float:
    """Return by how much two figures differ at most, relative to the largest of them."""
    return float(np.abs(found - known).max() / np.abs(known).max())


def _standardised(answer: Answer, rows: Rows, centre: float = 0.0, scale: float = 1.0) -> Floats:
    """Return coefficients and, last, the intercept for features, and with centre and scale a label, standardised."""
    mean, deviation = (np.array([each[name] for name in FEATURES]) for each in (rows.mean, rows.deviation))
    coefficients = np.array(answer["coefficients"])
    return np.append(coefficients * deviation, answer["intercept"] + coefficients @ mean - centre) / scale


def _objective(answer: Answer, rows: Rows) -> float:
    """Return what a logistic regression minimises: mean log loss, and the ridge penalty on standardised features."""
    loss, count, coefficients = 0.0, 0, np.array(answer["coefficients"])
    for batch in rows.batches([*FEATURES, "label"]):
        margin = batch[:, :-1] @ coefficients + answer["intercept"]
        loss, count = loss + float((np.logaddexp(0.0, margin) - batch[:, -1] * margin).sum()), count + len(batch)
    penalised = _standardised(answer, rows)[:-1]
    reg_param: float = HYPERPARAMETERS["logistic"]["reg_param"]
    return loss / count + reg_param / 2 * float(penalised @ penalised)


def _inertia(answer: Answer, rows: Rows) -> float:
    """Return the sum of the rows' squared distances from the nearest centre."""
    centres = [np.array(centre) for centre in answer["centres"]]
    return sum(
        float(np.minimum.reduce([((batch - centre) ** 2).sum(axis=1) for centre in centres]).sum())
        for batch in rows.batches(FEATURES)
    )
