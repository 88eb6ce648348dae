"""Penstock's jobs as tasks of Airflow 3: `PenstockOperator`, and `penstock_task` for functions that return arguments.

A job runs as a process of its own, so that it may have another environment than Airflow, whose packages are pinned.
What it prints becomes the XCom of the task, and its exit code says whether that fails, is tried again, or is skipped.
Airflow is imported when one of the two is used first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.core.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from penstock.integrations.airflow.operator import PenstockOperator as PenstockOperator
    from penstock.integrations.airflow.operator import penstock_task as penstock_task

_get, __dir__, __all__ = lazy_imports(__name__)


def __getattr__(name: str) -> Any:
    return _get(name)
