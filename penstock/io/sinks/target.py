"""What lies at a target before it is written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path, PurePath, PurePosixPath

from penstock.core.errors import CommitConflictError, ConfigError, OutputExistsError, PenstockError
from penstock.core.locations import is_url, local_path, read_location, same_scheme
from penstock.io.sinks.files import MANIFEST_NAME
from penstock.io.sinks.manifest import Manifest, read_manifest


def resolve(target: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a target, symbolic links followed; ConfigError for what is no local path."""
    text = local_path(target, "target")
    resolved = Path(os.path.realpath(text))
    if not resolved.name:
        raise ConfigError(f"target is {text!r}, expected the path of what is written", path=text)
    return resolved


def check_apart(locations: Iterable[str | os.PathLike[str]]) -> None:
    """Raise ConfigError if two paths or URLs are one, or one lies in the other."""
    for one, other in combinations([locate(location) for location in locations], 2):
        if one == other or one in other.parents or other in one.parents:
            hint = "Name places apart; the quarantine of rows is beside them unless you name another."
            raise ConfigError(f"{_show(one)} and {_show(other)} would lie in each other", hint=hint, path=_show(other))


def locate(location: str | os.PathLike[str]) -> PurePath:
    """Return a path as `resolve` does, and a URL as a path of its parts, which is no path of this machine.

    Examples
    --------
    >>> locate("s3://bucket/a//b/"), locate("s3a://bucket/a")
    (PurePosixPath('s3:/bucket/a/b'), PurePosixPath('s3:/bucket/a'))
    """
    text = read_location(location, "target")
    return PurePosixPath(same_scheme(text)) if is_url(text) else resolve(location)


def _show(place: PurePath) -> str:
    return str(place) if place.is_absolute() else str(place).replace(":/", "://", 1)


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
    return describe_manifest(lambda: read_manifest(target))


def describe_manifest(read: Callable[[], Manifest | None]) -> str:
    """Say for people what the manifest stands for that `read` gives."""
    try:
        manifest = read()
    except PenstockError:
        return "an output with a manifest that cannot be read"
    if manifest is None:
        return "no manifest of this library"
    return f"the output of run {manifest.run_id!r} of {manifest.created_utc}"


def is_replaceable(target: Path) -> bool:
    """Return whether overwriting may remove it: an output of this library, however damaged, or an empty directory."""
    return target.is_dir() and (os.path.lexists(target / MANIFEST_NAME) or not os.listdir(target))


def refuse_existing(target: str, found: str, *, is_output: bool) -> OutputExistsError:
    """Return the error for a target that may not be replaced: an output of this library, or something else."""
    hint = "overwrite=True replaces only what has a manifest; remove it yourself, or choose another target."
    if is_output:
        hint = "Pass overwrite=True to replace it, or choose another target."
    return OutputExistsError(f"{target} exists and holds {found}", hint=hint, path=target)


def refuse_changed(run_id: str, target: str, now: str, before: str) -> CommitConflictError:
    """Return the error for a target that another run has changed since this one began."""
    message = f"run {run_id!r} cannot commit: {target} now holds {now}, and held {before} when the run began"
    hint = "Only one run at a time can win a target; run again if this one should."
    return CommitConflictError(message, hint=hint, path=target, run_id=run_id)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
