"""What a fitted estimator makes of rows, as columns of a frame."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.frames import matrices
from penstock.stages.target import null_where
from penstock.stages.training.sklearn._score import spread


def to_series(frame: nw.DataFrame, name: str, values: np.ndarray, present: np.ndarray) -> nw.Series:
    """Return values of the rows present as a column of `frame`, null in the others and for NaN."""
    whole, missing = spread(values, present)
    kind = frames.kind_of(frame)
    series = matrices.column(frame, name, matrices.to_device(whole, kind))
    return null_where(frame, series, matrices.to_device(missing, kind))


def to_classes(frame: nw.DataFrame, name: str, places: np.ndarray, present: np.ndarray, classes: pa.Array) -> nw.Series:
    """Return the classes at some places as a column of `frame`, null in the rows that are not present."""
    whole, missing = spread(places, present)
    codes = np.where(missing, -1, whole).astype(np.int32)
    return frames.decode(matrices.column(frame, name, matrices.to_device(codes, frames.kind_of(frame))), classes)
