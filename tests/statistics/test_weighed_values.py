"""The two smallest values in rows of a weight above zero, whatever the partitions."""

from itertools import permutations

import pyarrow as pa
from gathering import gathered, states_of

from penstock.statistics.weighed_values import WeighedValues

STATISTIC = WeighedValues(("label", "w"))
KINDS = pa.schema({"label": pa.int64(), "w": pa.float64()})
ROWS = [([3, 1, None], [1.0, 0.0, 1.0]), ([2, 2], [None, 0.5]), ([], []), ([1, 3], [0.0, 7.0])]
PARTS = [pa.table(list(part), KINDS) for part in ROWS]


def test_rows_without_weight_do_not_count_in_any_order():
    for order in permutations(states_of(STATISTIC, *PARTS)):
        assert STATISTIC.finish(STATISTIC.merge([STATISTIC.merge(order[:2]), *order[2:]])) == [2, 3]


def test_one_value_is_one():
    assert gathered(STATISTIC, PARTS[1], PARTS[2]) == [2]
