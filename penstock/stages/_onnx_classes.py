"""The columns of a classifier in a graph in ONNX."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.stages.base import Fitted
from penstock.stages.onnx_graph import OnnxGraph, Tensor, dtype_of


def class_columns(
    graph: OnnxGraph, names: tuple[str, ...], fitted: Fitted, raw: Tensor, probability: Tensor, place: Tensor
) -> dict[str, Tensor]:
    """Return scores, probabilities and the class of each row, by the three names.

    Parameters
    ----------
    place : Tensor
        int64 of shape (rows, 1): which of the classes is predicted.
    """
    classes: pa.ChunkedArray = fitted["classes"]["value"]
    dtype = dtype_of(names[2], classes.type)
    values: list[Any] = classes.to_pylist()
    row = graph.constant(values, dtype)
    chosen = graph.add("Gather", graph.add("Squeeze", row, graph.axes(0)), place, axis=0)
    return dict(zip(names, (raw, probability, chosen), strict=True))


def likeliest(graph: OnnxGraph, scores: Tensor) -> Tensor:
    """Return the place of the largest score of each row."""
    return graph.add("ArgMax", scores, dtype="int64", axis=1, keepdims=1)


def above(graph: OnnxGraph, scores: Tensor, limit: float) -> Tensor:
    """Return 1 where a score is above a limit, and 0 elsewhere."""
    return graph.cast(graph.add("Greater", scores, graph.constant(limit), dtype="bool"), "int64")
