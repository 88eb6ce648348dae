"""How many numbers are in each of fixed bins: exact, whatever the partitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.counts import Count
from penstock.statistics.moments import Moments, combine

_NEAR = 2**16
_CELLS = 2**12
_FEW = 4


@dataclass(frozen=True, eq=False)
class BinCount(Count):
    """The values of a column in bins.

    Attributes
    ----------
    rows, nulls : int
    bins : numpy.ndarray of shape (n_edges + 1,), int64
        Values up to the first edge, above it and up to the next, ..., and above the last.
    min, max : float or None
        None where all values are null.
    mean, std : float or None
        The standard deviation is that of a sample. None where there are too few values, or infinite ones, or squares
        overflow.
    """

    bins: np.ndarray
    min: float | None
    max: float | None
    mean: float | None
    std: float | None


@dataclass(frozen=True)
class BinCounts(Statistic):
    """The :class:`BinCount` of each column of numbers or booleans, compared as float64.

    Counted on the host, to which the columns of a frame on a GPU are copied one at a time. Infinite values are below or
    above all edges.

    Parameters
    ----------
    columns : tuple of str
    edges : tuple of tuple of float
        Of each column, ascending and finite.

    Raises
    ------
    ConfigError
        There are not as many edges as columns.

    Examples
    --------
    >>> from penstock import frames
    >>> counts = BinCounts(("x",), ((1.0, 2.0),))
    >>> found = counts.finish(counts.summarise(frames.from_arrow(pa.table({"x": [1.0, 1.5, 7.0, None]}))))["x"]
    >>> found.bins.tolist(), found.rows, found.nulls, found.max
    ([1, 1, 1], 4, 1, 7.0)
    """

    edges: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.columns):
            raise ConfigError(f"there are edges of {len(self.edges)} columns, expected {len(self.columns)}")

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the values of one partition."""
        counted = [_counted(frame[name], edges) for name, edges in zip(self.columns, self.edges, strict=True)]
        bins = [np.empty(0, np.int64), *(each["bins"] for each in counted)]
        return {
            "rows": len(frame),
            "bins": _table(np.concatenate(bins)),
            **{part: [each[part] for each in counted] for part in ("nulls", "min", "max")},
            "moments": {name: each["moment"] for name, each in zip(self.columns, counted, strict=True)},
        }

    def merge(self, states: Sequence[State]) -> State:
        """Add up; moments are joined with Chan's update."""
        moments = Moments(self.columns).merge
        return merge_fields(states, rows=sum, bins=add_tables, nulls=_sums, min=_least, max=_most, moments=moments)

    def finish(self, state: State) -> dict[str, BinCount]:
        """Return the counts by column."""
        places = np.cumsum([len(edges) + 1 for edges in self.edges])
        bins = np.split(state["bins"]["count"].to_numpy(), places[:-1])
        parts = zip(self.columns, state["nulls"], bins, state["min"], state["max"], strict=True)
        return {
            name: BinCount(state["rows"], nulls, counts, low, high, *_mean_and_std(state["moments"][name]))
            for name, nulls, counts, low, high in parts
        }


def _counted(column: nw.Series[Any], edges: Sequence[float]) -> dict[str, Any]:
    """Return what the state has of one column."""
    valid = column.drop_nulls()
    nulls = len(column) - len(valid)
    if not len(valid):
        bins = np.zeros(len(edges) + 1, np.int64)
        return {"nulls": nulls, "bins": bins, "min": None, "max": None, "moment": _moment(np.empty(0), None)}
    numbers, counts = _tallied(valid)
    low, high = float(numbers.min()), float(numbers.max())
    bins = np.bincount(_places(np.asarray(edges), numbers), counts, len(edges) + 1).astype(np.int64)
    return {"nulls": nulls, "bins": bins, "min": low, "max": high, "moment": _moment(numbers, counts)}


def _tallied(valid: nw.Series[Any]) -> tuple[np.ndarray, np.ndarray | None]:
    """Return numbers, and how often each is there; None where each is there once.

    Whole numbers near the smallest, as most counts are, are told once: counting them takes less than looking each up.
    """
    if not valid.dtype.is_integer() or valid.dtype == nw.UInt64:
        return valid.cast(nw.Float64).to_numpy(), None
    values = valid.to_numpy()
    low, high = int(values.min()), int(values.max())
    if high - low >= 2**62:
        return values.astype(np.float64), None
    apart = np.subtract(values, low, dtype=np.int64)
    is_near = apart < _NEAR
    counts = np.bincount(apart if high - low < _NEAR else apart[is_near])
    near, far = np.flatnonzero(counts), np.sort(values[~is_near])
    told = np.concatenate([near + low, far]).astype(np.float64)
    return told, np.concatenate([counts[near], np.ones(len(far), np.int64)])


def _places(edges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the bin of each value, as NumPy's searchsorted does.

    Where edges are spread evenly enough, a value is looked up in a table of cells of one width, and compared with the
    edge in its cell, in less than half of the time. Cells ascend with values, rounding and all, so that this is exact.
    """
    searched: np.ndarray
    with np.errstate(over="ignore", divide="ignore"):
        scale = np.float64(_CELLS) / (edges[-1] - edges[0]) if len(edges) and len(values) > _CELLS else np.inf
    if not 0 < scale < np.inf:
        searched = np.searchsorted(edges, values)
        return searched

    def cell(numbers: np.ndarray) -> np.ndarray:
        return ((np.clip(numbers, edges[0], edges[-1]) - edges[0]) * scale).astype(np.int32)

    held = np.bincount(cell(edges), minlength=_CELLS + 2)
    if held[held > 1].sum() * _FEW > len(edges):
        searched = np.searchsorted(edges, values)
        return searched
    at = cell(values)
    places: np.ndarray = (np.cumsum(held) - held)[at]
    places += (held[at] > 0) & (values > np.append(edges, np.inf)[places])
    if len(shared := np.flatnonzero(held[at] > 1)):
        places[shared] = np.searchsorted(edges, values[shared])
    return places


def _moment(values: np.ndarray, counts: np.ndarray | None) -> State:
    """Return what `Moments` has of values, each of which is there so often; where some are infinite, nothing else."""
    count = len(values) if counts is None else int(counts.sum())
    of = max(count, 1)

    def total(numbers: np.ndarray) -> float:
        return float((numbers if counts is None else numbers * counts).sum())

    with np.errstate(over="ignore", invalid="ignore"):
        origin = total(values) / of
        apart = values - origin
        first, second = total(apart), total(apart * apart)
    if not math.isfinite(second):
        return {"infinite": int(np.isinf(values).sum()), "count": count, "mean": 0.0, "rest": 0.0, "m2": math.inf}
    moment = {"mean": origin, "rest": first / of, "m2": max(second - first * first / of, 0.0)}
    return {"infinite": 0, "count": count, **combine([(count, moment)])}


def _mean_and_std(state: State) -> tuple[float | None, float | None]:
    if state["infinite"] or not state["count"] or not math.isfinite(state["m2"]):
        return None, None
    return state["mean"], math.sqrt(state["m2"] / (state["count"] - 1)) if state["count"] > 1 else None


def _table(counts: np.ndarray) -> pa.Table:
    return pa.table({"count": counts})


def add_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the sums, row by row, of tables of one column, ``count``."""
    counts = np.stack([table["count"].to_numpy() for table in tables])
    return _table(counts.sum(axis=0, dtype=np.int64))


def _sums(states: Sequence[Sequence[int]]) -> list[int]:
    return [sum(counts) for counts in zip(*states, strict=True)]


def _least(states: Sequence[Sequence[float | None]]) -> list[float | None]:
    return [min((each for each in ends if each is not None), default=None) for ends in zip(*states, strict=True)]


def _most(states: Sequence[Sequence[float | None]]) -> list[float | None]:
    return [max((each for each in ends if each is not None), default=None) for ends in zip(*states, strict=True)]
