"""Sums, means and centred squares of many columns, class by class: what naive Bayes learns from, in one scan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.frames import matrices
from penstock.statistics.aggregates import device_numbers, numbers
from penstock.statistics.base import State
from penstock.statistics.device_groups import DeviceGroups
from penstock.statistics.groups import Groups, as_lists, as_matrix
from penstock.statistics.labels import categories, coded_there, refuse_more, without_minus_zero
from penstock.statistics.of_classes import OfClasses
from penstock.statistics.rules import ColumnRules, Rule, add_counts, refuse, rules_for

_PARTS = ("sum", "mean", "rest", "m2")


@dataclass(frozen=True, eq=False)
class MomentsByClass:
    """What the rows of each class add up to; of the classes that have a row of a weight above 0.

    Parameters
    ----------
    classes : pyarrow.Array
        Ascending, in the type of the label; strings are ordered by their UTF-8 bytes.
    rows : numpy.ndarray of shape (n_classes,), int64
        Those of a weight above 0.
    weight : numpy.ndarray of shape (n_classes,), float64
    sums : numpy.ndarray of shape (n_classes, n_features), float64
        Weighted; of counts, exact.
    means : numpy.ndarray of shape (n_classes, n_features), float64
    m2 : numpy.ndarray of shape (n_classes, n_features), float64
        Weighted sums of the squared distances from the mean of the class.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = ClassMoments(("label", "x"))
    >>> frame = frames.from_arrow(pa.table({"label": ["b", "a", "b"], "x": [1.0, 5.0, 3.0]}))
    >>> found = statistic.finish(statistic.summarise(frame))
    >>> found.classes.to_pylist(), found.means.tolist(), found.variances.tolist()
    (['a', 'b'], [[5.0], [2.0]], [[0.0], [1.0]])
    >>> found.total_variances.round(3).tolist()
    [2.667]
    """

    classes: pa.Array
    rows: np.ndarray
    weight: np.ndarray
    sums: np.ndarray
    means: np.ndarray
    m2: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        """Weighted mean of the squared distances from the mean of the class."""
        return self.m2 / self.weight[:, None]

    @property
    def total_variances(self) -> np.ndarray:
        """The variance of each column over all classes together: that within them, and that between their means."""
        share = (self.weight / self.weight.sum())[:, None]
        away = self.means - self.means[:1]
        away = away - (share * away).sum(axis=0)
        return (share * (self.variances + away * away)).sum(axis=0)


@dataclass(frozen=True)
class ClassMoments(OfClasses):
    """The :class:`MomentsByClass` of columns of numbers or booleans; the state grows with classes times columns.

    Computed where the frame is. On a CPU sums are added in the order of the rows, so that the result does not depend on
    threads. Means and squares come from differences, and partitions are joined with the update of Chan (see
    `penstock.statistics.Moments`): of data far from zero nothing cancels.

    Parameters
    ----------
    columns : tuple of str
        The label, the features, and the weight (0 or more) if it is `weighted`; without it every row weighs 1. Labels
        are integers, booleans, strings, or floating numbers without a fraction. A row of weight 0 is as if absent.
    weighted : bool, default False
    limit : int, default 10_000
        The most classes.

    Raises
    ------
    ConfigError
        `columns` has too few names, or `limit` is below 1.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = ClassMoments(("label", "x", "w"), weighted=True)
    >>> frame = frames.from_arrow(pa.table({"label": [1, 1], "x": [2.0, 6.0], "w": [3.0, 1.0]}))
    >>> found = statistic.finish(statistic.summarise(frame))
    >>> found.weight.tolist(), found.sums.tolist(), found.means.tolist(), found.m2.tolist()
    ([4.0], [[12.0]], [[3.0]], [[12.0]])
    """

    limit: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit < 1:
            raise ConfigError(f"limit is {self.limit}, expected at least 1")

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of numbers."""
        return self.columns[1:-1] if self.weighted else self.columns[1:]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the moments of the valid rows of one partition, and how many rows break which rule.

        Raises
        ------
        DataValueError
            There are more classes than the limit; so does `merge`.
        """
        rows, invalid = self._counting_rows(frame)
        on_device = frames.is_gpu(rows) and len(rows)
        return {"invalid": invalid, "table": self._of_device(rows) if on_device else self._of_host(rows)}

    def _of_host(self, rows: nw.DataFrame[Any]) -> pa.Table:
        weight = numbers(rows, self.columns[-1]) if self.weighted else np.ones(len(rows))
        classes = without_minus_zero(categories(rows, self.label))
        parts = ((weight * values, values, 0.0, 0.0) for values in (numbers(rows, name) for name in self.features))
        return self._joined(classes, np.ones(len(rows), dtype=np.int64), weight, parts)

    def _of_device(self, rows: nw.DataFrame[Any]) -> pa.Table:
        """Return what `_of_host` does; only classes, and what is added up of each, leave the device."""
        counts, place = coded_there(rows, self.label, self._refuse_more)
        weight = device_numbers(rows, self.columns[-1]) if self.weighted else np.ones_like(place, dtype=np.float64)
        columns = (device_numbers(rows, name) for name in self.features)
        groups = DeviceGroups.of(place, weight, len(counts))
        parts = ((weight * values, values, 0.0, 0.0) for values in columns)
        return self._table(counts["value"].combine_chunks(), counts["count"].to_numpy(), groups, parts)

    def merge(self, states: Sequence[State]) -> State:
        """Join class by class."""
        table = pa.concat_tables([state["table"] for state in states])
        parts = zip(*(as_matrix(table[name], len(self.features)).T for name in _PARTS), strict=True)
        counts, weight = (table[name].to_numpy() for name in ("rows", "weight"))
        joined = self._joined(table["class"].combine_chunks(), counts, weight, parts)
        return {"invalid": add_counts([state["invalid"] for state in states]), "table": joined}

    def finish(self, state: State) -> MomentsByClass:
        """Return the moments, classes in ascending order.

        Raises
        ------
        DataValueError
            A label is null, infinite or has a fraction; a feature is null, infinite or larger than 1e150; a weight is
            null, infinite, negative or larger than 1e150. It names the column and the count, and its ``predicate`` is
            true for the bad rows.
        """
        table = state["table"].sort_by("class")
        refuse(self._checks(pa.types.is_floating(table.schema.field("class").type)), state["invalid"])
        rows, weight = (table[name].to_numpy() for name in ("rows", "weight"))
        sums, means, _, m2 = (as_matrix(table[name], len(self.features)) for name in _PARTS)
        return MomentsByClass(table["class"].combine_chunks(), rows, weight, sums, means, m2)

    def _checks(self, floating: bool) -> ColumnRules:
        of_label = ("null", "infinite", "not_whole") if floating else ("null",)
        of_weight = ("null", "infinite", "negative", "too_large") if self.weighted else ()
        checks = [*rules_for([self.label], *of_label), *rules_for(self.columns[-1:], *of_weight)]
        return checks + [(name, Rule(test)) for name in self.features for test in ("null", "infinite", "too_large")]

    def _joined(
        self, classes: pa.Array, rows: np.ndarray, weight: np.ndarray, parts: Iterable[Sequence[Any]]
    ) -> pa.Table:
        """Return the table of the classes that parts are of; a part of a class is a row, or what was joined before.

        Parameters
        ----------
        parts : iterable
            For each feature the sum, the mean, the rest of the mean and the squares of every part.
        """
        coded = classes.dictionary_encode()
        found, place = coded.dictionary, coded.indices.to_numpy()
        self._refuse_more(len(found))
        counts = np.zeros(len(found), dtype=np.int64)
        np.add.at(counts, place, rows)
        return self._table(found, counts, Groups.of(place, weight, len(found)), parts)

    def _refuse_more(self, classes: int) -> None:
        hint = "Learn a quantity by regression; join classes that are too many."
        refuse_more(self.label, classes, self.limit, "distinct values", " classes", hint)

    def _table(self, classes: pa.Array, rows: np.ndarray, groups: Groups, parts: Iterable[Sequence[Any]]) -> pa.Table:
        """Return a row a class, of the parts that `groups` joins."""
        joined = matrices.to_host(np.stack([_joined(groups, *part) for part in parts]))  # features, parts, classes
        lists = {name: as_lists(joined[:, i].T) for i, name in enumerate(_PARTS)}
        return pa.table({"class": classes, "rows": rows, "weight": matrices.to_host(groups.weight), **lists})


def _joined(groups: Groups, sums: Any, means: Any, rests: Any, m2: Any) -> Any:
    """Return the four of each class from those of its parts, one below the other."""
    mean, rest, away = groups.means(means, rests)
    return np.stack([groups.sums(sums), mean, rest, groups.sums(m2 + groups.parts * (away * away))])
