"""Demands on the files of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.checks import exact_keys as exact_keys
from penstock.core.checks import need as need
from penstock.core.errors import ArtifactError


def demand(path: str, check: Callable[[], Any]) -> Any:
    """Return what `check` returns; a demand that the file at `path` does not meet is an ArtifactError."""
    try:
        return check()
    except ValueError as error:
        raise ArtifactError(f"{path}: {error}", path=path) from error
