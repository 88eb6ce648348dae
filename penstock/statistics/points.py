"""Points that belong to clusters: reading them from columns of numbers or a column of lists, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import and_, or_
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError, check_one_of
from penstock.frames import matrices
from penstock.statistics.aggregates import device_numbers
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.rules import LARGE, ColumnRules, Rule, add_counts, refuse, rules_for, valid_rows
from penstock.statistics.vectors import elements, is_vector

DISTANCES = ("squaredEuclidean", "cosine")
_WHOLE = 2**53


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of a weight above 0, where their frame is: arrays of NumPy, or of CuPy.

    Parameters
    ----------
    cluster : array of shape (n_rows,), int64
    vectors : array of shape (n_rows, n_features), float64
        Of length 1 where the distance is the cosine one: then half of the squared distance of two is theirs.
    weight : array of shape (n_rows,), float64

    Examples
    --------
    >>> Points(np.array([7]), np.array([[0.5, 1.0]]), np.array([1.0])).vectors.shape
    (1, 2)
    """

    cluster: Any
    vectors: Any
    weight: Any


@dataclass(frozen=True)
class PointStatistic(Statistic):
    """A statistic of points and the clusters that they belong to.

    Parameters
    ----------
    columns : tuple of str
        The cluster (whole numbers); the features, which are columns of numbers or one column of lists of one length;
        and the weight (0 or more) if it is `weighted`, otherwise every row weighs 1.
    weighted : bool, default False
    distance_measure : {"squaredEuclidean", "cosine"}

    Raises
    ------
    ConfigError
        `columns` has too few names, or the distance is not known.
    """

    weighted: bool = False
    distance_measure: str = "squaredEuclidean"

    def __post_init__(self) -> None:
        if len(self.columns) < 2 + self.weighted:
            expected = "(prediction, feature, ..., weight)" if self.weighted else "(prediction, feature, ...)"
            raise ConfigError(f"columns are {self.columns!r}, expected {expected}")
        check_distance(self.distance_measure)

    @property
    def prediction(self) -> str:
        """The column of clusters."""
        return self.columns[0]

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of numbers, or the one of lists."""
        return self.columns[1:-1] if self.weighted else self.columns[1:]

    def points(self, frame: nw.DataFrame[Any]) -> tuple[Points, State]:
        """Return the valid rows of a weight above 0, and what is to be said of the others."""
        lists = is_vector(frame, self.features[0])
        rows, counts = valid_rows(frame, self._checks(lists))
        vectors, lengths = self._vectors(rows, lists)
        # Of columns the rules have looked at every number.
        every_one = np.ones_like(vectors, dtype=bool, shape=(len(vectors),))  # CuPy takes a shape of 0 for none given
        usable = (np.abs(vectors) <= LARGE).all(axis=1) if lists else every_one
        directed = vectors.any(axis=1) if self.distance_measure == "cosine" else every_one
        invalid = {
            "counts": counts,
            "lists": lists,
            "lengths": lengths,
            "elements": int(np.count_nonzero(~usable)),
            "zeros": int(np.count_nonzero(~directed)),
        }
        if not len(vectors):
            rows = rows.head(0)  # lists of several lengths are no matrix
        cluster = device_numbers(rows, self.prediction)
        weight = device_numbers(rows, self.columns[-1]) if self.weighted else np.ones_like(cluster)
        cluster = cluster.astype(np.int64)
        chosen = usable & directed & (weight > 0)
        if not chosen.all():
            cluster, vectors, weight = cluster[chosen], vectors[chosen], weight[chosen]
        return Points(cluster, self._scaled(vectors), weight), invalid

    def merge_invalid(self, states: Sequence[State]) -> State:
        """Join what :meth:`points` said of several partitions."""
        lengths = partial(frames.sum_by_key, keys=["length"])
        return merge_fields(states, counts=add_counts, lists=any, lengths=lengths, elements=sum, zeros=sum)

    def refuse_invalid(self, invalid: State) -> None:
        """Raise DataValueError for what is wrong with some rows; its ``predicate`` is true for them."""
        refuse(self._checks(invalid["lists"]), invalid["counts"])
        errors = [self._unequal(invalid["lengths"]), self._unusable(invalid), self._undirected(invalid)]
        for error in errors:
            if error is not None:
                raise error

    def _checks(self, lists: bool) -> ColumnRules:
        whole = (Rule("null"), Rule("not_between", (-_WHOLE, _WHOLE)), Rule("not_whole"))
        tests = ("null",) if lists else ("null", "infinite", "too_large")
        of_features = [(name, Rule(test)) for name in self.features for test in tests]
        of_weight = rules_for(self.columns[-1:] if self.weighted else (), "null", "too_large", "negative")
        return [*((self.prediction, rule) for rule in whole), *of_features, *of_weight]

    def _vectors(self, rows: nw.DataFrame[Any], lists: bool) -> tuple[Any, pa.Table]:
        """Return the vectors, none where lists are not of one length, and how many lists there are of each length."""
        if not lists:
            return matrices.to_matrix(rows, self.features, "float64"), _lengths(np.empty(0, np.int64))
        values, counts = elements(rows, self.features[0])
        lengths = _lengths(counts)
        if len(lengths) != 1 or not lengths["length"][0].as_py():
            return matrices.empty((0, 0), frames.kind_of(rows)), lengths
        return values.reshape(len(rows), -1), lengths

    def _scaled(self, vectors: Any) -> Any:
        if self.distance_measure != "cosine" or not len(vectors):
            return vectors
        moderate = vectors / np.abs(vectors).max(axis=1, keepdims=True)  # whose squares cannot vanish
        return moderate / np.sqrt(np.einsum("ij,ij->i", moderate, moderate))[:, None]

    def _unequal(self, lengths: pa.Table) -> DataValueError | None:
        found = dict(zip(lengths["length"].to_pylist(), lengths["count"].to_pylist(), strict=True))
        length = nw.col(self.features[0]).list.len()
        if empty := found.pop(0, 0):
            return self._error(f"has {empty} lists that are empty, expected lists of numbers", length == 0)
        if len(found) < 2:
            return None
        usual = max(found, key=lambda each: (found[each], -each))
        other = sum(found.values()) - found[usual]
        return self._error(f"has {other} lists that are not of length {usual}, as most are", length != usual)

    def _unusable(self, invalid: State) -> DataValueError | None:
        if not invalid["elements"]:
            return None
        broken = [~(each.abs() <= LARGE).fill_null(False) for each in self._elements(invalid)]
        found = f"has {invalid['elements']} lists with elements that are null, NaN or larger than 1e150 (or infinite)"
        return self._error(f"{found}, expected numbers", reduce(or_, broken))

    def _undirected(self, invalid: State) -> DataValueError | None:
        if not invalid["zeros"]:
            return None
        found = f"has {invalid['zeros']} vectors of nothing but 0, expected a direction: the distance is the cosine one"
        return self._error(found, reduce(and_, [each == 0 for each in self._elements(invalid)]))

    def _elements(self, invalid: State) -> list[nw.Expr]:
        if not invalid["lists"]:
            return [nw.col(name).cast(nw.Float64) for name in self.features]
        lists = nw.col(self.features[0]).cast(nw.List(nw.Float64)).list
        return [lists.get(place) for place in range(invalid["lengths"]["length"][0].as_py())]

    def _error(self, found: str, predicate: nw.Expr) -> DataValueError:
        single = len(self.features) == 1
        subject = f"column {self.features[0]!r}" if single else f"columns {', '.join(map(repr, self.features))}:"
        return DataValueError(
            f"{subject} {found}",
            hint="Clean, fill or filter these rows before this step.",
            column=self.features[0] if single else None,
            predicate=predicate,
        )


def check_distance(distance_measure: str) -> None:
    """Raise ConfigError unless the distance is known."""
    check_one_of("distance_measure", distance_measure, DISTANCES)


def _lengths(lengths: Any) -> pa.Table:
    found, counts = map(matrices.to_host, np.unique(lengths.astype(np.int64), return_counts=True))
    return pa.table({"length": found, "count": counts})
