"""ETL and ML stages over tabular data: one pipeline, three engines, two devices, the same numbers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from penstock.core.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from penstock.artefact.registry.registry import ModelRegistry as ModelRegistry
    from penstock.core.progress import Progress as Progress
    from penstock.core.progress import RichProgress as RichProgress
    from penstock.dataset.dataset import Dataset as Dataset
    from penstock.engines.dask.engine import DaskEngine as DaskEngine
    from penstock.engines.local.engine import LocalEngine as LocalEngine
    from penstock.engines.spark.engine import SparkEngine as SparkEngine
    from penstock.io.formats.table import register_format as register_format
    from penstock.pipeline.cardinality import CountOptions as CountOptions
    from penstock.pipeline.drift.drift_limits import DriftLimits as DriftLimits
    from penstock.pipeline.drift.monitor import Monitor as Monitor
    from penstock.pipeline.model import PipelineModel as PipelineModel
    from penstock.pipeline.pipeline import Pipeline as Pipeline
    from penstock.pipeline.refitting.statistics_store import StatisticsStore as StatisticsStore
    from penstock.pipeline.transductive import fit_predict as fit_predict
    from penstock.pipeline.transductive import fit_transform as fit_transform
    from penstock.search.calibrated_classifier import CalibratedClassifier as CalibratedClassifier
    from penstock.search.cross_validation import CrossValidation as CrossValidation
    from penstock.search.cross_validation import cross_validate as cross_validate
    from penstock.search.cross_validator import CrossValidator as CrossValidator
    from penstock.search.cross_validator import TrainValidationSplit as TrainValidationSplit
    from penstock.search.dimensions import when as when
    from penstock.search.halving import halving as halving
    from penstock.search.learning_curve import learning_curve as learning_curve
    from penstock.search.optuna_search import optuna_search as optuna_search
    from penstock.search.search_result import SearchResult as SearchResult
    from penstock.search.spaces import grid as grid
    from penstock.search.spaces import random as random
    from penstock.search.tuned_threshold import TunedThreshold as TunedThreshold
    from penstock.spmd import SpmdOptions as SpmdOptions
    from penstock.stages.evaluation.shared_scan import evaluate as evaluate
    from penstock.stages.evaluation.views import Bootstrap as Bootstrap
    from penstock.stages.functions import register_function as register_function
    from penstock.stages.modules import register_module as register_module
    from penstock.stages.training.per_key.per_key import PerKey as PerKey

__version__ = "0.1.0"

_MODULES = frozenset(
    ("authoring", "errors", "frames", "rules", "runs", "selectors", "stages", "stat", "statistics", "testing")
)

_get, _, _names = lazy_imports(__name__)
__all__ = sorted(["__version__", *_names])


def __getattr__(name: str) -> Any:
    """Import a public name or module when it is first used, so that `import penstock` stays light."""
    return importlib.import_module(f"penstock.{name}") if name in _MODULES else _get(name)


def __dir__() -> list[str]:
    return __all__
