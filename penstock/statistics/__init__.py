"""What is learnt from data: small values made from one partition, joined, and read at the end; one family a module."""

from penstock.statistics.base import ColumnStatistic, State, Statistic
from penstock.statistics.binary import BinaryCurve
from penstock.statistics.calibration import Calibration, Probabilities
from penstock.statistics.checks import CheckCounts, Checks
from penstock.statistics.class_probabilities import ClassProbabilities, ProbabilityScores
from penstock.statistics.confusion import Confusion
from penstock.statistics.confusion_matrix import ConfusionMatrix
from penstock.statistics.counts import Count, Counts, RowCount
from penstock.statistics.curves import Curve
from penstock.statistics.extremes import Extreme, Extremes
from penstock.statistics.folded import Folded
from penstock.statistics.frequencies import Frequencies
from penstock.statistics.gram import CrossProducts, Gram
from penstock.statistics.keep import Keep
from penstock.statistics.label_sets import LabelScores, LabelSets
from penstock.statistics.moments import Moment, Moments
from penstock.statistics.null_if import NullIf
from penstock.statistics.quantiles import Distribution, Quantiles
from penstock.statistics.rankings import Ranking, Rankings
from penstock.statistics.regression import Errors, RegressionErrors
from penstock.statistics.rules import Rule
from penstock.statistics.value_counts import ValueCounts
from penstock.statistics.violations import Violation, Violations

__all__ = [
    "BinaryCurve",
    "Calibration",
    "CheckCounts",
    "Checks",
    "ClassProbabilities",
    "ColumnStatistic",
    "Confusion",
    "ConfusionMatrix",
    "Count",
    "Counts",
    "CrossProducts",
    "Curve",
    "Distribution",
    "Errors",
    "Extreme",
    "Extremes",
    "Folded",
    "Frequencies",
    "Gram",
    "Keep",
    "LabelScores",
    "LabelSets",
    "Moment",
    "Moments",
    "NullIf",
    "Probabilities",
    "ProbabilityScores",
    "Quantiles",
    "Ranking",
    "Rankings",
    "RegressionErrors",
    "RowCount",
    "Rule",
    "State",
    "Statistic",
    "ValueCounts",
    "Violation",
    "Violations",
]
