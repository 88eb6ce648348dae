"""How many different values columns have, about, from a sample of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.core.errors import DataValueError
from penstock.core.scheduler import map_all
from penstock.dataset.dataset import Dataset
from penstock.dataset.tasks import Probe, SummariseTask
from penstock.io.fragments import Fragment, runs
from penstock.io.sources.memory import own
from penstock.statistics.base import State
from penstock.statistics.distinct.hyperloglog import ERROR, Distinct, DistinctCounts

_RUNS = 8
_SHARE, _LEAST, _MOST = 64, 2**16, 2**21
_UNIQUE = 1 - 2 * ERROR


@dataclass(frozen=True)
class Estimate:
    """What a sample of rows tells of all of them.

    Attributes
    ----------
    distinct : int
        How many different values there are, about. Rather too many than too few.
    at_least : int
        How many there are at least, if the sample is a fair one.
    width : float
        Bytes that one of them takes in memory, on average.
    rows : int
        Rows of the sample.
    """

    distinct: int
    at_least: int
    width: float
    rows: int


def estimates(dataset: Dataset, columns: Mapping[int, Sequence[str]]) -> dict[tuple[int, str], Estimate]:
    """Return estimates of columns as they are before some steps, by the number of the step and the name.

    A sample is 8 runs of consecutive rows, evenly spread: a 64th of the rows, at least 65,536 and at most two million.
    Its different values, and those of every second run, are counted by :class:`DistinctCounts`. From half of it to all
    of it they have grown by some power of the rows (Heaps' law), and are taken to grow so further: not at all, if the
    other half had no new ones; as fast as the rows, if all were new. The power can only fall. A column of whose sample
    nearly all values differ is taken for one in which all do.

    It can tell nothing where the sample has values that a step refuses; that is for the scan to tell, with the place.
    """
    probes = tuple(Probe(place, (DistinctCounts(tuple(names)),)) for place, names in columns.items())
    work = SummariseTask(dataset.reader, dataset.steps, probes, dataset.engine.kind)
    sample = _sample(dataset.fragments)
    try:
        found = list(map_all(dataset.engine, work, [fragment for _, fragment in sample], label="estimate"))
    except DataValueError:
        return {}
    seen = [states for states, _ in found]
    halves = [states for states, (run, _) in zip(seen, sample, strict=True) if run % 2 == 0]
    rows = sum(fragment.rows for _, fragment in sample)
    share = rows / max(1, sum(fragment.rows for fragment in dataset.fragments))
    known: dict[tuple[int, str], Estimate] = {}
    for at, probe in enumerate(probes):
        whole, half = (_finished(probe, [states[at][0] for states in of_runs]) for of_runs in (seen, halves))
        for name, of_all in whole.items():
            about, at_least = extrapolated(of_all, half[name], share)
            known[probe.position, name] = Estimate(about, at_least, of_all.width, rows)
    return known


def _sample(fragments: Sequence[Fragment]) -> list[tuple[int, Fragment]]:
    """Return what is read, with the number of its run."""
    wanted = min(max(sum(fragment.rows for fragment in fragments) // _SHARE, _LEAST), _MOST)
    return [
        (number, _apart(fragment))
        for number, run in enumerate(runs(fragments, _RUNS, wanted // _RUNS))
        for fragment in run
    ]


def _apart(fragment: Fragment) -> Fragment:
    """Return a fragment whose rows, if they are in memory, travel without those around them."""
    held = [piece if piece.table is None else replace(piece, table=own(piece.table)) for piece in fragment.pieces]
    return replace(fragment, pieces=tuple(held))


def _finished(probe: Probe, states: list[State]) -> Mapping[str, Distinct]:
    (statistic,) = probe.statistics
    return statistic.finish(statistic.merge(states))


def extrapolated(whole: Distinct, half: Distinct, seen: float) -> tuple[int, int]:
    """Return about how many different values there are in all rows, and how many at least.

    There are the fewest if all are as frequent as each other: of D values that occur ``N / D`` times each, a sample of
    the share f has ``D * (1 - (1 - f) ** (N / D))``, and this is solved for D.

    Parameters
    ----------
    whole, half : Distinct
        Of a sample, and of a part of it.
    seen : float
        The share of the sample in all rows.

    Examples
    --------
    >>> extrapolated(Distinct(1000, 8000, 8), Distinct(1000, 4000, 8), seen=0.01)[0]  # no new ones
    1000
    >>> extrapolated(Distinct(2000, 8000, 8), Distinct(1000, 4000, 8), seen=0.01)[0]  # as many again
    200000
    >>> extrapolated(Distinct(8000, 8000, 8), Distinct(4000, 4000, 8), seen=0.01)  # all differ
    (800000, 800000)
    """
    if not whole.values:
        return 0, 0
    values = whole.values / seen
    if whole.distinct >= _UNIQUE * whole.values:
        return round(values), round(values)
    about = min(whole.distinct * seen ** -_growth(whole, half), values)
    return round(about), round(min(_fewest(whole, seen), about))


def _fewest(whole: Distinct, seen: float) -> float:
    """Return the D of `extrapolated`, with Lambert's function W; the sketch may have counted two errors too many."""
    from scipy.special import lambertw  # slow to import, and rarely needed

    surely = whole.distinct * (1 - 2 * ERROR)
    if seen >= 1:
        return surely
    drawn = -math.log1p(-seen) * whole.values / seen
    ratio = drawn / surely
    return float(drawn / (ratio + lambertw(-ratio * math.exp(-ratio)).real))


def _growth(whole: Distinct, half: Distinct) -> float:
    """Return the power of the rows by which the different values grow, from 0 to 1."""
    if not 0 < half.values < whole.values:
        return 1.0
    return min(1.0, max(0.0, math.log(whole.distinct / half.distinct) / math.log(whole.values / half.values)))
