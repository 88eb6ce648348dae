"""``registry/clicks@champion``: a model of a registry, by an alias or by its digest."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import ConfigError
from penstock.core.locations import is_url, read_location

ALIAS = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
DIGEST = r"sha256:[0-9a-f]{64}"
_BEGINNING = r"sha256:[0-9a-f]{8,64}"
_REFERENCE = re.compile(rf"(?P<registry>.*[^/])@(?P<name>{_BEGINNING}|{ALIAS})")
_IN_STORE = re.compile(r"[^:]+://[^/]*/.*")


@dataclass(frozen=True)
class ModelReference:
    """A model of a registry.

    Parameters
    ----------
    registry : str
        The directory of the registry, or its URL.
    name : str
        An alias, or the digest of a version, of which eight digits or more will do.
    """

    registry: str
    name: str

    @property
    def is_alias(self) -> bool:
        """Whether it is an alias, which may stand for another version tomorrow."""
        return ":" not in self.name

    def __str__(self) -> str:
        return f"{self.registry}@{self.name}"


def find_reference(location: str | os.PathLike[str]) -> ModelReference | None:
    """Return the reference that a location is; None for a plain path or URL, and for what there is under that name.

    Examples
    --------
    >>> find_reference("registry/clicks@champion")
    ModelReference(registry='registry/clicks', name='champion')
    >>> find_reference("s3://bucket/registry/clicks@sha256:0123abcd").name
    'sha256:0123abcd'
    >>> [find_reference(text) for text in ("models/clicks", "s3://me@bucket")]
    [None, None]
    """
    text = read_location(location, "model")
    match = _REFERENCE.fullmatch(text)
    if match is None or (not _IN_STORE.fullmatch(match["registry"]) if is_url(text) else os.path.lexists(text)):
        return None
    return ModelReference(match["registry"], match["name"])


def require_alias(location: str | Path) -> ModelReference:
    """Return the reference to an alias that a location is; ConfigError for anything else."""
    reference = find_reference(location)
    if reference is None or not reference.is_alias:
        raise ConfigError(
            f"{str(location)!r} is no alias of a registry",
            hint="Name the registry, then the alias: registry/clicks@champion. Letters, digits, '_' and '-' make one.",
        )
    return reference
