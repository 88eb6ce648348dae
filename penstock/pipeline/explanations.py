"""What a fitted model says of its features: importances, and coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.stages.base import Fitted
from penstock.stages.capabilities import HasCoefficients, HasImportances
from penstock.stages.step import StageStep, capability
from penstock.stages.vectors.over import over_elements

Capability = TypeVar("Capability")


def importances(steps: Sequence[StageStep]) -> pa.Table:
    """Return ``feature``, ``value`` and ``kind`` of the last stage that has importances."""
    stage, fitted = _last(steps, HasImportances, "importances", "trees have: XGBoost and random forests")
    rows = [
        (feature, value, kind) for kind, each in stage.importances(fitted).items() for feature, value in each.items()
    ]
    features, values, kinds = zip(*rows, strict=True) if rows else ((), (), ())
    types = (pa.string(), pa.float64(), pa.string())
    arrays = [pa.array(each, kind) for each, kind in zip((features, values, kinds), types, strict=True)]
    return pa.table(arrays, names=["feature", "value", "kind"])


def coefficients(steps: Sequence[StageStep]) -> pa.Table:
    """Return the table of the last stage that has coefficients."""
    stage, fitted = _last(steps, HasCoefficients, "coefficients", "linear, logistic and generalised models have")
    return stage.coefficients(fitted)


def _last(
    steps: Sequence[StageStep], kind: Callable[..., Capability], what: str, others: str
) -> tuple[Capability, Fitted]:
    for step in reversed(steps):
        if capability(step.stage, kind) is not None:
            assert step.fitted is not None
            inner, fitted = over_elements(step.stage, step.fitted)
            return cast(Capability, inner), fitted
    raise ConfigError(
        f"no stage of the model has {what}; its stages are {', '.join(step.label for step in steps) or 'none'}",
        hint=f"Those of {others}. What moved one prediction: contributions=True of the XGBoost stages (SHAP values).",
    )
