"""What lies at a target before it is written."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.errors import ConfigError, PenstockError
from penstock.locations import local_path
from penstock.outputs.files import MANIFEST_NAME
from penstock.outputs.manifest import read_manifest


def resolve(target: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a target, symbolic links followed; ConfigError for what is no local directory."""
    text = local_path(target, "target")
    resolved = Path(os.path.realpath(text))
    if not resolved.name:
        raise ConfigError(f"target is {text!r}, expected the path of a directory that is written", path=text)
    return resolved


def describe(target: Path) -> str | None:
    """Say what lies at a target so that two answers are equal exactly when nothing was replaced; None for nothing."""
    if not os.path.lexists(target):
        return None
    try:
        manifest = read_manifest(target)
    except PenstockError:
        return "an output with a manifest that cannot be read"
    if manifest is None:
        return "no manifest of this library"
    return f"the output of run {manifest.run_id!r} of {manifest.created_utc}"


def is_replaceable(target: Path) -> bool:
    """Return whether overwriting may remove it: an output of this library, however damaged, or an empty directory."""
    return target.is_dir() and (os.path.lexists(target / MANIFEST_NAME) or not os.listdir(target))
