"""A collective call is complete when every rank has come, and not before."""

import numpy as np

from penstock.spmd.collectives import Collectives
from penstock.spmd.messages import Answer, Gather, Ready, Reduce


def calls(size: int) -> Collectives:
    tracker = iter(range(100))
    return Collectives(size, lambda: {"port": next(tracker)})


def test_ranks_meet_each_time_when_all_of_them_are_ready() -> None:
    collectives = calls(2)
    answers = [collectives.add(index, Ready()) for index in (1, 0, 0, 1)]
    assert answers == [None, Answer({"port": 0}), None, Answer({"port": 1})]


def test_calls_of_different_kinds_do_not_complete_each_other() -> None:
    collectives = calls(2)
    assert collectives.add(0, Gather("a")) is None
    assert collectives.add(1, Reduce(np.zeros(1))) is None
    assert collectives.add(1, Gather("b")) == Answer(["a", "b"])


def test_a_sum_is_that_in_the_order_of_the_ranks_whoever_came_first() -> None:
    collectives, terms = calls(3), [np.array([1e16]), np.array([1.0]), np.array([-1e16])]
    for index in (2, 0):
        assert collectives.add(index, Reduce(terms[index])) is None
    answer = collectives.add(1, Reduce(terms[1]))
    assert answer is not None
    assert answer.value.tolist() == [(1e16 + 1.0) - 1e16]
    assert terms[0].tolist() == [1e16]
