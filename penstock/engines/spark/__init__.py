"""The engine on Spark; imported when it is asked for: modules beside it are used where its own packages are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from penstock.engines.spark.engine import SparkEngine as SparkEngine

__getattr__, __dir__, __all__ = lazy_imports(__name__)
