"""A model that lies in a store, brought to this machine to be read as any other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from penstock.artefact.layout import MANIFEST_LIMIT
from penstock.config.secrets import secret_values
from penstock.core.errors import ArtifactIntegrityError, InputError, MissingInputError, PenstockError
from penstock.core.locations import absolute_path, is_url
from penstock.io.sinks import MANIFEST_NAME, Manifest, TemporaryFolder
from penstock.io.sources.stores import connect, patiently, why

T = TypeVar("T")


def fetch(url: str, options: Mapping[str, Any], wanted: Callable[[str], bool] = lambda path: True) -> TemporaryFolder:
    """Return a folder with the manifest of a model and the files that it lists; nothing of them has been checked.

    Files that are not `wanted` are not fetched; empty ones stand in their places.

    Raises
    ------
    MissingInputError
        There is no manifest.
    InputError
        The store refused, or failed three times.
    ArtifactIntegrityError
        The manifest is damaged, or a file that it lists is not there.
    UntrustedArtifactError
        It lists a path outside the folder.
    """
    copy = TemporaryFolder()
    try:
        _copy(url.rstrip("/"), options, str(copy.path), wanted)
    except BaseException:
        copy.remove()
        raise
    return copy


def read_model(
    location: str,
    read: Callable[[Path], T],
    options: Mapping[str, Any] | None = None,
    *,
    wanted: Callable[[str], bool] = lambda path: True,
) -> T:
    """Return what `read` makes of the folder of a model, or of a copy from its store; errors name the URL then."""
    if not is_url(location):
        return read(absolute_path(location, "model"))
    with fetch(location, options or {}, wanted) as copy:
        try:
            return read(copy.path)
        except PenstockError as error:
            here = str(copy.path)
            place = {name: str(value).replace(here, location) for name, value in error.place.items()}
            raise type(error)(error.message.replace(here, location), hint=error.hint, **place) from error.__cause__


def _copy(url: str, options: Mapping[str, Any], folder: str, wanted: Callable[[str], bool]) -> None:
    filesystem, root = connect(url, options)
    filesystem.invalidate_cache()

    def get(name: str) -> bytes:
        path = f"{url}/{name}"
        try:
            content: bytes = patiently(partial(filesystem.cat_file, f"{root}/{name}"), path, secret_values(options))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise InputError(f"cannot read {path}: {why(error)}", path=path) from error
        return content

    try:
        data = get(MANIFEST_NAME)
    except FileNotFoundError as error:
        message = f"{url} has no {MANIFEST_NAME}: there is no saved model"
        raise MissingInputError(message, path=url) from error
    manifest = Manifest.decode(data[: MANIFEST_LIMIT + 1], path=f"{url}/{MANIFEST_NAME}", error=ArtifactIntegrityError)
    for entry in manifest.files:
        try:
            _write(os.path.join(folder, entry.path), get(entry.path) if wanted(entry.path) else b"")
        except FileNotFoundError as error:
            raise ArtifactIntegrityError(f"{url} lacks {entry.path}", path=f"{url}/{entry.path}") from error
    _write(os.path.join(folder, MANIFEST_NAME), data)


def _write(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "xb") as file:
        file.write(content)
