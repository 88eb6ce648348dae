"""Folds that keep the rows of a group together."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.core.errors import EmptyInputError, SchemaError
from penstock.core.names import column_names
from penstock.core.selectors import resolve
from penstock.dataset.folds.dealers import ByGroup
from penstock.dataset.folds.keys import GroupHash
from penstock.statistics.key_counts import KeyCounts

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

MOST_GROUPS = 2**12
"""Up to so many groups are dealt one by one; of more, as many sets of groups at most, by their hash."""

_KINDS = (
    pa.types.is_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_date,
    pa.types.is_timestamp,
)  # fmt: skip


def grouped(dataset: Dataset, group: str | Sequence[str], num_folds: int, seed: int) -> ByGroup:
    """Return what deals groups into folds of about as many rows; reads their columns.

    Raises
    ------
    EmptyInputError
        There are fewer groups than folds.
    """
    names = resolve(column_names(group, "groups of folds"), dataset.schema, "folds")
    key = GroupHash(tuple(_field(dataset.schema.field(name)) for name in names), seed)
    statistic = KeyCounts(key, limit=MOST_GROUPS)
    (state,), _ = dataset.gather((statistic,), label="folds")
    table = statistic.finish(state)
    if len(table.ranges) < num_folds:
        raise EmptyInputError(
            f"there are {len(table.ranges)} group(s) by {' and '.join(map(repr, names))}, expected one for each of"
            f" {num_folds} folds",
            hint="Pass fewer folds.",
        )
    return ByGroup(key, table.shift, tuple(table.ranges.tolist()), largest_first(table.counts, num_folds))


def largest_first(sizes: np.ndarray, parts: int) -> tuple[int, ...]:
    """Return the part of each of several groups, given one after the other, largest first, to the smallest part.

    Examples
    --------
    >>> largest_first(np.array([3, 9, 4, 4]), 2)
    (1, 0, 1, 1)
    """
    filled = [(0, part) for part in range(parts)]
    chosen = np.zeros(len(sizes), np.int64)
    for group in np.argsort(-sizes, kind="stable").tolist():
        size, part = filled[0]
        heapq.heapreplace(filled, (size + int(sizes[group]), part))
        chosen[group] = part
    return tuple(chosen.tolist())


def _field(field: pa.Field) -> pa.Field:
    if not any(test(field.type) for test in _KINDS):
        raise SchemaError(
            f"column {field.name!r} is {field.type}, by which folds cannot group",
            hint="It takes strings, booleans, numbers, dates and timestamps; cast the column before.",
            column=field.name,
        )
    return field
