"""Write synthetic rows that a model of each kind has scored: truth and prediction side by side, to be evaluated.

A binary margin and the probability that it claims, five classes, an amount, tags, ranked items and clusters. Every
prediction is right about as often as that of a fair model, and the probabilities claim a little more than they keep,
so that no metric is at its bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from _write import CHUNK_ROWS, Layout, Stream, chunks, main, write_directory
from numpy.typing import NDArray

CLASSES, CLUSTERS, TAGS, ITEMS = 5, 8, 20, 30
MOST_TAGS, MOST_RELEVANT, RANKED = 4, 3, 10
FEATURES = ("f0", "f1", "f2", "f3")
_NUMBERS = pa.list_(pa.float64())

SCHEMA = pa.schema(
    [("label", pa.int32())]
    + [(name, pa.float64()) for name in ("rawPrediction", "probability", "prediction")]
    + [("class_label", pa.float64()), ("class_prediction", pa.float64()), ("class_probability", _NUMBERS)]
    + [(name, pa.float64()) for name in ("amount", "predicted", "weight")]
    + [(name, _NUMBERS) for name in ("tags", "predicted_tags", "relevant", "ranked")]
    + [("cluster", pa.int32()), *((name, pa.float64()) for name in FEATURES)]
)

_OVERCONFIDENCE = 1.3  # the margin over the log-odds that the labels were drawn with
_CLASS_PULL = np.linspace(0.6, -0.6, CLASSES)  # the first class is the most frequent
_SPREAD = 1.2  # of a cluster, where the centres are about 3 apart

Columns = dict[str, Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    if format == "csv":
        raise ValueError("format is 'csv', which has no lists; expected parquet or jsonl")
    layout = Layout(rows_per_file=rows_per_file, row_group_rows=row_group_rows, format=format, overwrite=overwrite)
    return write_directory(out, generate(rows, seed), SCHEMA, rows, layout)


def _table(rows: int, stream: Stream) -> pa.Table:
    columns = _binary(rows, stream) | _classes(rows, stream) | _amounts(rows, stream)
    columns |= _tags(rows, stream) | _ranking(rows, stream) | _clusters(rows, stream)
    return pa.table([pa.array(columns[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def _binary(rows: int, stream: Stream) -> Columns:
    log_odds = 1.5 * stream("margin").standard_normal(rows) - 1.0
    margin = _OVERCONFIDENCE * log_odds
    return {
        "label": stream("label").random(rows) < _sigmoid(log_odds),
        "rawPrediction": margin,
        "probability": _sigmoid(margin),
        "prediction": (margin > 0.0).astype(np.float64),
    }


def _sigmoid(log_odds: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-log_odds))


def _classes(rows: int, stream: Stream) -> Columns:
    log_odds = 1.2 * stream("classes").standard_normal((rows, CLASSES)) + _CLASS_PULL
    below = np.cumsum(_softmax(log_odds), axis=1)[:, :-1]
    probability = _softmax(_OVERCONFIDENCE * log_odds)
    return {
        "class_label": (stream("class").random(rows)[:, None] >= below).sum(axis=1).astype(np.float64),
        "class_prediction": probability.argmax(axis=1).astype(np.float64),
        "class_probability": _lists(probability, np.ones_like(probability, np.bool_)),
    }


def _softmax(log_odds: Floats) -> Floats:
    odds = np.exp(log_odds)
    return odds / odds.sum(axis=1, keepdims=True)


def _amounts(rows: int, stream: Stream) -> Columns:
    expected = 2.5 + 0.8 * stream("expected").standard_normal(rows)
    noise = 0.4 * stream("noise").standard_normal(rows)
    return {
        "amount": np.exp(expected + noise),
        "predicted": np.exp(expected),
        "weight": 0.5 + stream("weight").random(rows),
    }


def _tags(rows: int, stream: Stream) -> Columns:
    """Return tags and their predictions, both ascending: the best by one affinity, each seen with noise of its own."""
    affinity = np.linspace(1.0, 0.0, TAGS) + stream("affinity").random((rows, TAGS))  # the first tags are frequent
    columns = {}
    for name in ("tags", "predicted_tags"):
        sizes = stream(f"size {name}").integers(1, MOST_TAGS, rows, endpoint=True)
        rank = np.argsort(_best_first(affinity, 0.4, name, stream), axis=1)  # how many tags are better
        columns[name] = _lists(np.broadcast_to(np.arange(TAGS), rank.shape), rank < sizes[:, None])
    return columns


def _ranking(rows: int, stream: Stream) -> Columns:
    """Return the relevant items and the ranked ones: the best by one taste, each seen with noise of its own."""
    taste = stream("taste").random((rows, ITEMS))
    sizes = stream("size relevant").integers(1, MOST_RELEVANT, rows, endpoint=True)
    relevant, ranked = (_best_first(taste, 0.6, name, stream) for name in ("relevant", "ranked"))
    place = np.broadcast_to(np.arange(ITEMS), taste.shape)
    return {"relevant": _lists(relevant, place < sizes[:, None]), "ranked": _lists(ranked, place < RANKED)}


def _best_first(values: Floats, noise: float, name: str, stream: Stream) -> Ints:
    """Return the places of each row's values, from the largest to the least when seen with noise."""
    return np.argsort(-values - noise * stream(f"noise {name}").random(values.shape), axis=1)


def _lists(values: NDArray[Any], kept: NDArray[np.bool_]) -> pa.ListArray:
    """Return the values kept of each row as a list."""
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, values[kept].astype(np.float64))


def _clusters(rows: int, stream: Stream) -> Columns:
    centres = np.random.default_rng(CLUSTERS).normal(0.0, 1.5, (CLUSTERS, len(FEATURES)))
    cluster = stream("cluster").integers(0, CLUSTERS, rows)
    features = centres[cluster] + _SPREAD * stream("features").standard_normal((rows, len(FEATURES)))
    return {"cluster": cluster, **dict(zip(FEATURES, features.T, strict=True))}


if __name__ == "__main__":
    main(__doc__, write)
