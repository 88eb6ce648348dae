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
    "Expect": "penstock.stages.preprocessing.expect",
    "Imputer": "penstock.stages.preprocessing.imputer",
    "KMeans": "penstock.stages.training.kmeans",
    "LinearRegression": "penstock.stages.training.linear",
    "Log1p": "penstock.stages.preprocessing.log1p",
    "LogisticRegression": "penstock.stages.training.logistic",
    "MulticlassClassificationEvaluator": "penstock.stages.evaluation.multiclass",
    "MultilabelClassificationEvaluator": "penstock.stages.evaluation.multilabel",
    "NaiveBayes": "penstock.stages.training.naive_bayes",
    "RankingEvaluator": "penstock.stages.evaluation.ranking",
    "RegressionEvaluator": "penstock.stages.evaluation.regression",
    "StandardScaler": "penstock.stages.preprocessing.scaler",
    "StringIndexer": "penstock.stages.preprocessing.indexer",
    "XGBoostClassifier": "penstock.stages.training.xgboost",
    "XGBoostRegressor": "penstock.stages.training.xgboost",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
