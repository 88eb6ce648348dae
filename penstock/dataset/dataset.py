"""A dataset: fragments, and the steps still to apply to their rows. Nothing is read until something is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.core.displayed import Displayed
from penstock.core.errors import ConfigError, class_name
from penstock.core.names import column_names
from penstock.core.scheduler import map_all, reduce_all, reduce_partitioned_all
from penstock.core.schemas import declared, require
from penstock.core.selectors import Columns, resolve
from penstock.dataset.description.describing import Describing
from penstock.dataset.facts import facts_of
from penstock.dataset.folds.blocks import InBlocks
from penstock.dataset.folds.splits import Splits
from penstock.dataset.hash_partitioned import HashPartitioned, Summariser
from penstock.dataset.lags.lags import Lags
from penstock.dataset.outputs.writes import Writes
from penstock.dataset.persisted.persisting import Persisting
from penstock.dataset.relations.verbs import Relations
from penstock.dataset.rowwise.rowwise import RowWise
from penstock.dataset.state_cache.caching import CachingStates, kept_states
from penstock.dataset.step_tree import probe_blocks, summarise_tree
from penstock.dataset.steps import Filter, MapPartitions, RowLog, SelectColumns, Step, check_numbered, output_schema
from penstock.dataset.tasks import CollectTask, Probe, ReadTask, SummariseTask
from penstock.expressions.guarded import guarded_part
from penstock.expressions.rowwise import condition_columns
from penstock.frames import ROW
from penstock.frames.interchange import refuse_stream
from penstock.frames.pandas import to_pandas
from penstock.frames.predicates import Predicate, columns_read, matching
from penstock.io.fragments import Fragment, Sample, kept_rows
from penstock.io.sources.base import Reader
from penstock.statistics.base import check_statistics

if TYPE_CHECKING:
    import pandas as pd

    from penstock.core.scheduler import Scheduler
    from penstock.dataset.state_cache.state_cache import StateCache
    from penstock.statistics.base import State, Statistic


@dataclass(frozen=True)
class Dataset(RowWise, Relations, Lags, Splits, Persisting, CachingStates, Writes, Describing, Displayed):
    """Rows in files or in memory, with row-wise steps to apply, on an engine.

    Made by an engine's readers (`read_parquet`, `from_pandas`, ...). Every method that changes it returns a new one and
    reads nothing, but `lag`, `lead` and `diff`, which run a query, and `folds`, `split` and `sample` where they go by a
    column or an exact number of rows; `count`, `head`, `to_*` and `write_parquet` read. Rows keep their order, and a
    row's identity is its number in what was read, so `split` gives the same rows on every engine, device and
    partitioning.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> numbers = ps.LocalEngine().from_arrow(pa.table({"x": [1, 2, 3, None]}))
    >>> numbers.schema.names, numbers.count(), numbers.filter(nw.col("x") > 1).to_arrow()["x"].to_pylist()
    (['x'], 4, [2, 3])
    """

    engine: Scheduler
    reader: Reader
    fragments: tuple[Fragment, ...]
    steps: tuple[Step, ...] = ()
    state_cache: StateCache | None = None
    _display = "penstock.report.notebook.datasets:dataset_html"

    def __repr__(self) -> str:
        facts = facts_of(self)
        return f"Dataset({', '.join(f'{name}={value}' for name, value in facts.items() if value is not None)})"

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns and types, known without reading."""
        return output_schema(self.steps, self.reader.source.schema)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema.names)

    def with_step(self, step: Step) -> Dataset:
        """Return the dataset with one more step to apply."""
        step = step.on(self)
        made = replace(self, steps=(*self.steps, step))
        vars(made)["schema"] = output_schema([step], self.schema)  # of one step: datasets are made a step at a time
        return made

    def select(self, *columns: Columns) -> Dataset:
        """Return only `columns`, in the order given.

        Parameters
        ----------
        *columns : str, or one sequence of str or Selector

        Raises
        ------
        SchemaError
            A column is not there; the nearest name is shown.
        ConfigError
            No column is given, or one twice.
        """
        names = columns[0] if len(columns) == 1 else columns
        return self.with_step(SelectColumns(resolve(names, self.schema, "select")))  # type: ignore[arg-type]

    def filter(self, predicate: nw.Expr) -> Dataset:
        """Return the rows for which `predicate`, a Narwhals expression, is true; null counts as false.

        Raises
        ------
        ConfigError
            It is no expression of Narwhals, but text, say, or one of another library.
        SchemaError
            The expression names a column that is not there, does not fit the types, is not true or false, or depends on
            other rows or on their order: each partition is filtered by itself.
        """
        read = condition_columns(predicate, self.schema)
        return self.with_step(Filter(guarded_part(predicate, read).expr, read))

    def map_partitions(
        self, function: Callable[[Any], Any], schema: pa.Schema | dict[str, Any], *, frame: str = "narwhals"
    ) -> Dataset:
        """Return what `function` makes of each partition.

        Parameters
        ----------
        function : callable
            Takes one partition, possibly empty, and returns one, with any number of rows. It sees all columns.
        schema : pyarrow.Schema or dict of name to type
            What it returns; the result is checked for the columns and cast to the types.
        frame : {"narwhals", "polars", "pandas", "arrow", "cudf"}
            The library whose frame it takes; it may return any of them. Narwhals is over Polars, also where partitions
            are on a GPU. Types in pandas are those of `to_pandas`.

        Raises
        ------
        ConfigError
            The function is none, or `frame` is not known.
        UserCodeError
            When it runs: the function raised. SchemaError: it left out a column, or returned a value that the declared
            type does not hold, as int64 does not hold 3.7; numbers are only rounded from float64 to float32.
        """
        check_callable(function, "map_partitions")
        frames.check_form(frame)
        return self.with_step(MapPartitions(function, declared(schema), frame, tuple(self.schema.names)))

    def count(self) -> int:
        """Return the number of rows; without reading, unless a step can drop some."""
        if all(step.keeps_rows for step in self.steps):
            return sum(_kept(fragment, self.reader.samples) for fragment in self.fragments)
        _, log = self.gather(())
        return log.kept

    def head(self, rows: int = 5) -> pl.DataFrame:
        """Return the first rows as a Polars frame; reads no more fragments than it takes."""
        tables: list[pa.Table] = []
        for fragment in self.fragments:
            tables += list(map_all(self.engine, self._collect(), [fragment], label="head"))
            if sum(table.num_rows for table in tables) >= rows:
                break
        return pl.DataFrame(pa.concat_tables(tables).slice(0, rows))

    def to_arrow(self) -> pa.Table:
        """Return all rows as one Arrow table."""
        tables = list(map_all(self.engine, self._collect(), self.fragments, label="read"))
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as one Polars frame."""
        return pl.DataFrame(self.to_arrow())

    def to_pandas(self) -> pd.DataFrame:
        """Return all rows as one pandas frame.

        The type of a column there follows from its type here, whether or not it has nulls: integers and booleans are
        pandas' nullable ones (``Int64``, ``boolean``, null is ``pd.NA``), so that no value changes; floating columns
        are NumPy's, null is NaN; all else is as pyarrow has it. For one matrix of them all there is
        ``frame.to_numpy(dtype=float, na_value=np.nan)``.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        SchemaError
            pandas cannot hold a value: one of ``time64[ns]`` with nanoseconds.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> frame = ps.LocalEngine().from_arrow(pa.table({"id": [2**53 + 1, None], "x": [0.5, None]})).to_pandas()
        >>> frame.dtypes.astype(str).tolist(), int(frame["id"][0]) == 2**53 + 1
        (['Int64', 'float64'], True)
        """
        return to_pandas(self.to_arrow())

    def to_spark(self) -> Any:
        """Return a lazy Spark DataFrame, of a dataset on the Spark engine; see `SparkEngine.to_spark`."""
        return self._exported("to_spark", "SparkEngine")

    def to_dask(self) -> Any:
        """Return a lazy Dask DataFrame, of a dataset on the Dask engine; see `DaskEngine.to_dask`."""
        return self._exported("to_dask", "DaskEngine")

    def _exported(self, method: str, owner: str) -> Any:
        export = getattr(self.engine, method, None)
        if export is None:
            raise ConfigError(
                f"{method} needs a dataset of a {owner}, found one of {type(self.engine).__name__}",
                hint=f"Read the data with a {owner}, or write it and read what is written.",
            )
        return export(self)

    def check(self, *rules: Any, memory_budget: int | str | None = None) -> Any:
        """Return which rules of `penstock.rules` the rows keep, from one scan for all of them.

        Where a rule is broken, and the scan cannot name the first row that breaks it, as with `Unique`, its file is
        looked for in a read of its own. `ForeignKey` and `SumEquals` read other datasets.

        Parameters
        ----------
        *rules : rule of `penstock.rules`
        memory_budget : int or str, optional
            What counting values for `Unique` may take in any one process, ``"4GiB"`` say; half of its memory unless
            given.

        Returns
        -------
        CheckReport
            An outcome for each rule, in their order; ``raise_if_failed()`` raises where one is broken.

        Raises
        ------
        ConfigError
            There is no rule, or something that is none; counting would take more than the memory.
        SchemaError
            Before reading: a column of a rule is missing, or of a type that does not suit.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"id": [1, 2, 3], "age": [31, None, 58]}))
        >>> data.check(ps.rules.Unique("id"), ps.rules.Between("age", least=0, most=120)).passed
        True
        """
        return import_module("penstock.rules.in_pass").check(self, rules, memory_budget)

    def scan(self, columns: Sequence[str] | None = None) -> ReadTask:
        """Return the work of reading `columns` (all, if not given) of one fragment."""
        wanted = tuple(self.schema.names if columns is None else column_names(columns, "columns of a scan"))
        return ReadTask(self.reader, self.steps, wanted, self.engine.kind)

    def gather(self, statistics: Sequence[Statistic], label: str = "scan") -> tuple[list[State], RowLog]:
        """Return the state of each statistic over all rows, from one scan.

        Raises
        ------
        ConfigError
            One is no statistic, or does not name its columns by a tuple.
        SchemaError
            The data has not all columns that one needs.
        """
        check_statistics(statistics, "gather")
        for each in statistics:
            require(self.schema, [name for name in each.reads if name != ROW])
        probe = Probe(len(self.steps), tuple(statistics))
        states, log = self.probe([probe], label=label)
        return states[0], log

    def probe(self, probes: Sequence[Probe], label: str = "scan") -> tuple[list[list[State]], RowLog]:
        """Return the states of statistics at several places along the steps, all from one scan.

        Raises
        ------
        ConfigError
            A statistic needs row numbers, which a step before it has made an end of.
        """
        for probe in probes:
            if probe.position and any(ROW in statistic.reads for statistic in probe.statistics):
                hint = "Name a column of folds instead, or write the rows to Parquet and read them again."
                check_numbered(self.steps[: probe.position], "a statistic", hint)
        work = SummariseTask(self.reader, self.steps, tuple(probes), self.engine.kind)
        if all(probe.statistics for probe in probes) and any(
            isinstance(step, InBlocks) for each in self.steps for step in each.history
        ):
            return probe_blocks(work, partial(summarise_tree, self, label=label))
        if self.state_cache is None:
            return self._summarised(work, label)
        with kept_states(work, self.state_cache) as task:
            return self._summarised(task, label)

    def _summarised(self, task: Summariser, label: str) -> tuple[list[list[State]], RowLog]:
        if not any(probe.parts for probe in task.probes):
            return reduce_all(self.engine, task, task.merge, self.fragments, label=label)
        partitioned = HashPartitioned(task)
        return partitioned.concat(reduce_partitioned_all(self.engine, partitioned, self.fragments, label=label))

    def first_where(self, predicate: Predicate, columns: Sequence[str]) -> tuple[str, int] | None:
        """Return the file, and the row in it, of the first row for which `predicate` is true.

        None also where a step has made new rows, which are not those of a file. Read are `columns`, and what the
        predicate needs besides.
        """
        if any(step.makes_rows for step in self.steps):
            return None
        asked = column_names(columns, "columns of first_where")
        numbered = self.scan(tuple(dict.fromkeys([*asked, *columns_read(predicate, self.schema), ROW])))
        task = partial(_first_row, numbered, predicate)
        for fragment in self.fragments:
            for row in map_all(self.engine, task, [fragment], label="locate"):
                if row is not None:
                    return fragment.locate(row)
        return None

    def _collect(self) -> CollectTask:
        return CollectTask(self.scan(), self.schema)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a Dataset is not iterable; use head, to_polars or map_partitions")


def check_dataset(value: Any, what: str) -> None:
    """Raise ConfigError, which says how to make one, unless a value that `what` takes is a dataset."""
    if not isinstance(value, Dataset):
        refuse_stream(value)
        raise ConfigError(
            f"{what} takes a Dataset, found {class_name(value)}",
            hint=f"Make one on an engine: {what}(engine.from_arrow(frame)) for a frame of pandas, Polars or Arrow,"
            f" {what}(engine.read_parquet(path)) for files; engine.from_spark and engine.from_dask take their frames.",
        )


def check_callable(value: Any, what: str) -> None:
    """Raise ConfigError unless what `what` is to call, on frames, can be called."""
    if not callable(value):
        raise ConfigError(
            f"{what} takes a function of frames, found {class_name(value)}",
            hint=f'Write {what}(lambda frame: frame.filter(nw.col("x") > 0), ...), after import narwhals as nw.',
        )


def _first_row(scan: ReadTask, predicate: Predicate, fragment: Fragment) -> int | None:
    bad = matching(scan.frame(fragment, RowLog()), predicate)
    return int(bad[ROW][0]) if len(bad) else None


def _kept(fragment: Fragment, samples: tuple[Sample, ...]) -> int:
    mask = kept_rows(fragment, samples)
    return fragment.rows if mask is None else int(np.count_nonzero(mask))
