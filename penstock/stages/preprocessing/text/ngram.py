"""Words joined with those after them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.frames.ragged import Ragged, with_lists
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.parameter_checks import in_range


@dataclass(frozen=True)
class NGram(ColumnStage):
    """Replaces each list of words by the list of every n words in a row, joined by spaces.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of lists of strings, such as :class:`Tokenizer` makes.
    n : int, default=2
        How many words are joined, 1 or more.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        `n` is not a whole number of 1 or more.
    SchemaError
        Before reading: a column is missing or not of lists of strings.

    Notes
    -----
    Of a list with fewer than n words comes an empty one, as in MLlib. A null stays null; an element that is null is
    left out before. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"words": [["the", "cat", "sat"], ["the"], None]}))
    >>> ps.Pipeline(st.NGram("words")).fit(data).transform(data).to_arrow()["words"].to_pylist()
    [['the cat', 'cat sat'], [], None]
    """

    _: KW_ONLY
    n: int = field(default=2, metadata=in_range(least=1, whole=True))

    tags: ClassVar[Tags] = Tags(accepts="string list")

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Join the words of all lists of a column in one call."""
        return with_lists(frame, {out: self._joined(Ragged.of(frame, name).known()) for name, out in self.pairs()})

    def _joined(self, lists: Ragged) -> Ragged:
        """Join as if all lists were one, and leave out what begins in one list and ends in the next."""
        count = max(len(lists.elements) - self.n + 1, 0)
        words = [lists.elements.slice(place, count) for place in range(self.n)]
        whole = lists.rows[:count] == lists.rows[len(lists.elements) - count :]
        joined = pc.binary_join_element_wise(*words, " ").filter(pa.array(whole))
        return lists.with_lengths(joined, np.maximum(lists.lengths - self.n + 1, 0))

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Join the words of one list."""
        n = self.n

        def joined(words: list[str | None] | None) -> list[str] | None:
            if words is None:
                return None
            known = [word for word in words if word is not None]
            return [" ".join(known[at : at + n]) for at in range(len(known) - n + 1)]

        return joined
