"""Models on disk: a directory of JSON, Parquet and model files that loads without running code."""

from penstock.artefact.load import load, load_statistics
from penstock.artefact.save import save, seal

__all__ = ["load", "load_statistics", "save", "seal"]
