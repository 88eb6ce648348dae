"""Estimators of Spark ML fitted to the rows of datasets, and rows scored by what they have learned."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import __version__
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.core.errors import ConfigError, ExecutionError, UntrustedArtifactError
from penstock.core.locations import is_url
from penstock.core.schemas import canonical
from penstock.engines.spark.carriers import column, with_arrays, with_vectors
from penstock.engines.spark.job_errors import cause
from penstock.engines.spark.query import SETTINGS, set_for
from penstock.io.fragments import row_bytes
from penstock.io.sinks.part_folder import PartFolder

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.engines.spark.engine import SparkEngine


def fit(
    engine: SparkEngine, build: Callable[[], Any], dataset: Dataset, outputs: Sequence[str], label: str
) -> dict[str, Any]:
    """Return what an estimator that `build` makes learns from all rows; see `EstimatorEngine.fit_estimator`."""
    with _working(engine, label), engine.staging(None, label).new_folder() as folder:
        model = _model(build(), with_vectors(engine.to_spark(dataset)))
        made = model.transform(with_vectors(engine.to_spark(dataset)))
        return {**pack(model, folder.parts("model")), "outputs": _types(made, outputs).empty_table()}


def _model(estimator: Any, frame: DataFrame) -> Any:
    """Return the fitted model; a transformer is its own. Rows are kept meanwhile: most estimators read them often."""
    if not hasattr(estimator, "fit"):
        return estimator
    frame = frame.persist()
    try:
        return estimator.fit(frame)
    finally:
        frame.unpersist()


def _types(made: DataFrame, outputs: Sequence[str]) -> pa.Schema:
    """Return the columns that a model makes, in the types that a dataset has them in."""
    frame = with_arrays(made.select(*map(column, outputs)))
    return canonical(to_arrow_schema(frame.schema, timezone="UTC"))


def score(
    engine: SparkEngine, state: Mapping[str, Any], dataset: Dataset, columns: Mapping[str, str], label: str
) -> Dataset:
    """Return what a fitted model makes of rows; see `EstimatorEngine.score_estimator`."""
    with _working(engine, label), engine.staging(None, label).new_folder() as folder:
        model = unpack(state, folder.parts("model"))
        made = model.transform(with_vectors(engine.to_spark(dataset)))
        named = with_arrays(made.select(*(column(name).alias(other) for name, other in columns.items())))
        # Kept, as Spark makes rows that it sorts twice: once for a sample of the order.
        rows = named.persist()
        try:
            return engine.from_spark(rows.orderBy(rows.columns[0]), fragment_bytes=_fragment_bytes(dataset, rows))
        finally:
            rows.unpersist()


def _fragment_bytes(dataset: Dataset, rows: DataFrame) -> int:
    """Return about how much a fragment of as many rows takes as the dataset has in its largest."""
    most = max((fragment.rows for fragment in dataset.fragments), default=1)
    return max(1, most) * row_bytes(canonical(to_arrow_schema(rows.schema, timezone="UTC")))


def load(engine: SparkEngine, state: Mapping[str, Any], label: str) -> Any:
    """Return a fitted model in the session of an engine; of some the tables are read of files when they are asked."""
    with _working(engine, label):
        folder = engine.staging(None, label).new_folder()
        engine.hold(folder)
        return unpack(state, folder.parts("model"))


@contextmanager
def _working(engine: SparkEngine, label: str) -> Iterator[None]:
    """Hold what makes names and times mean the same as on other engines; tell what Spark ML says with the stage."""
    try:
        with engine.naming_lost(label), set_for(engine.session, SETTINGS), engine.progress.track(label, 1) as track:
            yield
            track.advance()
    except (AnalysisException, IllegalArgumentException) as error:
        raise ConfigError(f"{label}: {cause(error)}", stage=label, engine=engine.name) from error
    except (PySparkException, Py4JError) as error:
        raise ExecutionError(f"{label} failed: {cause(error)}", stage=label, engine=engine.name) from error


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
    for path, content in zip(*(values.to_pylist() for values in state["model"].columns), strict=True):
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
    for path, content in zip(*(values.to_pylist() for values in files.columns), strict=True):
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
