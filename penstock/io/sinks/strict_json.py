"""JSON as the standard means it, for files that decide what is read next.

Python's own reader takes NaN and Infinity, keeps the last of two equal keys, turns ``1e999`` into an infinity and lets
the document choose how deep it recurses. A manifest or a model file that does any of this is refused.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from penstock.core.errors import ConfigError, CorruptFileError, InputError, MissingInputError, PenstockError
from penstock.core.plain_files import open_plain
from penstock.io.sinks.os_errors import name_error

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

MAX_DEPTH = 32


def read_json(
    source: str | os.PathLike[str] | bytes,
    limit: int,
    *,
    path: str | None = None,
    error: type[PenstockError] = CorruptFileError,
) -> Json:
    """Read one JSON document strictly.

    Parameters
    ----------
    source : str, PathLike or bytes
        A file, or the bytes of one that was read already (and perhaps hashed).
    limit : int
        Largest size in bytes; no more than this is ever read.
    path : str, optional
        The name to give in errors when ``source`` is bytes.
    error : type of PenstockError
        What to raise when the document is refused.

    Raises
    ------
    MissingInputError, InputError
        The file is not there, or cannot be read.
    CorruptFileError
        Or ``error``: too large, not UTF-8, not JSON, a key twice in one object, NaN or an infinity (written as such or
        a number like ``1e999``), or nested deeper than 32 levels.

    Examples
    --------
    >>> read_json(b'{"rows": [1, 2.5, null]}', limit=100)
    {'rows': [1, 2.5, None]}
    """
    name = path or ("JSON document" if isinstance(source, bytes) else os.fspath(source))
    data = source if isinstance(source, bytes) else _read(source, limit + 1)
    try:
        return _parse(data, limit)
    except RecursionError:
        raise error(f"{name} is nested deeper than {MAX_DEPTH} levels", path=name) from None
    except ValueError as fault:
        raise error(f"{name} is not acceptable JSON: {fault}", path=name) from fault


def encode_json(value: Json, limit: int, *, path: str) -> bytes:
    r"""Return the UTF-8 bytes of a JSON document that ``read_json`` accepts.

    Raises
    ------
    ConfigError
        The value is not JSON: NaN or an infinity, an object of another type, too deep, or larger than ``limit`` bytes.

    Examples
    --------
    >>> encode_json({"rows": 3}, limit=100, path="report.json")
    b'{\n "rows": 3\n}\n'
    """
    try:
        data = json.dumps(value, allow_nan=False, ensure_ascii=False, indent=1).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as fault:
        raise ConfigError(f"{path} cannot be stored as JSON: {fault}", path=path) from fault
    # Two keys that become equal as text, or a depth that json.dumps allows, would be refused by every later reader.
    read_json(data, limit, path=path, error=ConfigError)
    return data


def _read(source: str | os.PathLike[str], count: int) -> bytes:
    path = os.fspath(source)
    try:
        with open_plain(path) as file:
            return file.read(count)
    except (FileNotFoundError, NotADirectoryError) as fault:
        raise MissingInputError(f"{path} does not exist", path=path) from fault
    except OSError as fault:
        raise InputError(f"cannot read {path}: {name_error(fault)}", path=path) from fault


def _parse(data: bytes, limit: int) -> Json:
    if len(data) > limit:
        raise ValueError(f"larger than the limit of {limit} bytes")
    value: Json = json.loads(
        data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
    )
    _check_depth(value, 0)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} appears twice in one object")
    return result


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"number {text} is beyond the range of a float")
    return value


def _check_depth(value: Any, depth: int) -> None:
    if not isinstance(value, (dict, list)):
        return
    if depth == MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    for child in value.values() if isinstance(value, dict) else value:
        _check_depth(child, depth + 1)
