"""Laws of scaling over points of workers and seconds: Amdahl's, and Gunther's universal scalability law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from penstock.core.errors import ConfigError
from penstock.core.several import several
from penstock.runs.scaling.least_squares import LeastSquares


@dataclass(frozen=True)
class UniversalScalability:
    """``T(N) = one * (1 + contention * (N - 1) + coherence * N * (N - 1)) / N`` seconds on N workers.

    The law of Gunther, "Guerrilla Capacity Planning", Springer 2007: of work that queues for something shared
    (contention), and of workers that exchange something with each other (coherence), which grows with their pairs.

    Parameters
    ----------
    one : float
        Seconds on one worker.
    contention : float, from 0 to 1
        The share of it that is not divided among workers.
    coherence : float, default 0
        What each further worker costs the others, as a share of `one`.

    Examples
    --------
    >>> law = UniversalScalability(one=100.0, contention=0.02, coherence=0.0005)
    >>> [round(law.seconds(workers), 2) for workers in (1, 10, 44, 100)]
    [100.0, 12.25, 6.38, 7.93]
    >>> round(law.best_workers, 1)
    44.3
    """

    one: float
    contention: float
    coherence: float = 0.0

    @classmethod
    def fit(cls, workers: Sequence[int], seconds: Sequence[float]) -> Self:
        """Return the law that is nearest to points, by the squares of relative errors.

        Raises
        ------
        ConfigError
            There are fewer than three numbers of workers; or a number is not positive.

        Examples
        --------
        >>> law = UniversalScalability.fit([1, 2, 4, 8], [110.0, 60.1, 35.3, 23.2])
        >>> [round(law.one, 2), round(law.contention, 4), round(law.coherence, 6)]
        [110.0, 0.0909, 0.000909]
        """
        work, serial, each = _fit(workers, seconds, 3)
        one = work + serial
        return cls(one, serial / one, each / one)

    def seconds(self, workers: float) -> float:
        """Return the time on so many workers."""
        pairs = self.coherence * workers * (workers - 1)
        return self.one * (1 + self.contention * (workers - 1) + pairs) / workers

    def speedup(self, workers: float) -> float:
        """Return how many times faster so many workers are than one."""
        return self.one / self.seconds(workers)

    def efficiency(self, workers: float) -> float:
        """Return the speed-up by worker."""
        return self.speedup(workers) / workers

    @property
    def best_workers(self) -> float:
        """The number of workers with the least time, ``sqrt((1 - contention) / coherence)``; infinite without any."""
        return max(1.0, math.sqrt((1 - self.contention) / self.coherence)) if self.coherence else math.inf


@dataclass(frozen=True)
class Amdahl:
    """``T(N) = serial + parallel / N`` seconds on N workers.

    The law of Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities",
    AFIPS 1967.

    Parameters
    ----------
    serial : float
        Seconds that are not divided among workers.
    parallel : float
        Seconds of the rest on one worker.

    Examples
    --------
    >>> law = Amdahl(serial=5.0, parallel=95.0)
    >>> law.seconds(19), round(law.speedup(19), 6), law.most_speedup
    (10.0, 10.0, 20.0)
    """

    serial: float
    parallel: float

    @classmethod
    def fit(cls, workers: Sequence[int], seconds: Sequence[float]) -> Self:
        """Return the law that is nearest to points, by the squares of relative errors.

        Raises
        ------
        ConfigError
            There are fewer than two numbers of workers; or a number is not positive.

        Examples
        --------
        >>> law = Amdahl.fit([1, 2, 4], [100.0, 52.5, 28.75])
        >>> round(law.serial, 6), round(law.parallel, 6)
        (5.0, 95.0)
        """
        parallel, serial = _fit(workers, seconds, 2)
        return cls(serial, parallel)

    def seconds(self, workers: float) -> float:
        """Return the time on so many workers."""
        return self.serial + self.parallel / workers

    def speedup(self, workers: float) -> float:
        """Return how many times faster so many workers are than one."""
        return self.seconds(1) / self.seconds(workers)

    def efficiency(self, workers: float) -> float:
        """Return the speed-up by worker."""
        return self.speedup(workers) / workers

    @property
    def most_speedup(self) -> float:
        """The speed-up that any number of workers stays below; infinite where nothing is serial."""
        return self.seconds(1) / self.serial if self.serial else math.inf


def _fit(workers: Sequence[int], seconds: Sequence[float], terms: int) -> tuple[float, ...]:
    """Return the first of three coefficients: of 1 / N, of 1 and of N - 1."""
    workers, seconds = several(workers, "workers", "Sequence[int]"), several(seconds, "seconds", "Sequence[float]")
    if len(set(workers)) < terms or len(workers) != len(seconds):
        problem = (
            f"workers are {list(workers)} and seconds {list(seconds)}, expected {terms} numbers of workers or more"
        )
        raise ConfigError(problem, hint="Time the same run on more numbers of workers, with one time for each.")
    if min(workers) <= 0 or min(seconds) <= 0:
        raise ConfigError(f"workers are {list(workers)} and seconds {list(seconds)}, expected positive numbers")
    return LeastSquares.fit([(1 / count, 1.0, count - 1.0)[:terms] for count in workers], seconds).coefficients
