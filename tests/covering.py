"""Few rows of a product: those among which every value occurs, or every pair of values of two parameters."""

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence


def covering(rows: Sequence[Mapping[str, Hashable]], together: int = 2) -> list[int]:
    """Return the places of rows, in order, in which all values are that are in any row, so many of them `together`.

    Those that alone have some are there, the others are chosen greedily: always the same.
    """
    combined = [set(itertools.combinations(sorted(row.items()), min(together, len(row)))) for row in rows]
    times = Counter(itertools.chain.from_iterable(combined))
    chosen = [place for place, each in enumerate(combined) if any(times[one] == 1 for one in each)]
    left = set(times).difference(*(combined[place] for place in chosen))
    while left:
        chosen.append(max(range(len(rows)), key=lambda place: len(left & combined[place])))
        left -= combined[chosen[-1]]
    return sorted(chosen)
