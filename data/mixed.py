"""Write synthetic rows of mixed columns to preprocess: categories of many sizes, skewed numbers, correlated features.

`c10` to `c10000` are texts with as many values, the first the most frequent; `x0`-`x3` are continuous, so that each
quantile is at one value; a few hidden factors of different strength are behind `f0`-`f9`. The label is drawn from a
logistic model of a weight hidden in each category.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from _write import CHUNK_ROWS, Layout, Stream, chunks, main, write_directory
from numpy.typing import NDArray

SIZES = {f"c{size}": size for size in (10, 20, 50, 200, 1_000, 10_000)}
NUMBERS = {"x0": 0.0, "x1": 0.5, "x2": 1.0, "x3": 2.0}  # how skewed
FEATURES = tuple(f"f{number}" for number in range(10))
FACTORS = 4

SCHEMA = pa.schema(
    [(name, pa.string()) for name in SIZES]
    + [(name, pa.float64()) for name in (*NUMBERS, *FEATURES)]
    + [("label", pa.int32())]
)

_SHIFT = 5.0  # categories by rank r are seen in proportion to 1 / (r + shift)
_NOISE = 0.5  # of a feature, beside what the factors make of it
_PULL = 0.4  # of a category on the log-odds

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


class _Vocabulary(NamedTuple):
    """The texts of a column by rank, the share of rows with this or a lower rank, and their pull on the label."""

    texts: pa.StringArray
    shares: Floats
    weights: Floats

    @classmethod
    def of(cls, name: str, size: int) -> _Vocabulary:
        random = np.random.default_rng(size)
        texts = [f"{name}-{number:05d}" for number in random.permutation(size)]
        chance = 1.0 / (np.arange(size) + _SHIFT)
        return cls(pa.array(texts), np.cumsum(chance) / chance.sum(), random.normal(0.0, _PULL, size))


_VOCABULARIES = {name: _Vocabulary.of(name, size) for name, size in SIZES.items()}
_LOADINGS = np.geomspace(4.0, 1.0, FACTORS)[:, None] * np.random.default_rng(FACTORS).normal(
    0.0, 1.0, (FACTORS, len(FEATURES))
)


def _table(rows: int, stream: Stream) -> pa.Table:
    columns: dict[str, Any] = {}
    log_odds = np.full(rows, -0.5)
    for name, vocabulary in _VOCABULARIES.items():
        ranks = np.searchsorted(vocabulary.shares[:-1], stream(name).random(rows), side="right")
        log_odds += vocabulary.weights[ranks]
        columns[name] = vocabulary.texts.take(pa.array(ranks))
    for name, skew in NUMBERS.items():
        normal = stream(name).standard_normal(rows)
        columns[name] = np.exp(skew * normal) if skew else normal
    columns |= dict(zip(FEATURES, _features(rows, stream).T, strict=True))
    columns["label"] = stream("label").random(rows) < 1.0 / (1.0 + np.exp(-log_odds))
    return pa.table([pa.array(columns[field.name]).cast(field.type) for field in SCHEMA], schema=SCHEMA)


def _features(rows: int, stream: Stream) -> Floats:
    """Return the features, added up term by term: in BLAS the last digits may depend on the number of rows."""
    features = _NOISE * stream("noise").standard_normal((rows, len(FEATURES)))
    for factor, loadings in zip(stream("factors").standard_normal((rows, FACTORS)).T, _LOADINGS, strict=True):
        features += factor[:, None] * loadings
    return features


if __name__ == "__main__":
    main(__doc__, write)
