"""A statistic of one's own has four methods, and is gathered like others beside those that are merged in parts."""

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa
import pytest

from penstock.dataset.tasks import Probe
from penstock.statistics import Folded, NullIf, Statistic, ValueCounts
from penstock.statistics.distinct.partitionable import as_partitionable

ROWS = 40
X = [None] * 25 + list(range(15))
TABLE = pa.table({"s": [f"key {row % 7}" for row in range(ROWS)], "x": pa.array(X, pa.int64()), "fold": [0, 1] * 20})


@dataclass(frozen=True)
class Largest(Statistic):
    """The largest value, None of rows without one: a statistic as the documentation has users write it."""

    def summarise(self, frame: nw.DataFrame) -> int | None:
        """Return the largest of a partition."""
        return frame[self.columns[0]].max()

    def merge(self, states: Sequence[int | None]) -> int | None:
        """Return the largest of all."""
        return max((state for state in states if state is not None), default=None)

    def finish(self, state: int | None) -> int | None:
        """Return it."""
        return state


@pytest.fixture
def data(local):
    dataset = local.from_arrow(TABLE, fragment_bytes=300)
    assert len(dataset.fragments) > 3
    return dataset


def test_a_statistic_has_four_public_methods():
    public = {name for name in vars(Statistic) if not name.startswith("_")}
    assert public == {"reads", "summarise", "merge", "finish"}


@pytest.mark.parametrize("parts", [{}, {"s": 4}], ids=str)
def test_one_of_four_methods_may_have_none_as_its_state(data, parts):
    (states,), _ = data.probe([Probe(0, (Largest(("x",)), ValueCounts(("s",))), {}, parts)])
    assert states[0] == 14
    assert ValueCounts(("s",)).finish(states[1])["s"].distinct == 7


@pytest.mark.parametrize("parts", [{}, {"s": 4}], ids=str)
def test_one_of_four_methods_is_gathered_fold_by_fold(data, parts):
    folded = Folded.of([Largest(("x",)), ValueCounts(("s",))], num_folds=2, fold="fold")
    ((state,),), _ = data.probe([Probe(0, (folded,), {}, parts)])
    found = folded.finish(state)
    assert [found["held out", fold][0] for fold in (0, 1)] == [13, 14]
    assert found["all",][1]["s"].distinct == 7


def test_one_that_cannot_be_partitioned_is_in_one_part():
    largest = as_partitionable(Largest(("x",)))
    assert (largest.footprints(), largest.partition(3, {"x": 8}), largest.concat([3])) == ({}, [3], 3)
    assert largest.finish(largest.merge_consuming([1, None, 2])) == 2


def test_null_in_place_of_a_value_leaves_what_can_be_partitioned_so(data):
    counts = NullIf.of(ValueCounts(("s",)), "key 3")
    ((state,),), _ = data.probe([Probe(0, (counts,), {}, {"s": 4})])
    assert sorted(counts.finish(state)["s"].table["value"].to_pylist()) == [f"key {key}" for key in (0, 1, 2, 4, 5, 6)]
    assert counts.finish(state)["s"].nulls == len([row for row in range(ROWS) if row % 7 == 3])
