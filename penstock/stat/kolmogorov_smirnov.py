"""Whether values come from a distribution, or two columns from one: the test of Kolmogorov and Smirnov."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.core.errors import ConfigError, DataValueError, did_you_mean
from penstock.dataset.dataset import Dataset
from penstock.stat.distributions import distributions
from penstock.stat.gathering import numbers
from penstock.statistics import Distribution

Cdf = Callable[..., np.ndarray]
_WHAT = "kolmogorov_smirnov_test"


@dataclass(frozen=True)
class KolmogorovSmirnovResult:
    """The largest distance of two distribution functions, and how likely one as large is where they are the same.

    Attributes
    ----------
    statistic, p_value : float
    statistic_error : float
        By how much the statistic may be wrong; 0.0 where it is exact.
    count : int
        Values, nulls left out; of two samples those of the first.
    """

    statistic: float
    p_value: float
    statistic_error: float
    count: int


def kolmogorov_smirnov_test(
    dataset: Dataset, column: str, cdf: str | Cdf | Dataset = "norm", *args: float
) -> KolmogorovSmirnovResult:
    """Test whether a column has a distribution, or that of a column of another dataset; scipy's ``kstest``.

    Parameters
    ----------
    dataset : Dataset
    column : str
        A column of numbers; nulls are left out.
    cdf : str, callable or Dataset, default="norm"
        A continuous distribution of `scipy.stats` by its name, a function that takes an array and returns the share
        of values up to each, or a dataset with a column of this name: the second sample.
    *args : float
        Parameters of the distribution: of ``norm`` mean and standard deviation, 0 and 1 unless given.

    Raises
    ------
    SchemaError
        The column is not there, or has no numbers.
    ConfigError
        There is no such distribution; there are parameters, and a second sample.
    DataValueError
        There is no value.

    Notes
    -----
    One scan of each dataset, two-sided. The statistic is exact for up to 65,536 different values or rows; beyond, ranks
    are read off the sketch of :class:`~penstock.statistics.Quantiles`, and ``statistic_error`` bounds what that does.
    The p-value of one sample is exact (scipy's ``method="exact"``); that of two is the asymptotic one
    (``method="asymp"``). Parameters that were estimated from the same rows make it too large.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [0.1, 0.4, 0.7]}))
    >>> found = ps.stat.kolmogorov_smirnov_test(data, "x", "uniform")
    >>> round(found.statistic, 3), round(found.p_value, 3), found.count
    (0.3, 0.886, 3)
    """
    if isinstance(cdf, Dataset) and args:
        raise ConfigError(f"args are {args!r}, and cdf is a second sample", hint="Leave args out.")
    function = None if isinstance(cdf, Dataset) else _function(cdf)
    sample = _distribution(dataset, column)
    if isinstance(cdf, Dataset):
        return _two_samples(sample, _distribution(cdf, column))
    assert function is not None
    return _one_sample(sample, np.asarray(function(sample.values, *args), dtype=np.float64))


def _function(cdf: str | Cdf) -> Cdf:
    """Return a distribution function; ConfigError for what is none."""
    from scipy import stats  # slow to import

    if callable(cdf):
        return cdf
    known = [name for name in dir(stats) if isinstance(getattr(stats, name), stats.rv_continuous)]
    if cdf not in known:
        raise ConfigError(
            f"cdf is {cdf!r}, expected a continuous distribution of scipy.stats.{did_you_mean(str(cdf), known)}",
            hint='Write "norm", or pass a function or a Dataset.',
        )
    return getattr(stats, cdf).cdf


def _distribution(dataset: Dataset, column: str) -> Distribution:
    names = numbers(dataset, column, _WHAT)
    found = distributions(dataset, names, _WHAT, nulls=True)[names[0]]
    if not found.count:
        raise DataValueError(f"column {column!r} has no value, expected at least one", column=column)
    return found


def _one_sample(sample: Distribution, expected: np.ndarray) -> KolmogorovSmirnovResult:
    from scipy import stats

    up_to = np.cumsum(sample.weights) / sample.count
    below = up_to - sample.weights / sample.count
    distance = float(max((up_to - expected).max(), (expected - below).max()))
    p_value = float(stats.kstwo.sf(distance, sample.count))
    return KolmogorovSmirnovResult(distance, p_value, sample.rank_error, sample.count)


def _two_samples(one: Distribution, other: Distribution) -> KolmogorovSmirnovResult:
    from scipy import stats

    values = np.concatenate([one.values, other.values])
    distance = float(np.abs(_shares(one, values) - _shares(other, values)).max())
    size = one.count * other.count / (one.count + other.count)
    p_value = float(stats.kstwo.sf(distance, np.round(size))) if round(size) else 1.0
    return KolmogorovSmirnovResult(distance, p_value, one.rank_error + other.rank_error, one.count)


def _shares(sample: Distribution, values: np.ndarray) -> np.ndarray:
    """Return the share of a sample that is at most each of the values."""
    ranks = np.concatenate([[0], np.cumsum(sample.weights)])
    return ranks[np.searchsorted(sample.values, values, side="right")] / sample.count
