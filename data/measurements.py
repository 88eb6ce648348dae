"""Write synthetic measurements to train simple models on: 20 correlated numbers of different scales, and what to learn.

A few hidden factors, which lie in clusters that overlap, are behind all features. `amount` is linear in the features
but for noise; `label` is drawn by a logistic model of them; `fold` deals the rows for cross-validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from _write import CHUNK_ROWS, Layout, Stream, chunks, main, write_directory
from numpy.typing import NDArray

FEATURES = tuple(f"f{number}" for number in range(20))
FACTORS, CLUSTERS, FOLDS = 5, 8, 5

SCHEMA = pa.schema(
    [(name, pa.float64()) for name in FEATURES]
    + [("amount", pa.float64()), ("label", pa.int32()), ("fold", pa.int32())]
)

_SPREAD = 1.0  # of a cluster in each factor, where the centres are about 2.5 apart
_NOISE = 1.0  # of a feature, beside what the factors make of it
_AMOUNT_NOISE = 4.0

Floats = NDArray[np.float64]


def generate(rows: int, seed: int = 0) -> Iterator[pa.Table]:
    """Return the rows in tables of 250,000, of which the last may be shorter, with the columns of ``SCHEMA``.

    The first rows are the same for every ``rows``.
    """
    return (_table(size, stream) for size, stream in chunks(rows, seed))


def write(
    out: str | Path,
    rows: int,
    *,
    seed: int = 0,
    rows_per_file: int = 1_000_000,
    row_group_rows: int = CHUNK_ROWS,
    format: str = "parquet",
    overwrite: bool = False,
) -> list[Path]:
    """Write ``generate(rows, seed)`` to the directory ``out`` and return its files; see ``Layout`` for the rest."""
    layout = Layout(rows_per_file=rows_per_file, row_group_rows=row_group_rows, format=format, overwrite=overwrite)
    return write_directory(out, generate(rows, seed), SCHEMA, rows, layout)


class _Truth:
    """What is the same for every row of every seed."""

    def __init__(self) -> None:
        random = np.random.default_rng(CLUSTERS)
        self.centres = random.normal(0.0, 0.8, (CLUSTERS, FACTORS))
        self.loadings = random.normal(0.0, 0.6, (FACTORS, len(FEATURES)))
        self.scales = random.permutation(np.geomspace(0.1, 10.0, len(FEATURES)))
        self.offsets = self.scales * random.normal(0.0, 5.0, len(FEATURES))
        self.effects = {name: random.normal(0.0, 1.0, len(FEATURES)) for name in ("amount", "label")}


_TRUTH = _Truth()


def _table(rows: int, stream: Stream) -> pa.Table:
    standard = _standard(rows, stream)
    features = standard * _TRUTH.scales + _TRUTH.offsets
    columns: dict[str, Any] = dict(zip(FEATURES, features.T, strict=True)) | _learnable(standard, rows, stream)
    columns["fold"] = stream("fold").integers(0, FOLDS, rows)
    return pa.table([pa.array(columns[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def _standard(rows: int, stream: Stream) -> Floats:
    """Return the features before they get their scales: mixtures of the factors, and noise."""
    cluster = stream("cluster").integers(0, CLUSTERS, rows)
    factors = _TRUTH.centres[cluster] + _SPREAD * stream("factors").standard_normal((rows, FACTORS))
    noise = stream("noise").standard_normal((rows, len(FEATURES)))
    return _mixed(factors, _TRUTH.loadings) + _NOISE * noise


def _learnable(standard: Floats, rows: int, stream: Stream) -> dict[str, Any]:
    expected, log_odds = (_mixed(standard, _TRUTH.effects[name][:, None])[:, 0] for name in ("amount", "label"))
    chance = 1.0 / (1.0 + np.exp(-0.25 * log_odds))
    return {
        "amount": 100.0 + expected + _AMOUNT_NOISE * stream("amount").standard_normal(rows),
        "label": stream("label").random(rows) < chance,
    }


def _mixed(values: Floats, weights: Floats) -> Floats:
    """Return ``values @ weights``, added up term by term: in BLAS the last digits may depend on the number of rows."""
    mixed = np.zeros((len(values), weights.shape[1]))
    for value, weight in zip(values.T, weights, strict=True):
        mixed += value[:, None] * weight
    return mixed


if __name__ == "__main__":
    main(__doc__, write)
