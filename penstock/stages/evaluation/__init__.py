"""How good predictions are: evaluators named as MLlib's, all metrics of all of them from one scan."""

from penstock.stages.evaluation.base import Evaluation, Evaluator, evaluate
from penstock.stages.evaluation.binary import BinaryClassificationEvaluator
from penstock.stages.evaluation.regression import RegressionEvaluator

__all__ = [
    "BinaryClassificationEvaluator",
    "Evaluation",
    "Evaluator",
    "RegressionEvaluator",
    "evaluate",
]
