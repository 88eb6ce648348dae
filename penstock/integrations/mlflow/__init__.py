"""A flavour of MLflow: models of Penstock in its runs and its registry, loaded as they are or as ``pyfunc``."""

from penstock.core.extras import importing

with importing("MLflow", "mlflow"):
    from penstock.integrations.mlflow.flavor import FLAVOR_NAME, load_model, log_model, save_model
    from penstock.integrations.mlflow.flavor import _load_pyfunc as _load_pyfunc  # MLflow calls it by this name
    from penstock.integrations.mlflow.signature import infer_signature

__all__ = ["FLAVOR_NAME", "infer_signature", "load_model", "log_model", "save_model"]
