"""What lies at a target before it is written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from penstock.core.errors import ConfigError, PenstockError
from penstock.core.locations import local_path
from penstock.io.sinks.files import MANIFEST_NAME
from penstock.io.sinks.manifest import read_manifest


def resolve(target: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a target, symbolic links followed; ConfigError for what is no local path."""
    text = local_path(target, "target")
    resolved = Path(os.path.realpath(text))
    if not resolved.name:
        raise ConfigError(f"target is {text!r}, expected the path of what is written", path=text)
    return resolved


def check_apart(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Raise ConfigError if two paths are one, or one lies in the other."""
    for one, other in combinations([resolve(path) for path in paths], 2):
        if one == other or one in other.parents or other in one.parents:
            hint = "Name places apart; the quarantine of rows is beside them unless you name another."
            raise ConfigError(f"{one} and {other} would lie in each other", hint=hint, path=str(other))


def fingerprint(target: Path) -> str | None:
    """Return a text that changes whenever what lies at a target is replaced; None for nothing.

    An output is known by its manifest, which has the digests of its files; a file by its content.

    Examples
    --------
    >>> fingerprint(Path("no/such/target")) is None
    True
    """
    if not os.path.lexists(target):
        return None
    if not target.is_dir():
        return f"file {_sha256(target)}" if target.is_file() else "neither a directory nor a file"
    if os.path.lexists(target / MANIFEST_NAME):
        return f"manifest {_sha256(target / MANIFEST_NAME)}"
    return "directory without a manifest" if os.listdir(target) else "empty directory"


def describe(target: Path) -> str:
    """Say for people what lies at a target."""
    if not os.path.lexists(target):
        return "nothing"
    if target.is_file():
        return "a file"
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


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
