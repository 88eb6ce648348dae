"""Boosters as documents, to be changed where XGBoost has no way to."""

from __future__ import annotations

import json
from typing import Any

import xgboost as xgb

from penstock.stages.base import Blob


def to_document(blob: Blob) -> Any:
    """Return a booster as XGBoost writes it in JSON."""
    return json.loads(bytes(xgb.Booster(model_file=bytearray(blob.data)).save_raw("json")))


def from_document(kind: str, document: Any) -> Blob:
    """Return the booster of a document."""
    booster = xgb.Booster(model_file=bytearray(json.dumps(document).encode()))
    return Blob(kind, bytes(booster.save_raw("ubj")))
