"""Models on disk: a directory of JSON, Parquet and XGBoost UBJSON that loads without running code."""

from penstock.artefact.load import load
from penstock.artefact.save import save

__all__ = ["load", "save"]
