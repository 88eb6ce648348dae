"""The engine on Dask; imported when it is asked for: modules beside it are used where its own packages are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from penstock.engines.dask.engine import DaskEngine as DaskEngine

__getattr__, __dir__, __all__ = lazy_imports(__name__)
