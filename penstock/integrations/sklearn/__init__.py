"""Pipelines as estimators of scikit-learn: in its pipelines, searches, scorers and column transformers."""

from penstock.core.extras import importing

with importing("scikit-learn", "sklearn"):
    from penstock.integrations.sklearn.classifier import PenstockClassifier
    from penstock.integrations.sklearn.regressor import PenstockRegressor
    from penstock.integrations.sklearn.transformer import PenstockTransformer

__all__ = ["PenstockClassifier", "PenstockRegressor", "PenstockTransformer"]
