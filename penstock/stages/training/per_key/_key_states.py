"""Models by key: states, scores, and keys without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.stages.base import Fitted, RowFunction, Stage
from penstock.stages.capabilities import ScoresByState
from penstock.stages.preprocessing._groups import group_place, group_places
from penstock.stages.shapes import Shape
from penstock.stages.step import capability
from penstock.stages.vectors import over

Outcome = Fitted | DataValueError
"""What was learned of a key, or the error that its rows were refused with."""
_SHOWN = 3


@dataclass(frozen=True)
class StateOf(Shape):
    """What a bound stage has learned of rows of a schema."""

    stage: Stage
    schema: pa.Schema

    def check(self, value: Any, place: str) -> None:
        try:
            over.check_sizes(self.stage, value)
            over.check_fitted(self.stage, self.schema, value)
        except (ValueError, TypeError) as error:
            raise ValueError(f"in {place}: {error}") from error


def learned_of(keys: pa.Table, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the keys that have a model, the models, and the keys that have none with the reasons.

    Examples
    --------
    >>> learned = learned_of(pa.table({"store": ["a", "b"]}), [{"mean": 1.5}, DataValueError("there are no rows")])
    >>> learned["keys"].to_pylist(), learned["models"], learned["skipped"]["reasons"]
    ([{'store': 'a'}], [{'mean': 1.5}], ['there are no rows'])
    """
    errors = {place: each.message for place, each in enumerate(outcomes) if isinstance(each, DataValueError)}
    models = {place: each for place, each in enumerate(outcomes) if place not in errors}
    with_model, without = (keys.take(pa.array(places, pa.int64())) for places in (models, errors))
    return {
        "keys": with_model,
        "models": list(models.values()),
        "skipped": {"keys": without, "reasons": list(errors.values())},
    }


def joined(skipped: Mapping[str, Any], learned: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was learned, with the keys that were skipped before among those without a model."""
    more = learned["skipped"]
    keys = pa.concat_tables([skipped["keys"], more["keys"]])
    return {**learned, "skipped": {"keys": keys, "reasons": [*skipped["reasons"], *more["reasons"]]}}


def first_error(keys: pa.Table, outcomes: Sequence[Outcome]) -> DataValueError:
    """Return the error of the first bad row, as far as rows are known, as one about the rows of its key."""
    errors = [(place, each) for place, each in enumerate(outcomes) if isinstance(each, DataValueError)]
    place, error = min(errors, key=lambda each: _row_of(each[1]))
    more = f" and for {len(errors) - 1} more key(s)" if len(errors) > 1 else ""
    (key,) = keys.slice(place, 1).to_pylist()
    problem = f"where {_described(key)}{more}: {error.message}"
    hint = " ".join([*filter(None, [error.hint]), "With errors='skip' such a key gets no model."])
    return DataValueError(problem, hint=hint, predicate=error.predicate, **error.place)


def _row_of(error: DataValueError) -> tuple[float, float]:
    return (inf if error.partition is None else error.partition, inf if error.row is None else error.row)


def notes_of(stage: Stage, learned: Fitted) -> list[str]:
    """Return how many keys have a model, which have none, what rows have no key, and what the stage notes of keys."""
    keys, skipped = learned["keys"].to_pylist(), learned["skipped"]["keys"].to_pylist()
    lines = [f"{len(keys)} key(s) have a model"]
    if skipped:
        reasons = zip(skipped, learned["skipped"]["reasons"], strict=True)
        told = [f"{_described(key)}: {reason}" for key, reason in reasons]
        lines.append(f"{len(skipped)} key(s) have none: {'; '.join(_shortened(told))}")
    if learned["null_rows"]:
        lines.append(f"{learned['null_rows']} row(s) have a null key, and no model of a key learns from them")
    noted = zip(keys, (over.notes(stage, each) for each in learned["models"]), strict=True)
    return [*lines, *_shortened([f"{_described(key)}: {note}" for key, notes in noted for note in notes])]


def _shortened(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"and {len(lines) - _SHOWN} more"


def _described(key: Mapping[str, Any]) -> str:
    return " and ".join(f"{name} is {value!r}" for name, value in key.items())


@dataclass(frozen=True, eq=False)
class KeyModels:
    """A bound stage, and what it has learned of each key.

    Parameters
    ----------
    stage : Stage
    keys : pyarrow.Table
    models : sequence of mapping
        What was learned of the keys, in their order; and at the end, if there is one more, for rows of no such key.
    """

    stage: Stage
    keys: pa.Table
    models: Sequence[Fitted]

    def transform(self, frame: nw.DataFrame) -> nw.DataFrame:
        """Return what the stage makes of each row by the model of its key, null where there is none."""
        place = group_places(frame, self.keys).to_numpy()
        together = None if any(map(over.sizes, self.models)) else capability(self.stage, ScoresByState)
        made = None if together is None else together.transform_by(frame, self.models, place)
        return self._by_key(frame, place) if made is None else made

    def _by_key(self, frame: nw.DataFrame, place: np.ndarray) -> nw.DataFrame:
        """Return what `transform` does, key by key."""
        order = np.argsort(place, kind="stable")
        rows = frame.select(*self.keys.column_names, *self.stage.inputs())[order]
        found, starts = np.unique(place[order], return_index=True)
        parts = pairwise([*starts.tolist(), len(place)])
        made = [self._made(rows[start:end], at) for at, (start, end) in zip(found.tolist(), parts, strict=True)]
        joined = frames.concat(made or [self._made(rows, 0)])
        inverse = np.empty(len(order), dtype=np.int64)
        inverse[order] = np.arange(len(order))
        return frame.with_columns(*joined[inverse].iter_columns())

    def _made(self, rows: nw.DataFrame, place: int) -> nw.DataFrame:
        outputs = self.stage.outputs()
        if place < len(self.models):
            return over.transform(self.stage, rows, self.models[place]).select(*outputs)
        types = frames.to_arrow(self._made(rows[:0], 0)).schema
        return frames.conform(rows.drop(*outputs, strict=False), types)

    def row_function(self, schema: pa.Schema) -> RowFunction | None:
        """Return what `transform` does as a function of one row; None where some model has none."""
        functions = [over.row_function(self.stage, schema, each) for each in self.models]
        known = [each for each in functions if each is not None]
        if len(known) < len(functions):
            return None
        place, nothing = group_place(self.keys), dict.fromkeys(self.stage.outputs())

        def call(row: dict[str, Any]) -> None:
            at = place(row)
            if at < len(known):
                known[at](row)
            else:
                row.update(nothing)

        return call
