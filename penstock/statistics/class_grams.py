"""How columns vary together, class by class: what discriminant analysis learns from, in one scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.statistics.base import State
from penstock.statistics.fourth_moments import FourthMoments
from penstock.statistics.gram import CrossProducts, Gram
from penstock.statistics.labels import categories, refuse_more, without_minus_zero
from penstock.statistics.of_classes import OfClasses
from penstock.statistics.rules import ColumnRules, add_counts, refuse, rules_for

_CELLS = 2**27
"""Products of all classes together, of which a state holds half: 512 MB."""


@dataclass(frozen=True, eq=False)
class ProductsByClass:
    """The :class:`~penstock.statistics.CrossProducts` of the rows of each class that has a row of a weight above 0.

    Parameters
    ----------
    classes : pyarrow.Array
        Ascending, in the type of the label; strings are ordered by their UTF-8 bytes.
    products : tuple of CrossProducts
        One a class; of `FourthMoments` where these were asked for.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = ClassGrams(("label", "x"))
    >>> frame = frames.from_arrow(pa.table({"label": ["b", "a", "b"], "x": [1.0, 5.0, 3.0]}))
    >>> found = statistic.finish(statistic.summarise(frame))
    >>> found.classes.to_pylist(), found.means.tolist(), found.shares.round(3).tolist()
    (['a', 'b'], [[5.0], [2.0]], [0.333, 0.667])
    """

    classes: pa.Array
    products: tuple[CrossProducts, ...]

    @property
    def rows(self) -> list[int]:
        """Rows of each class, those of weight 0 left out."""
        return [each.count for each in self.products]

    @property
    def means(self) -> np.ndarray:
        """Of shape (n_classes, n_features)."""
        return np.stack([each.mean for each in self.products])

    @property
    def shares(self) -> np.ndarray:
        """The share of each class in the weight."""
        weight = np.array([each.weight for each in self.products])
        return weight / weight.sum()


@dataclass(frozen=True)
class ClassGrams(OfClasses):
    """A :class:`~penstock.statistics.Gram` of each class; the state grows with classes times columns squared.

    Parameters
    ----------
    columns : tuple of str
        The label, the features, and the weight (0 or more) if it is `weighted`; without it every row weighs 1. Labels
        are integers, booleans, strings, or floating numbers without a fraction. A row of weight 0 is as if absent.
    weighted : bool, default False
    fourth : bool, default False
        Gather `FourthMoments` of each class.
    limit : int, default 1000
        The most classes; fewer where there are many features.

    Raises
    ------
    ConfigError
        `columns` has too few names.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = ClassGrams(("label", "x", "w"), weighted=True)
    >>> frame = frames.from_arrow(pa.table({"label": [1, 1], "x": [2.0, 6.0], "w": [3.0, 1.0]}))
    >>> (found,) = statistic.finish(statistic.summarise(frame)).products
    >>> found.weight, found.mean.tolist(), found.cross.tolist()
    (4.0, [3.0], [[12.0]])
    """

    fourth: bool = False
    limit: int = 1000

    @cached_property
    def _gram(self) -> Gram:
        return (FourthMoments if self.fourth else Gram)(self.columns[1:], weighted=self.weighted)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the products of the valid rows of one partition by class, and how many rows break which rule.

        Raises
        ------
        DataValueError
            There are more classes than the limit; so does `merge`.
        """
        rows, invalid = self._counting_rows(frame)
        classes = without_minus_zero(categories(rows.select(nw.col(self.label).unique()), self.label)).unique()
        self._refuse_more(len(classes))
        of_each = (rows.filter(nw.col(self.label) == value) for value in classes.to_pylist())
        return self._state(invalid, classes, [self._gram.summarise(each) for each in of_each])

    def merge(self, states: Sequence[State]) -> State:
        """Join class by class."""
        parts: dict[Any, list[State]] = {}
        for state in states:
            for value, gram in zip(_values(state).to_pylist(), state["grams"], strict=True):
                parts.setdefault(value, []).append(gram)
        self._refuse_more(len(parts))
        classes = pa.array(list(parts), _values(states[0]).type)
        invalid = add_counts([state["invalid"] for state in states])
        return self._state(invalid, classes, [self._gram.merge(each) for each in parts.values()])

    def finish(self, state: State) -> ProductsByClass:
        """Return the products, classes in ascending order.

        Raises
        ------
        DataValueError
            A label is null, infinite or has a fraction; a feature is null, infinite or larger than 1e150; a weight is
            null, infinite, negative or larger than 1e150. It names the column and the count, and its ``predicate`` is
            true for the bad rows.
        """
        classes = _values(state)
        refuse(self._checks(pa.types.is_floating(classes.type)), state["invalid"])
        places = pa.compute.sort_indices(classes)
        products = tuple(self._gram.finish(state["grams"][place]) for place in places.to_pylist())
        return ProductsByClass(classes.take(places), products)

    def _checks(self, floating: bool) -> ColumnRules:
        of_label = ("null", "infinite", "not_whole") if floating else ("null",)
        numbers = [rules_for([name], "null", "infinite", "too_large") for name in self.columns[1:]]
        negative = rules_for(self.columns[-1:], "negative") if self.weighted else ()
        return [*rules_for([self.label], *of_label), *(rule for each in numbers for rule in each), *negative]

    def _refuse_more(self, classes: int) -> None:
        limit = max(min(self.limit, _CELLS // len(self._gram.numbers) ** 2), 2)
        hint = "Join classes that are too many, or take fewer features: there are products of all, for each class."
        refuse_more(self.label, classes, limit, "distinct values", " classes", hint)

    def _state(self, invalid: Sequence[int], classes: pa.Array, grams: Sequence[State]) -> Mapping[str, Any]:
        return {"invalid": list(invalid), "classes": pa.table({"class": classes}), "grams": list(grams)}


def _values(state: State) -> pa.Array:
    return state["classes"]["class"].combine_chunks()
