"""What is learnt from data: small values made from one partition, joined, and read at the end; one family a module."""

from penstock.statistics.base import ColumnStatistic, State, Statistic
from penstock.statistics.checks import CheckCounts, Checks
from penstock.statistics.counts import Count, Counts, RowCount
from penstock.statistics.distinct.frequencies import Frequencies
from penstock.statistics.distinct.top_k import TopK
from penstock.statistics.distinct.value_counts import ValueCounts
from penstock.statistics.evaluation.binary import BinaryCurve
from penstock.statistics.evaluation.calibration import Calibration, Probabilities
from penstock.statistics.evaluation.class_probabilities import ClassProbabilities, ProbabilityScores
from penstock.statistics.evaluation.confusion import Confusion
from penstock.statistics.evaluation.confusion_matrix import ConfusionMatrix
from penstock.statistics.evaluation.curves import Curve
from penstock.statistics.evaluation.label_sets import LabelScores, LabelSets
from penstock.statistics.evaluation.rankings import Ranking, Rankings
from penstock.statistics.evaluation.regression import Errors, RegressionErrors
from penstock.statistics.extremes import Extreme, Extremes
from penstock.statistics.gram import CrossProducts, Gram
from penstock.statistics.grouped.folds import Folded
from penstock.statistics.grouped.group_sums import GroupSums
from penstock.statistics.moments import Moment, Moments
from penstock.statistics.null_if import NullIf
from penstock.statistics.quantiles import Distribution, Quantiles
from penstock.statistics.rules import Rule
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
    "GroupSums",
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
    "TopK",
    "ValueCounts",
    "Violation",
    "Violations",
]
