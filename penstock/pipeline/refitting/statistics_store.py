"""A folder of models by day, or by any other part of the data, that are merged to the model of any span of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import fsspec

from penstock.artefact import load_statistics
from penstock.artefact.statistics import SavedStatistics
from penstock.core.errors import ConfigError, MissingInputError
from penstock.core.locations import absolute_path, is_url, read_location
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.refitting.kept_statistics import KeptState

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class StatisticsStore:
    """Keeps, for each day, the model that was fitted to it, and merges what they have gathered.

    Parameters
    ----------
    location : str or Path
        A folder, or the URL of one; it need not be there yet. Each day is a saved model in it.
    storage_options : mapping, optional
        Passed to fsspec; never shown in a message.

    Examples
    --------
    >>> import tempfile, penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> engine, pipeline = ps.LocalEngine(device="cpu"), ps.Pipeline(st.Imputer("x"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ps.StatisticsStore(folder)
    ...     for day, value in {"2026-11-01": 1.0, "2026-11-02": 3.0, "2026-11-03": 8.0}.items():
    ...         rows = engine.from_arrow(pa.table({"x": [value]}))
    ...         store.put(day, pipeline.fit(rows, keep_statistics=True))
    ...     store.merge("2026-11-02", "2026-11-03").fitted[0]["values"]["x"]
    5.5
    """

    def __init__(self, location: str | Path, *, storage_options: Mapping[str, Any] | None = None) -> None:
        text = read_location(location, "StatisticsStore")
        self._location = text.rstrip("/") if is_url(text) else str(absolute_path(text, "StatisticsStore"))
        self._options = dict(storage_options or {})

    def __repr__(self) -> str:
        return f"StatisticsStore({self._location!r})"

    def put(self, key: str | date, model: PipelineModel) -> None:
        """Keep a model under a day; what was there under it is replaced, as a whole.

        Parameters
        ----------
        key : str or date
            Sorts as the days do: ``"2026-11-01"``.
        model : PipelineModel
            Fitted to the rows of that day, with ``keep_statistics=True``.

        Raises
        ------
        ConfigError
            The key is none, or the model keeps no statistics.
        OutputError, CommitConflictError
            It cannot be written, or somebody else writes it; what was there stays.
        """
        if model.statistics is None:
            hint = "Fit it with pipeline.fit(dataset, keep_statistics=True)."
            raise ConfigError("the model keeps no statistics, so there is nothing to merge", hint=hint)
        model.save(self._path(_name(key)), overwrite=True, storage_options=self._options)

    def keys(self) -> list[str]:
        """Return the days that are there, in order."""
        filesystem, root = fsspec.core.url_to_fs(self._location, **self._options)
        if not filesystem.exists(root):
            return []
        names = (path.rstrip("/").rpartition("/")[2] for path in filesystem.ls(root, detail=False))
        return sorted(name for name in names if _KEY.fullmatch(name))

    def get(self, key: str | date) -> PipelineModel:
        """Return the model of a day; MissingInputError where there is none."""
        return PipelineModel.load(self._path(_name(key)), storage_options=self._options)

    def merge(
        self,
        first: str | date | None = None,
        last: str | date | None = None,
        *,
        drop: str | date | Collection[str | date] = (),
    ) -> PipelineModel:
        """Return the model of all days from `first` to `last`, both included; all that there are, unless given.

        Days that are not there are passed over: see `keys`.

        Parameters
        ----------
        first, last : str or date, optional
        drop : str, date, or several, optional
            Days that are left out, as if they had never been.

        Raises
        ------
        MissingInputError
            There is no day between; or none of those to `drop`.
        ConfigError
            Models of days are not of one pipeline, see `PipelineModel.merge`.
        """
        low, high = (None if key is None else _name(key) for key in (first, last))
        names = [name for name in self.keys() if (low is None or name >= low) and (high is None or name <= high)]
        for name in map(_name, [drop] if isinstance(drop, str | date) else drop):
            if name not in names:
                raise MissingInputError(f"{self._location} has no {name} to drop", path=self._path(name))
            names.remove(name)
        if not names:
            span = f"from {low or 'the first'} to {high or 'the last'}"
            raise MissingInputError(f"{self._location} has no statistics {span}", path=self._location)
        model = self.get(names[0])
        return model.merge(*self._others(model, names))

    def _others(self, first: PipelineModel, names: Sequence[str]) -> Iterator[PipelineModel]:
        """Return the models of the days after the first; where all else is the same, only statistics are read."""
        known = self._saved(names[0]).rest
        for name in names[1:]:
            saved = self._saved(name)
            yield _with(first, saved) if saved.rest == known else self.get(name)

    def _saved(self, name: str) -> SavedStatistics:
        return load_statistics(self._path(name), storage_options=self._options)

    def _path(self, name: str) -> str:
        return f"{self._location}/{name}"


def _with(model: PipelineModel, saved: SavedStatistics) -> PipelineModel:
    return replace(model, statistics={key: KeptState(*pair) for key, pair in saved.statistics.items()})


def _name(key: str | date) -> str:
    """Return the name of a folder for a key; ConfigError for what can be none."""
    text = key.isoformat() if isinstance(key, date) else key
    if not isinstance(text, str) or not _KEY.fullmatch(text):
        problem = f"the key of statistics is {key!r:.100}, expected a date, or letters, digits, '_', '.' and '-'"
        raise ConfigError(problem, hint='Take "2026-11-01", say: keys are in the order of their letters.')
    return text
