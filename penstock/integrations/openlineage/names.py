"""Names of datasets by the naming specification of OpenLineage: a namespace, which is a store, and a name in it."""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit

_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}
"""Schemes that are other names of a store."""
_KEEPS_SLASH = {"file", "hdfs"}
_MOST_FILES = 10
"""Files of one folder that are datasets each; of more, the folder is one."""


def dataset_name(path: str) -> tuple[str, str]:
    """Return the namespace and the name of a path or URL.

    Examples
    --------
    >>> dataset_name("s3a://bucket/days/2024-01-05"), dataset_name("/data/clicks.csv")
    (('s3://bucket', 'days/2024-01-05'), ('file', '/data/clicks.csv'))
    >>> dataset_name("abfss://lake@account.dfs.core.windows.net/days/")
    ('abfss://lake@account.dfs.core.windows.net', 'days')
    """
    if "://" not in path:
        return "file", os.path.abspath(path)
    parts = urlsplit(path)
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    place = parts.path.rstrip("/") if scheme in _KEEPS_SLASH else parts.path.strip("/")
    namespace = scheme if scheme == "file" and not parts.netloc else f"{scheme}://{parts.netloc}"
    return namespace, place or "/"


def dataset_paths(files: Iterable[str]) -> dict[str, str]:
    """Return for each file the path of the dataset that it is of, which the run that wrote it has as its output.

    That is the folder of a file that a writer calls a part, without partitions (``day=2024-01-05``); where a folder has
    more than ten files, the folder; else the file itself.

    Examples
    --------
    >>> list(dataset_paths(["out/day=1/part-0.parquet", "out/day=2/part-0.parquet", "a.csv"]).values())
    ['out', 'out', 'a.csv']
    """
    folders = {file: posixpath.dirname(file) for file in files}
    many = Counter(folders.values())
    return {
        file: _without_partitions(folder) if _is_part(file) or many[folder] > _MOST_FILES else file
        for file, folder in folders.items()
    }


def _is_part(file: str) -> bool:
    return posixpath.basename(file).startswith(("part-", "part."))


def _without_partitions(folder: str) -> str:
    while "=" in posixpath.basename(folder):
        folder = posixpath.dirname(folder)
    return folder
