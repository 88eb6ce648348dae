"""The tree in which partial results are merged: its shape, and what it keeps in memory."""

import weakref

from penstock.engines.base import TreeReduction


class Part:
    """A partial result that can be seen to go away."""


def in_brackets(parts):
    return "(" + "".join(parts) + ")"


def test_eight_are_merged_at_a_time():
    for count, shape in (
        (1, "x"),
        (8, "(" + "x" * 8 + ")"),
        (9, "((" + "x" * 8 + ")(x))"),
        (64, "(" + ("(" + "x" * 8 + ")") * 8 + ")"),
        (65, "((" + ("(" + "x" * 8 + ")") * 8 + ")((x)))"),
    ):
        tree = TreeReduction(in_brackets)
        for _ in range(count):
            tree.push("x")
        assert tree.result() == shape


def test_a_merge_that_empties_its_list_lets_go_of_what_was_in_it():
    alive = []

    def merge(parts):
        seen = [weakref.ref(part) for part in parts]
        parts.clear()
        alive.append(sum(reference() is not None for reference in seen))
        return Part()

    tree = TreeReduction(merge)
    for _ in range(64):
        tree.push(Part())
    assert len(alive) == 9
    assert max(alive[:-1]) <= 1  # the one that is being pushed
    assert alive[-1] == 0
