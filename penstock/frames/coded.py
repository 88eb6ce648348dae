"""Texts as codes: which of the different texts of a column each row has. What is held of a column is coded once.

Polars has 16 bytes of each text: the text itself, up to 12 bytes, or the head of a longer one and where it is. These
are told apart in half of the time that texts take. Where a longer text is in several places, it is several texts here.

A held column is told from others by the memory that its rows are in. Whoever holds it says so, and it is looked up as
long as he does, so that no other can be in its place.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

_AS_IT_IS = pl.CompatLevel.newest()
_ROWS_TO_A_TEXT = 2
"""Below, where texts are long, it is not worth to code them."""
_POOL = pa.system_memory_pool()
"""Arrow's own gives every hash table back to the system, and has it cleared again: as long as coding a column takes."""

Place = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Coded:
    """The different texts of a column, none null, and for each row the index of its own; null for null.

    ``repeats`` says that a text may be there more than once.
    """

    values: pl.Series
    indices: pl.Series
    repeats: bool

    @classmethod
    def of(cls, column: pl.Series) -> Coded | None:
        """Return a column of texts, coded; None where that saves nothing, as most are different and long.

        Examples
        --------
        >>> coded = Coded.of(pl.Series(["b", "a", None, "b"]))
        >>> coded.values.to_list(), coded.indices.to_list()
        (['b', 'a'], [0, 1, None, 0])
        """
        array = column.rechunk().to_arrow(compat_level=_AS_IT_IS)
        valid, views, *texts = array.buffers()
        words = pa.Array.from_buffers(pa.binary(16), len(array), [valid, views], array.null_count, array.offset)
        encoded = pc.dictionary_encode(words, memory_pool=_POOL)
        known = encoded.dictionary
        if texts and len(known) * _ROWS_TO_A_TEXT > len(array):
            return None
        values = pa.Array.from_buffers(array.type, len(known), [None, known.buffers()[1], *texts], 0, known.offset)
        return cls(pl.Series(column.name, values), pl.Series(column.name, encoded.indices), bool(texts))

    def counts(self) -> pl.DataFrame:
        """Return how often each text occurs."""
        counts = np.bincount(self.indices.drop_nulls().to_numpy(), minlength=len(self.values)).astype(np.int64)
        found = pl.DataFrame([self.values.alias("value"), pl.Series("count", counts)])  # of a mapping it takes longer
        return found.group_by("value").agg(pl.col("count").sum()) if self.repeats else found

    def spread(self, of_values: pl.Series) -> pl.Series:
        """Return what each row has, of what each text has; null for null."""
        return of_values.gather(self.indices)


@dataclass
class _Held:
    column: pl.Series
    coded: Coded | None = None
    is_tried: bool = False


_held: dict[Place, _Held] = {}
_lock = threading.Lock()


def hold(column: object) -> bool:
    """Say that a column will be used again, and return whether nobody had said so.

    Of no effect on columns that are no texts, or not in memory of the host.
    """
    if not _is_text(column):
        return False
    place = _place(column)
    with _lock:
        is_new = place not in _held
        _held.setdefault(place, _Held(column))
    return is_new


def let_go(column: object) -> None:
    """Say that a column is no longer held."""
    if _is_text(column):
        with _lock:
            _held.pop(_place(column), None)


class _Task(threading.local):
    """What a thread holds as long as it works on one task; None outside of one."""

    columns: list[object] | None = None


_task = _Task()


@contextmanager
def task() -> Iterator[None]:
    """Let go at the end of what `hold_in_task` was called with meanwhile, in this thread."""
    before, _task.columns = _task.columns, []
    try:
        yield
    finally:
        for column in _task.columns or ():
            let_go(column)
        _task.columns = before


def hold_in_task(column: object) -> None:
    """Say that a column will be used again by the task that this thread works on, if any."""
    if _task.columns is not None and hold(column):
        _task.columns.append(column)


def count(column: pl.Series) -> pl.DataFrame | None:
    """Return how often each text of a column occurs, null aside; None for what is no text, or not worth to be coded."""
    if not _is_text(column):
        return None
    with _lock:
        held = _held.get(_place(column)) if _held else None
    coded = held.coded if held is not None and held.is_tried else Coded.of(column)
    if held is not None:
        held.coded, held.is_tried = coded, True
    return None if coded is None else coded.counts()


def codes(column: pl.Series) -> Coded | None:
    """Return a held column as it was coded when it was counted; None where it was not."""
    if not _held or not _is_text(column):
        return None
    with _lock:
        held = _held.get(_place(column))
    return None if held is None else held.coded


def _is_text(column: object) -> TypeGuard[pl.Series]:
    return isinstance(column, pl.Series) and column.dtype == pl.String and len(column) > 0


def _place(column: pl.Series) -> Place:
    """Return where the rows of a column are in memory."""
    chunks = [chunk.to_arrow(compat_level=_AS_IT_IS) for chunk in column.get_chunks() if len(chunk)]
    return tuple((chunk.buffers()[1].address, chunk.offset, len(chunk)) for chunk in chunks)
