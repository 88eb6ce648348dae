"""Every stage of the library by name; the module of a stage is imported when the stage is first used."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    "BinaryClassificationEvaluator": "penstock.stages.evaluation.binary",
    "Clip": "penstock.stages.preprocessing.clip",
    "ClusteringEvaluator": "penstock.stages.evaluation.clustering",
    "DateDifference": "penstock.stages.preprocessing.date_difference",
    "DateParts": "penstock.stages.preprocessing.date_parts",
    "DecodeImage": "penstock.stages.preprocessing.image",
    "Expect": "penstock.stages.preprocessing.expect",
    "GeneralizedLinearRegression": "penstock.stages.training.generalized_linear",
    "FunctionStage": "penstock.stages.preprocessing.function",
    "GaussianMixture": "penstock.stages.training.gaussian_mixture",
    "Imputer": "penstock.stages.preprocessing.imputer",
    "KMeans": "penstock.stages.training.kmeans",
    "LinearRegression": "penstock.stages.training.linear",
    "Log1p": "penstock.stages.preprocessing.log1p",
    "LinearRegressionCV": "penstock.stages.training.linear_cv",
    "LogisticRegression": "penstock.stages.training.logistic",
    "MulticlassClassificationEvaluator": "penstock.stages.evaluation.multiclass",
    "MultilabelClassificationEvaluator": "penstock.stages.evaluation.multilabel",
    "NaiveBayes": "penstock.stages.training.naive_bayes",
    "OnnxInference": "penstock.stages.inference.onnx",
    "RandomForestClassifier": "penstock.stages.training.forest",
    "RandomForestRegressor": "penstock.stages.training.forest",
    "RankingEvaluator": "penstock.stages.evaluation.ranking",
    "RegressionEvaluator": "penstock.stages.evaluation.regression",
    "SklearnEstimator": "penstock.stages.training.sklearn",
    "StandardScaler": "penstock.stages.preprocessing.scaler",
    "StringIndexer": "penstock.stages.preprocessing.indexer",
    "TorchClassifier": "penstock.stages.training.torch",
    "TorchInference": "penstock.stages.inference.torch",
    "TorchRegressor": "penstock.stages.training.torch",
    "XGBoostClassifier": "penstock.stages.training.xgboost",
    "XGBoostRanker": "penstock.stages.training.ranker",
    "XGBoostRegressor": "penstock.stages.training.xgboost",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
