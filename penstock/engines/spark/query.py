"""Queries on Spark SQL, over Parquet: files that it reads as Penstock does, or rows that are staged for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import narwhals as nw
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.core.errors import SchemaError
from penstock.dataset.dataset import Dataset
from penstock.dataset.relations.operation import Operation
from penstock.dataset.relations.order import SortKey
from penstock.engines.plain_files import PlainFiles, plain_files
from penstock.engines.querying import QueryEngine, as_lazy, stage
from penstock.engines.spark.carriers import as_declared, carried, column, held, spark_schema
from penstock.engines.spark.driver import Driver
from penstock.engines.spark.job_errors import cause
from penstock.engines.spark.operations import SparkRows, operate, sort_columns
from penstock.engines.spark.staging import read_rows, write_rows
from penstock.engines.staging import Staging
from penstock.io.sinks.part_folder import PartFolder

WRITING = {
    # Timestamps are written as the instants they are; Spark's default form has no time zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.caseSensitive": "true",  # columns are bound by name, and "a" is not "A"
    # Days are counted in one calendar, as other engines do.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
"""Spark's settings while it writes rows of frames."""

SETTINGS = {
    **WRITING,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",  # rows that cannot be read are no rows less
    "spark.sql.files.ignoreMissingFiles": "false",
}


class SparkQueries(QueryEngine):
    """Has Spark read files, run the query with its own optimiser, and write a file a partition.

    Parameters
    ----------
    session : SparkSession
    driver : Driver
        Of that session.
    """

    def __init__(self, session: SparkSession, driver: Driver) -> None:
        super().__init__()
        self._session, self._driver = session, driver
        self._shared: list[DataFrame] = []

    @contextmanager
    def settings(self, datasets: Sequence[Dataset], label: str) -> Iterator[None]:
        """Hold the settings that make names, times and dates the same as on other engines."""
        with self._driver.naming_lost(label), set_for(self._session, SETTINGS):
            yield

    def lazy(self, dataset: Dataset, staging: Staging, label: str) -> nw.LazyFrame:
        check_types(dataset.schema, label)
        files = plain_files(dataset)
        if files is not None:
            return self._directly(dataset, files, label)
        return as_lazy(self._staged(dataset, dataset.schema, staging, label))

    def read(self, dataset: Dataset, staging: Staging, label: str) -> SparkRows:
        """Return the rows in the types in which operations have them in Polars too."""
        schema = held(dataset.schema)
        if plain_files(dataset) is not None:
            return SparkRows(self.lazy(dataset, staging, label).to_native(), schema)
        check_types(schema, label)
        return SparkRows(self._staged(dataset, schema, staging, label), schema)

    def _staged(self, dataset: Dataset, schema: pa.Schema, staging: Staging, label: str) -> DataFrame:
        folder, carriers = staging.new_input(), carried(schema)
        return read_rows(self._session, folder, stage(dataset, folder, label, carriers), carriers)

    def _directly(self, dataset: Dataset, files: PlainFiles, label: str) -> nw.LazyFrame:
        files.verify(dataset.engine, label)
        self.read_directly.append(files)
        native = self._session.read.schema(spark_schema(dataset.schema)).parquet(
            *(f"file://{path}" for path in files.paths)
        )
        # Spark itself takes any bytes for a text, and counts and compares them; files of a manifest hold texts.
        is_own = all(piece.sha256 is not None for piece in files.pieces)
        checked = {field.name: _without_nan(field) for field in dataset.schema if pa.types.is_floating(field.type)}
        for field in dataset.schema:
            if field.type == pa.string() and not is_own:
                checked[field.name] = sf.validate_utf8(column(field.name))
        return as_lazy(native.withColumns(checked) if checked else native)

    def check(self, schema: pa.Schema, label: str) -> None:
        check_types(schema, label)

    def arrange(self, frame: SparkRows | nw.LazyFrame, order: Sequence[SortKey], label: str) -> nw.LazyFrame:
        return as_lazy(_native(frame).orderBy(*sort_columns(tuple(order))))

    def cast(self, frame: SparkRows | nw.LazyFrame, schema: pa.Schema) -> nw.LazyFrame:
        """Return the columns of `schema`, in what holds them."""
        return as_lazy(as_declared(_native(frame), held(schema) if isinstance(frame, SparkRows) else schema))

    def operate(self, operation: Operation, inputs: Sequence[SparkRows], label: str) -> SparkRows:
        return operate(operation, *inputs)

    def shared(self, frame: SparkRows) -> SparkRows:
        """Have the executors hold its rows until the query has run."""
        self._shared.append(frame.frame.persist())
        return SparkRows(self._shared[-1], frame.schema)

    def write(self, frame: SparkRows | nw.LazyFrame, folder: PartFolder, label: str) -> None:
        self._driver.describe(label)
        try:
            write_rows(_native(frame), folder)
        finally:
            self._driver.describe(None)
            for shared in self._shared:
                shared.unpersist()

    def cause(self, error: BaseException) -> str:
        """Return the line that tells, out of what Spark and its JVM say."""
        return cause(error) if isinstance(error, PySparkException | Py4JError) else super().cause(error)


def _without_nan(field: pa.Field) -> Column:
    """Return a column of a file with null for NaN."""
    # One call reads the column once; CASE WHEN NOT isnan(x) THEN x reads it twice, in every row of a scan.
    given = column(field.name)
    return sf.nanvl(given, sf.lit(None).cast("float" if field.type == pa.float32() else "double"))


def _native(frame: SparkRows | nw.LazyFrame) -> DataFrame:
    return frame.frame if isinstance(frame, SparkRows) else frame.to_native()


@contextmanager
def set_for(session: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Hold settings of a session, and put back what was there."""
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def check_types(schema: pa.Schema, label: str) -> None:
    """Raise SchemaError for a column that Spark would refuse, or read as something else."""
    for field in schema:
        if _is_foreign(field.type):
            raise SchemaError(
                f"column {field.name!r} is {field.type}, and Spark has no such type",
                hint="Leave it out with select, or make it microseconds or an integer before.",
                column=field.name,
                stage=label,
            )


def _is_foreign(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        inner = [kind.field(place).type for place in range(kind.num_fields)]
        return any(pa.types.is_null(each) or _is_foreign(each) for each in inner)
    nanoseconds = pa.types.is_timestamp(kind) and kind.unit == "ns"
    return bool(nanoseconds or pa.types.is_duration(kind) or pa.types.is_time(kind))
