"""How good predictions are: evaluators named as MLlib's, all metrics of all of them from one scan."""

from penstock.stages.evaluation.base import Evaluator
from penstock.stages.evaluation.binary import BinaryClassificationEvaluator
from penstock.stages.evaluation.clustering import ClusteringEvaluator
from penstock.stages.evaluation.multiclass import MulticlassClassificationEvaluator
from penstock.stages.evaluation.multilabel import MultilabelClassificationEvaluator
from penstock.stages.evaluation.ranking import RankingEvaluator
from penstock.stages.evaluation.regression import RegressionEvaluator
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.shared_scan import evaluate
from penstock.stages.evaluation.views import Bootstrap

__all__ = [
    "BinaryClassificationEvaluator",
    "Bootstrap",
    "ClusteringEvaluator",
    "Evaluation",
    "Evaluator",
    "MulticlassClassificationEvaluator",
    "MultilabelClassificationEvaluator",
    "RankingEvaluator",
    "RegressionEvaluator",
    "evaluate",
]
