"""The two smallest values in rows of a weight above zero, whatever the partitions."""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa
import pytest

from penstock import frames
from penstock.statistics.weighed_values import WeighedValues

STATISTIC = WeighedValues(("label", "w"))
PARTS = [([3, 1, None], [1.0, 0.0, 1.0]), ([2, 2], [None, 0.5]), ([], []), ([1, 3], [0.0, 7.0])]


def of(part: tuple[list, list]) -> object:
    return STATISTIC.summarise(
        frames.from_arrow(pa.table([part[0], part[1]], pa.schema({"label": pa.int64(), "w": pa.float64()})))
    )


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_rows_without_weight_do_not_count_in_any_order(order: tuple[int, ...]) -> None:
    states = [of(PARTS[place]) for place in order]
    assert STATISTIC.finish(STATISTIC.merge([STATISTIC.merge(states[:2]), *states[2:]])) == [2, 3]


def test_one_value_is_one() -> None:
    assert STATISTIC.finish(STATISTIC.merge([of(PARTS[1]), of(PARTS[2])])) == [2]
