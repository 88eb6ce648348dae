"""A model of Spark ML as its own writer writes it, in a table of files: nothing in it is code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa
from pyspark import __version__

from penstock.core.errors import UntrustedArtifactError
from penstock.core.locations import is_url
from penstock.io.sinks.part_folder import PartFolder

_PACKAGES = ("pyspark.ml.", "org.apache.spark.ml.", "spark_rapids_ml.")
_WITHIN = ("org.apache.spark.mllib.clustering.BisectingKMeansModel",)
"""Classes of other packages that models of Spark ML's own name in their files; Spark makes nothing by such a name."""
_FILES = pa.schema({"path": pa.string(), "content": pa.binary()})


def pack(model: Any, folder: PartFolder) -> dict[str, Any]:
    """Return a fitted model as plain state: ``model`` (path and content of each file), ``model_class``, ``spark``.

    Parameters
    ----------
    model : pyspark.ml.Model or Transformer
    folder : PartFolder
        Not there yet, in a place that the driver and all workers share, and that Spark itself writes to.

    Raises
    ------
    UntrustedArtifactError
        It names a class of another package than Spark ML's: `unpack` would refuse it.
    """
    model.write().overwrite().save(_hadoop(folder))
    files = pa.Table.from_pylist(list(_files(folder)), schema=_FILES)
    name = f"{type(model).__module__}.{type(model).__qualname__}"
    _check_classes(name, files)
    return {"model": files, "model_class": name, "spark": __version__}


def unpack(state: Mapping[str, Any], folder: PartFolder) -> Any:
    """Return the model, which Spark reads of files that are written to a folder.

    Raises
    ------
    UntrustedArtifactError
        It names a class of another package than Spark ML's, or a file outside its folder.
    """
    _check_classes(state["model_class"], state["model"])
    for path, content in zip(*(column.to_pylist() for column in state["model"].columns), strict=True):
        folder.put(path, partial(_write, content), rows=None, kind="model")
    module, _, name = state["model_class"].rpartition(".")
    return getattr(import_module(module), name).load(_hadoop(folder))


def _write(content: bytes, path: str) -> None:
    Path(path).write_bytes(content)


def _hadoop(folder: PartFolder) -> str:
    """Return the URL under which Spark knows a folder."""
    location = folder.location
    return location.replace("s3://", "s3a://", 1) if is_url(location) else f"file://{location}"


def _files(folder: PartFolder) -> Iterator[dict[str, Any]]:
    """Yield path and content of the files, in the order of their paths; not what Hadoop writes for itself."""
    filesystem, root = fsspec.core.url_to_fs(folder.location, **folder.storage_options)
    for path in sorted(filesystem.find(root)):
        relative = PurePosixPath(path).relative_to(PurePosixPath(root))
        if not relative.name.startswith((".", "_")):
            yield {"path": str(relative), "content": filesystem.cat_file(path)}


def _check_classes(name: str, files: pa.Table) -> None:
    """Raise UntrustedArtifactError unless all classes that Spark would load by name are its own.

    Spark takes any file of a folder "metadata" for a part of the text in it.
    """
    names = [name]
    for path, content in zip(*(column.to_pylist() for column in files.columns), strict=True):
        parts = PurePosixPath(path).parts
        if not parts or path != "/".join(parts) or {"..", "/"} & {*parts}:
            raise UntrustedArtifactError(f"the model of {name} has a file {path!r}, outside its folder")
        names += _classes(path, content) if "metadata" in parts else []
    foreign = [each for each in names if not each.startswith(_PACKAGES) and each not in _WITHIN]
    if foreign:
        raise UntrustedArtifactError(
            f"the model of Spark ML names the class {foreign[0]!r:.200}, which is not Spark ML's own",
            hint=f"Only classes from {', '.join(package[:-1] for package in _PACKAGES)} are loaded.",
        )


def _classes(path: str, content: bytes) -> list[str]:
    """Return the classes in a file of metadata: one JSON object a line."""
    try:
        return [str(json.loads(line)["class"]) for line in content.decode().splitlines() if line.strip()]
    except (ValueError, LookupError, TypeError) as error:
        raise UntrustedArtifactError(f"{path} in a model of Spark ML is no metadata of one: {error}") from error
