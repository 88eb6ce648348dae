"""How many rows of each class go to each part."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def allocate(rows: Sequence[int], shares: Sequence[Fraction]) -> list[list[int]]:
    """Return, for each class, how many of its rows go to each part.

    Every part has its share of every class to within one row, and of all rows as well as that allows: what is left
    when shares are rounded down goes to the parts that are most behind.

    Parameters
    ----------
    rows : sequence of int
        How many rows each class has.
    shares : sequence of Fraction
        Of the parts; their sum is 1.

    Examples
    --------
    >>> allocate([5, 1, 3], [Fraction(1, 3)] * 3)
    [[2, 2, 1], [0, 0, 1], [1, 1, 1]]
    >>> allocate([1, 1, 1, 1, 1], [Fraction(4, 5), Fraction(1, 5)])
    [[1, 0], [1, 0], [0, 1], [1, 0], [1, 0]]
    """
    behind = [Fraction(0) for _ in shares]
    allocated = []
    for number in rows:
        exact = [number * share for share in shares]
        parts = [int(share) for share in exact]
        behind = [before + share - part for before, share, part in zip(behind, exact, parts, strict=True)]
        whole = [share == part for share, part in zip(exact, parts, strict=True)]  # one row more is one too many
        order = sorted(range(len(shares)), key=lambda part: (whole[part], -behind[part], part))
        for part in order[: number - sum(parts)]:
            parts[part] += 1
            behind[part] -= 1
        allocated.append(parts)
    return allocated
