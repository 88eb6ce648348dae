"""Frames to the matrices that XGBoost trains on, on the device where they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import xgboost as xgb

from penstock import devices, frames
from penstock.frames import ROW, Kind, matrices
from penstock.spmd import Rank
from penstock.stages.base import Blob
from penstock.stages.classes import label_codes
from penstock.stages.training import _vector_features
from penstock.stages.training.trees import _float32
from penstock.stages.training.trees._objectives import ObjectiveTarget
from penstock.stages.training.trees._tree_features import float32_matrix
from penstock.statistics.aggregates import row_numbers
from penstock.statistics.rules import ColumnRules, refuse, rules_for, valid_rows

CACHE_BYTES = 4 * 2**30
"""Matrices of a rank up to this size are kept while XGBoost passes over them; larger ones are read again each time."""
_SHARE = 8
"""Of a GPU's memory they take an eighth at most."""


@dataclass(frozen=True)
class Batch:
    """The rows of one fragment, what is not asked for None.

    Attributes
    ----------
    features
        See `matrices.features`; a SciPy matrix where a sparse vector is among them.
    label
        Numbers, or a matrix with a column for each class.
    weight
    rows
        Row numbers, uint64.
    upper
        Upper ends of intervals; their lower ends are the labels.
    group : pyarrow.Array
        What group each row belongs to; on the host.
    beyond : mapping of str to int
        Features whose whole numbers float32 rounds; see `_float32`.
    margin
        What the trees before say of the rows, which those to come are added to; float32, a column for each output.
    """

    features: Any
    label: Any
    weight: Any | None
    rows: Any | None = None
    upper: Any | None = None
    group: pa.Array | None = None
    beyond: Mapping[str, int] = field(default_factory=dict)
    margin: Any | None = None

    def take(self, chosen: Any) -> Batch:
        """Return the features, labels, weights, groups and margins of the rows that a mask chooses, where they are."""
        group = None if self.group is None else self.group.filter(pa.array(matrices.to_host(chosen)))
        return replace(self._map(lambda values: matrices.rows_of(values, chosen)), group=group)

    def to_host(self) -> Batch:
        """Return the rows with features, labels, weights and margins as arrays on the host."""
        return self.take(np.ones(len(self.label), dtype=bool))._map(matrices.to_host)

    def to_device(self, kind: Kind) -> Batch:
        """Return the rows with features, labels, weights and margins on a device."""
        return self._map(lambda values: matrices.to_device(values, kind))

    def _map(self, function: Callable[[Any], Any]) -> Batch:
        arrays = (self.features, self.label, self.weight, self.margin)
        features, label, weight, margin = (None if each is None else function(each) for each in arrays)
        return Batch(features, label, weight, group=self.group, margin=margin)

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """Return the features, labels, weights and margins of several batches on one device; of one, uncopied."""
        if len(batches) == 1:
            return replace(batches[0], group=None)
        features, label = matrices.concatenated([each.features for each in batches]), [each.label for each in batches]
        weight, margin = (_joined([getattr(each, name) for each in batches]) for name in ("weight", "margin"))
        return Batch(features, np.concatenate(label), weight, margin=margin)


def _joined(parts: Sequence[Any]) -> Any | None:
    return None if parts[0] is None else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class ToBatch:
    """Turns a frame into a batch; training data was checked before, validation data only here.

    Parameters
    ----------
    features : tuple of str
    label : str
    classes : tuple or None
        Labels become their position among these; None takes them as numbers.
    weight : str or None
    numbered : bool
        Take the row numbers too.
    objective : str or None
        Refuse the labels that it cannot learn from; see `_objectives`.
    upper : str or None
        Column of the upper ends of intervals.
    group : str or None
        Column that says which rows belong together.
    one_hot : bool
        Labels become a matrix: 1 in the column of the class, 0 in the others.
    index : numpy.ndarray or None
        The indices of the sparse vector whose columns are among the features; None where there is none.
    before : Blob or None
        The booster whose margins rows begin with.
    """

    features: tuple[str, ...]
    label: str
    classes: tuple[Any, ...] | None
    weight: str | None
    numbered: bool = False
    objective: str | None = None
    upper: str | None = None
    group: str | None = None
    one_hot: bool = False
    index: np.ndarray | None = None
    before: Blob | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        more = [name for name in (self.label, self.weight, self.upper, self.group) if name is not None]
        return tuple(dict.fromkeys([*self.features, *more, *([ROW] if self.numbered else [])]))

    @property
    def key(self) -> Hashable:
        """All that batches depend on."""
        index = None if self.index is None else self.index.tobytes()
        return tuple(index if each.name == "index" else getattr(self, each.name) for each in fields(self))

    def __call__(self, frame: nw.DataFrame) -> Batch:
        """Convert one frame.

        Raises
        ------
        DataValueError
            An infinity, a null label or group, a label that is not a class or not for the objective, or a weight that
            is null or negative.
        """
        self._check(frame)
        features, beyond = self._features(frame)
        return Batch(
            features,
            self._labels(frame),
            None if self.weight is None else float32_matrix(frame, (self.weight,))[:, 0],
            row_numbers(frame) if self.numbered else None,
            None if self.upper is None else matrices.to_matrix(frame, (self.upper,))[:, 0],
            None if self.group is None else frames.to_arrow(frame.select(self.group))[self.group].combine_chunks(),
            beyond,
            None if self.before is None else self._margins(frame, self.before),
        )

    def _margins(self, frame: nw.DataFrame, before: Blob) -> Any:
        from penstock.stages.training.trees._boosting import predict

        return predict(before, float32_matrix(frame, self.features, self.index), "margin").astype("float32")

    @property
    def names(self) -> list[str] | None:
        """The names of the columns of the matrix; those of a vector have none, since XGBoost is slow with very many."""
        return list(self.features) if self.index is None else None

    def _features(self, frame: nw.DataFrame) -> tuple[Any, Mapping[str, int]]:
        if self.index is None:
            return finite_features(frame, self.features)
        return float32_matrix(frame, self.features, self.index), _float32.beyond(frame, self.features)

    def _check(self, frame: nw.DataFrame) -> None:
        checks = training_checks(self.label if self.classes is None else None, self.weight, self.group)
        refuse(checks, valid_rows(frame, checks)[1])
        if self.objective is not None:
            faults = ObjectiveTarget(self.label, {}, self.objective, self.upper).faults
            faults.refuse(faults.summarise(frame))

    def _labels(self, frame: nw.DataFrame) -> Any:
        if self.classes is None:
            return float32_matrix(frame, (self.label,))[:, 0]
        label = label_codes(frame, self.label, self.classes).astype("float32")
        if not self.one_hot:
            return label
        places = matrices.to_device(np.arange(len(self.classes), dtype=np.float32), frames.kind_of(frame))
        return (label[:, None] == places[None, :]).astype("float32")

    def empty(self, kind: Kind) -> Batch:
        """Return a batch without rows, for a rank that has none; on its device, which the first batch decides."""
        none = matrices.to_device(np.empty(0, dtype=np.float32), kind)
        if self.index is None:
            features = matrices.to_device(np.empty((0, len(self.features)), dtype=np.float32), kind)
        else:
            features = _vector_features.empty(self.features, self.index)
        label = none.reshape(0, len(self.classes)) if self.one_hot and self.classes is not None else none
        return Batch(
            features,
            label,
            None if self.weight is None else none,
            np.empty(0, dtype=np.uint64) if self.numbered else None,
            None if self.upper is None else none,
            None if self.group is None else pa.array([], pa.int64()),
        )


def training_checks(label: str | None, weight: str | None, group: str | None = None) -> ColumnRules:
    """Return the rules for labels, weights and groups to train on, each None where there is nothing to check.

    Examples
    --------
    >>> [(column, rule.test) for column, rule in training_checks("y", "w")]
    [('y', 'null'), ('w', 'null'), ('w', 'negative')]
    """
    tests = {label: ("null",), weight: ("null", "negative"), group: ("null",)}
    return tuple(rule for name, each in tests.items() if name is not None for rule in rules_for((name,), *each))


def finite_features(frame: nw.DataFrame, columns: tuple[str, ...]) -> tuple[Any, Mapping[str, int]]:
    """Return columns as XGBoost reads them fastest, see `matrices.features`, and the integers that float32 rounds.

    Raises
    ------
    DataValueError
        As of `float32_matrix`.
    """
    values = matrices.features(frame, columns)
    largest = dict(zip(columns, matrices.magnitudes(values), strict=True))
    if math.inf in largest.values():
        float32_matrix(frame, columns)  # counts them, and raises
    return values, _float32.beyond(frame, [name for name in columns if largest[name] >= _float32.EXACT])


def _most_kept(kind: Kind) -> int:
    memory = devices.use(kind).memory
    return CACHE_BYTES if memory is None else memory // _SHARE


class Batches(xgb.DataIter):
    """Feeds the batches of one dataset to XGBoost as often as it asks.

    Parameters
    ----------
    cache : str, optional
        For training from external memory: what the names of XGBoost's files begin with. Nothing is kept in memory.
    """

    def __init__(self, rank: Rank, name: str, convert: ToBatch, cache: str | None = None) -> None:
        super().__init__(cache, release_data=True)
        self.names = convert.names
        self.numbered = convert.numbered
        self.grouped = convert.group is not None
        self.external = cache is not None
        self.beyond: dict[str, int] = {}
        self._source: Callable[[], Iterator[Batch]] = lambda: rank.batches(name, convert.columns, convert)
        self._empty = convert.empty(rank.kind)
        size = rank.rows(name) * len(convert.features) * 4
        held = not self.external and (size <= _most_kept(rank.kind) or self.grouped or convert.index is not None)
        self._held: list[Batch] | None = list(self._read()) if held else None
        self._open = self.each()

    def each(self) -> Iterator[Batch]:
        """Yield the batches; an empty one for a rank without rows."""
        batches = iter(self._held) if self._held is not None else self._read()
        yield next(batches, self._empty)
        yield from batches

    def _read(self) -> Iterator[Batch]:
        for batch in self._source():
            self.beyond = _float32.farthest([self.beyond, batch.beyond])
            yield batch

    def take(self) -> list[Batch]:
        """Return the batches that are kept, to be kept by the caller."""
        taken, self._held = self._held or [], []
        return taken

    def put(self, batch: Batch | None) -> None:
        """Feed this one batch instead of those that were read; None for no rows."""
        self._held = [] if batch is None else [batch]
        self.reset()

    def release(self) -> None:
        """Free what is kept: XGBoost has made its matrix and will not ask again."""
        self._held = []

    def reset(self) -> None:
        """Start another pass."""
        self._open = self.each()

    def next(self, input_data: Callable[..., Any]) -> bool:
        """Hand over the next batch."""
        batch = next(self._open, None)
        if batch is None:
            return False
        margin = {} if batch.margin is None else {"base_margin": batch.margin}
        input_data(data=batch.features, weight=batch.weight, feature_names=self.names, **margin, **_targets(batch))
        return True


def _targets(batch: Batch) -> dict[str, Any]:
    """Return what a batch is to be learned for, as XGBoost names it."""
    if batch.upper is not None:
        return {"label_lower_bound": batch.label, "label_upper_bound": batch.upper}
    return {"label": batch.label, **({} if batch.group is None else {"qid": np.asarray(batch.group)})}
