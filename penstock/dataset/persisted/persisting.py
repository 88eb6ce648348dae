"""Holding the rows of a dataset once they are read, as a dataset offers it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from penstock.core.errors import ConfigError
from penstock.core.sizes import parse_bytes
from penstock.dataset.persisted.prepared import Persisted, PreparedReader, PreparedSchema
from penstock.io.persisted import Persistence

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.dataset.dataset import Dataset


class Persisting:
    """The part of a dataset that says where its rows are held."""

    def persist(
        self, memory: str | None = None, disk: str | None = None, *, spill_dir: str | Path | None = None
    ) -> Dataset:
        """Return the dataset, whose rows, as they are after its steps, are held once they have been read.

        Nothing is read now. Whoever reads columns of it later, a fit, a transform, an evaluation, a write, takes those
        that are held, and reads the others: of the files, by the steps. No result depends on what is held.

        Rows are held by the processes that read them, in the form in which they are computed with: this one, the
        workers of Dask, the Python workers of Spark; on the GPU of those that work on one. On Dask a fragment is given
        to the worker that had it before. Spark cannot be told so, gives it to any of them, and ends a Python worker
        that has nothing to do for a minute. What is lost with a worker is read again.

        Parameters
        ----------
        memory : str, optional
            How much each process holds at most, as ``"2GiB"``; a quarter of its free memory when it begins, unless
            given. What does not fit is read every time.
        disk : str, optional
            How much each process puts on its local disk at most, as ``"20GiB"``, when memory is full; nothing unless
            given.
        spill_dir : path, optional
            Where it does; in the temporary directory of its machine unless given. It is a private folder, removed with
            what is held, and by the next process where its own is killed.

        Returns
        -------
        Dataset
            A dataset like any other. What is held is shared by all that are made of it by further steps, and is let go
            by `unpersist`, by the `close` of the engine, and in this process when none of them is left.

        Raises
        ------
        ConfigError
            A size cannot be read; `spill_dir` is given without `disk`; the dataset is persisted already, and is to be
            so in another way.

        Notes
        -----
        A file that has changed since is read again, and its reader says so. Steps that are not the same every time they
        are run, a function of `map_partitions` with random numbers, say, give what they gave when rows were first made,
        as long as they are held.

        Examples
        --------
        >>> import penstock as ps, narwhals as nw, pyarrow as pa
        >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, 2, 3]}))
        >>> large = data.filter(nw.col("x") > 1).persist(memory="64MiB")
        >>> large.count(), large.to_arrow()["x"].to_pylist(), large.unpersist().count()
        (2, [2, 3], 2)
        """
        if spill_dir is not None and disk is None:
            raise ConfigError("spill_dir is given, and disk is not", hint='Say how much, disk="20GiB".')
        dataset = cast("Dataset", self)
        if _is_persisted(dataset):
            if (memory, disk) != (None, None):
                raise ConfigError("the dataset is persisted already", hint="Call unpersist() on it first.")
            return dataset
        engine = dataset.engine
        persistence = Persistence(
            engine.new_persistence(),
            memory=None if memory is None else _parse(memory, "memory"),
            most=engine.task_memory if memory is None else None,
            disk=0 if disk is None else _parse(disk, "disk"),
            spill_dir=None if spill_dir is None else str(spill_dir),
        )
        return _held(dataset, persistence.released_with_last())

    def unpersist(self) -> Dataset:
        """Let go of what is held of the rows, and return the dataset as it was before `persist`, with later steps.

        Those made of it before are read anew every time. Of a dataset that is not persisted it does nothing.
        """
        dataset = cast("Dataset", self)
        reader, fragments = dataset.reader, tuple(replace(each, persisted=False) for each in dataset.fragments)
        if reader.persistence is None:
            return dataset
        reader.persistence.released = True
        dataset.engine.unpersist(reader.persistence.name)
        if isinstance(reader, PreparedReader):
            before = (*reader.rows.steps, *dataset.steps[1:])
            return replace(dataset, reader=reader.rows.reader, fragments=fragments, steps=before)
        return replace(dataset, reader=replace(reader, persistence=None), fragments=fragments)


def _parse(size: object, name: str) -> int:
    if not isinstance(size, str):
        raise ConfigError(f"{name} is {size!r}, expected a size", hint=f'Write it with its unit, {name}="2GiB".')
    return parse_bytes(size)


def _is_persisted(dataset: Dataset) -> bool:
    """Return whether these very rows are held."""
    prepared = isinstance(dataset.reader, PreparedReader)
    return dataset.reader.persistence is not None and len(dataset.steps) == prepared


def held_as_stored(dataset: Dataset, persistence: Persistence) -> Dataset:
    """Return a dataset whose columns are held as they are read, before its steps."""
    fragments = tuple(replace(fragment, persisted=True) for fragment in dataset.fragments)
    return replace(dataset, reader=replace(dataset.reader, persistence=persistence), fragments=fragments)


def _held(dataset: Dataset, persistence: Persistence) -> Dataset:
    """Return a dataset whose rows are held as they are after its steps."""
    reader, steps = dataset.reader, dataset.steps
    if not steps and not reader.samples and reader.persistence is None:
        return held_as_stored(dataset, persistence)
    prepared = PreparedReader(PreparedSchema(dataset.schema), reader.samples, reader.folder, rows=dataset.scan())
    return held_as_stored(replace(dataset, reader=prepared, steps=(Persisted.of(steps, reader.samples),)), persistence)
