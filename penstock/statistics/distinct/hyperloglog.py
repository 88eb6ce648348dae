"""About how many different values a column has, from a sketch of fixed size: HyperLogLog."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.frames.hashing import murmur3_array
from penstock.frames.ragged import Ragged
from penstock.io.row_hashes import mix
from penstock.statistics.base import ColumnStatistic, State

_BITS = 14
_REGISTERS = 2**_BITS
_RANKS = 64 - _BITS
_SEEDS = (42, 0x9747B28C)

ERROR = 1.04 / math.sqrt(_REGISTERS)
"""The standard error of an estimate, relative: 0.8 %."""


@dataclass(frozen=True)
class Distinct:
    """What is known of the different values of a column.

    Attributes
    ----------
    distinct : float
        How many there are, about; the standard error is 0.8 %.
    values : int
        Rows that have one; of lists, their elements.
    width : float
        Bytes that one of them takes in memory, on average.
    """

    distinct: float
    values: int
    width: float


@dataclass(frozen=True)
class DistinctCounts(ColumnStatistic):
    """The :class:`Distinct` of each column; of a column of lists, that of the elements. Nulls do not count.

    Notes
    -----
    HyperLogLog (Flajolet et al. 2007) with 2**14 registers of a byte and hashes of 64 bits: two of MurmurHash3 of a
    string, SplitMix64 of a number. The estimate is that of Ertl, "New cardinality estimation algorithms for HyperLogLog
    sketches" (arXiv:1702.01284), algorithm 6, which is right for few values and for many. A state is the same however
    the rows are cut.

    Examples
    --------
    >>> counts = DistinctCounts(("x",))
    >>> found = counts.finish(counts.summarise(frames.from_arrow(pa.table({"x": ["a", "b", "a", None]}))))["x"]
    >>> round(found.distinct), found.values, found.width
    (2, 3, 5.0)
    """

    merges_slices = True

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Hash the different values of one partition."""
        lists = [name for name in self.columns if isinstance(frame.schema[name], nw.List)]
        flat = [name for name in self.columns if name not in lists]
        counted = frames.value_counts(frame, flat) if flat else {}
        held = {name: (table["value"], pc.sum(table["count"]).as_py() or 0) for name, table in counted.items()}
        return {name: sketched(*(held[name] if name in held else _elements(frame, name))) for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Take the larger of each two registers."""
        registers = np.maximum.reduce([np.frombuffer(state["registers"], np.uint8) for state in states])
        sums = {each: sum(state[each] for state in states) for each in ("values", "hashed", "bytes")}
        return {"registers": registers.tobytes(), **sums}

    def finish_column(self, name: str, state: State) -> Distinct:
        """Estimate the number of different values."""
        estimate = _estimate(np.frombuffer(state["registers"], np.uint8))
        return Distinct(estimate, state["values"], state["bytes"] / max(1, state["hashed"]))


def _elements(frame: nw.DataFrame[Any], name: str) -> tuple[pa.ChunkedArray, int]:
    values, codes = Ragged.of(frame, name).known().coded()
    return pa.chunked_array([values]), len(codes)


def sketched(values: pa.ChunkedArray, count: int) -> State:
    """Return the state of :class:`DistinctCounts` of a column with these values, which all differ, in `count` rows.

    Examples
    --------
    >>> state = sketched(pa.chunked_array([["a", "b"]]), 5)
    >>> round(DistinctCounts(()).finish_column("x", state).distinct), state["values"]
    (2, 5)
    """
    registers = np.zeros(_REGISTERS, np.uint8)
    for chunk in values.chunks:
        hashes = _hashes(chunk)
        rest = (hashes & np.uint64(2**_RANKS - 1)).astype(np.float64)  # below 2**53, so exact
        ranks = (_RANKS + 1 - np.frexp(rest)[1]).astype(np.uint8)
        np.maximum.at(registers, (hashes >> np.uint64(_RANKS)).astype(np.int64), ranks)
    return {"registers": registers.tobytes(), "values": count, "hashed": len(values), "bytes": _bytes(values)}


def _hashes(values: pa.Array) -> np.ndarray:
    if pa.types.is_floating(values.type):
        numbers: np.ndarray = values.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        return mix(numbers.view(np.uint64))
    if pa.types.is_integer(values.type) or pa.types.is_boolean(values.type):
        return mix(values.to_numpy(zero_copy_only=False).astype(np.uint64))
    low, high = (murmur3_array(values.cast(pa.string()), seed).to_numpy().astype(np.uint64) for seed in _SEEDS)
    return high << np.uint64(32) | low


def _bytes(values: pa.ChunkedArray) -> int:
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return (pc.sum(pc.binary_length(values)).as_py() or 0) + 4 * len(values)
    return max(1, kind.bit_width // 8) * len(values) if pa.types.is_primitive(kind) else 8 * len(values)


def _estimate(registers: np.ndarray) -> float:
    counts = np.bincount(registers, minlength=_RANKS + 2).tolist()
    z = _REGISTERS * _tau(1 - counts[_RANKS + 1] / _REGISTERS)
    for count in reversed(counts[1 : _RANKS + 1]):
        z = 0.5 * (z + count)
    z += _REGISTERS * _sigma(counts[0] / _REGISTERS)
    return float(_REGISTERS**2 / (2 * math.log(2) * z))


def _sigma(x: float) -> float:
    if x == 1:
        return math.inf
    y, z, before = 1.0, x, math.nan
    while z != before:
        x, before = x * x, z
        z, y = z + x * y, y + y
    return z


def _tau(x: float) -> float:
    if x in (0, 1):
        return 0.0
    y, z, before = 1.0, 1 - x, math.nan
    while z != before:
        x, y, before = math.sqrt(x), 0.5 * y, z
        z -= (1 - x) * (1 - x) * y
    return z / 3
