"""The file of a network, as it is read when a pipeline is fitted."""

from __future__ import annotations

import hashlib

from penstock.core.errors import ConfigError, InputError, PenstockError
from penstock.io.sources.files import Storage
from penstock.io.sources.paths import expand
from penstock.io.sources.stores import why


def read_file(path: str, stage: str) -> tuple[bytes, str]:
    """Return the bytes of a file, local or a URL, and their sha256.

    Raises
    ------
    MissingInputError, InputError
        It is not there, or cannot be read.
    """
    storage = Storage()
    files = expand(path, ("",), storage, whole_files=True)
    if len(files) != 1:
        raise ConfigError(f"{path!r} stands for {len(files)} files, expected one", path=path, stage=stage)
    try:
        with storage.open(files[0].path) as stream:
            data = bytes(stream.read())
    except PenstockError as error:
        raise error.at(stage=stage) from error.__cause__
    except OSError as error:
        raise InputError(f"cannot read {path}: {why(error)}", path=path, stage=stage) from error
    return data, hashlib.sha256(data).hexdigest()
