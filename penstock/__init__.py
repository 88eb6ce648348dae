"""ETL and ML stages over tabular data: one pipeline, three engines, two devices, the same numbers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.core.progress import RichProgress
    from penstock.dataset.dataset import Dataset
    from penstock.engines.dask.engine import DaskEngine
    from penstock.engines.local.engine import LocalEngine
    from penstock.engines.spark.engine import SparkEngine
    from penstock.io.formats.table import register_format
    from penstock.pipeline.cardinality import CountOptions
    from penstock.pipeline.model import PipelineModel
    from penstock.pipeline.pipeline import Pipeline
    from penstock.spmd import SpmdOptions
    from penstock.stages.evaluation.shared_scan import evaluate
    from penstock.stages.evaluation.views import Bootstrap
    from penstock.stages.functions import register_function
    from penstock.stages.modules import register_module

__version__ = "0.1.0"

_HOMES = {
    "Bootstrap": "penstock.stages.evaluation.views",
    "CountOptions": "penstock.pipeline.cardinality",
    "DaskEngine": "penstock.engines.dask.engine",
    "Dataset": "penstock.dataset.dataset",
    "LocalEngine": "penstock.engines.local.engine",
    "Pipeline": "penstock.pipeline.pipeline",
    "PipelineModel": "penstock.pipeline.model",
    "RichProgress": "penstock.core.progress",
    "SparkEngine": "penstock.engines.spark.engine",
    "SpmdOptions": "penstock.spmd",
    "evaluate": "penstock.stages.evaluation.shared_scan",
    "register_format": "penstock.io.formats.table",
    "register_function": "penstock.stages.functions",
    "register_module": "penstock.stages.modules",
}

_MODULES = frozenset({"authoring", "errors", "frames", "selectors", "stages", "statistics", "testing"})

__all__ = [
    "Bootstrap",
    "CountOptions",
    "DaskEngine",
    "Dataset",
    "LocalEngine",
    "Pipeline",
    "PipelineModel",
    "RichProgress",
    "SparkEngine",
    "SpmdOptions",
    "__version__",
    "evaluate",
    "register_format",
    "register_function",
    "register_module",
]


def __getattr__(name: str) -> Any:
    """Import a public name or module when it is first used, so that `import penstock` stays light."""
    if name in _MODULES:
        return importlib.import_module(f"penstock.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
