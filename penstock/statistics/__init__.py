"""What is learnt from data: small values made from one partition, joined, and read at the end; one family a module."""

from penstock.statistics.base import ColumnStatistic, State, Statistic
from penstock.statistics.binary import BinaryCurve, Curve
from penstock.statistics.counts import Count, Counts
from penstock.statistics.extremes import Extreme, Extremes
from penstock.statistics.moments import Moment, Moments
from penstock.statistics.quantiles import Distribution, Quantiles
from penstock.statistics.regression import Errors, RegressionErrors
from penstock.statistics.rules import Rule
from penstock.statistics.value_counts import Frequencies, ValueCounts
from penstock.statistics.violations import Violation, Violations

__all__ = [
    "BinaryCurve",
    "ColumnStatistic",
    "Count",
    "Counts",
    "Curve",
    "Distribution",
    "Errors",
    "Extreme",
    "Extremes",
    "Frequencies",
    "Moment",
    "Moments",
    "Quantiles",
    "RegressionErrors",
    "Rule",
    "State",
    "Statistic",
    "ValueCounts",
    "Violation",
    "Violations",
]
