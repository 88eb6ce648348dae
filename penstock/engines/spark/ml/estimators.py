"""Estimators of Spark ML fitted to the rows of datasets, and rows scored by what they have learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.core.errors import ConfigError, ExecutionError
from penstock.core.schemas import canonical
from penstock.engines.spark.carriers import column
from penstock.engines.spark.job_errors import cause
from penstock.engines.spark.ml.model_files import pack, unpack
from penstock.engines.spark.query import SETTINGS, set_for
from penstock.engines.spark.vectors import with_arrays, with_vectors
from penstock.io.fragments import row_bytes

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
