"""Words counted by their place in a vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_matrix

from penstock.core.errors import ConfigError, DataValueError
from penstock.frames import sparse
from penstock.frames.ragged import Ragged
from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.categories.vocabulary import values_of
from penstock.stages.preprocessing.text._vectors import Count, VectorStage
from penstock.stages.shapes import Fields, Shape, by_column, vocabulary
from penstock.statistics.base import Statistic
from penstock.statistics.distinct.elements import ElementCounts, Elements

_ALL = 2**63 - 1


@dataclass(frozen=True)
class CountVectorizer(VectorStage):
    """Adds a sparse vector of how often each word of a vocabulary is in a list.

    The vocabulary is that of the words at fit, those first that occur most often in all lists together; of words that
    occur equally often the smaller first, by UTF-8 bytes. A word is at the index of its place.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of lists of strings, such as :class:`Tokenizer` makes. Each has a vocabulary of its own.
    vocab_size : int, default=262144
        The first so many words are the vocabulary; the length of the vectors is at most that.
    vocabulary : sequence of str, optional
        The words in the order of their indices; nothing is learned then, and no data is read. It goes with none of
        `vocab_size`, `min_df` and `max_df`.
    min_df, max_df : float, default=1.0 and 2**63 - 1
        Words in fewer lists, or in more, are no part of it. From 1 on it is a number of lists, below 1 the share of
        them; so 1.0 is one list, as in MLlib, and not all of them, as in scikit-learn.
    min_tf : float, default=1.0
        Words that are in a list less often are left out of its vector. From 1 on it is a count, below 1 a share of all
        words of the list.
    binary : bool, default=False
        Every value is 1, however often a word is there.
    output_columns : sequence of str, optional
        Names for the vectors, one a column, instead of those of the columns. Each is a pair of columns,
        ``<name>_indices`` (list of int32) and ``<name>_values`` (list of float64), see `penstock.frames.sparse`.

    Raises
    ------
    ConfigError
        A parameter is out of range, or a column of a vector is there already.
    SchemaError
        Before reading: a column is missing or not of lists of strings.
    DataValueError
        At fit: a column has no word that is in as many lists as it should be.

    Notes
    -----
    The vector of a null is null; such rows, and elements that are null, count for nothing. A word that is not in the
    vocabulary has no index. Learned is ``vocabulary``, by column an Arrow table of ``value``, ``count`` and ``lists``,
    in its order.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"words": [["a", "b", "b"], ["c", "b"], None]}))
    >>> model = ps.Pipeline(st.CountVectorizer("words", vocab_size=2, output_columns=["tf"])).fit(data)
    >>> model.fitted[0]["vocabulary"]["words"]["value"].to_pylist()
    ['b', 'a']
    >>> model.transform(data).select("tf_indices", "tf_values").to_polars().rows()
    [([0, 1], [2.0, 1.0]), ([0], [1.0]), (None, None)]
    """

    _: KW_ONLY
    vocab_size: int = field(default=262_144, metadata=in_range(least=1, most=2**31 - 1, whole=True))
    min_df: float = field(default=1.0, metadata=in_range(least=0))
    max_df: float = field(default=_ALL, metadata=in_range(least=0))
    min_tf: float = field(default=1.0, metadata=in_range(least=0))
    binary: bool = False
    vocabulary: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.vocabulary is not None:
            self._check_vocabulary(self.vocabulary)
        if (self.min_df < 1) == (self.max_df < 1) and self.max_df < self.min_df:
            raise ConfigError(
                f"max_df of {self.title} is {self.max_df!r} and min_df {self.min_df!r}, expected no less than that",
                stage=self.title,
            )

    def _check_vocabulary(self, given: Sequence[str]) -> None:
        words = (given,) if isinstance(given, str) else tuple(given)
        if not words or len(set(words)) < len(words) or not all(isinstance(word, str) for word in words):
            raise ConfigError(
                f"vocabulary of {self.title} is {given!r:.200}, expected different words", stage=self.title
            )
        if (self.vocab_size, self.min_df, self.max_df) != (type(self).vocab_size, 1.0, _ALL):
            raise ConfigError(
                f"{self.title} has a vocabulary with vocab_size, min_df or max_df, which are for one that is learned",
                hint="Leave out the vocabulary, or the others.",
                stage=self.title,
            )
        object.__setattr__(self, "vocabulary", words)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask how often each word occurs, and in how many lists, unless a vocabulary is given."""
        if self.vocabulary is not None:
            return {}
        return {"words": ElementCounts(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``vocabulary`` of each column."""
        if self.vocabulary is not None:
            return {"vocabulary": dict.fromkeys(self.inputs(), pa.table({"value": list(self.vocabulary)}))}
        return {"vocabulary": {name: self._vocabulary(name, results["words"][name]) for name in self.inputs()}}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        words = vocabulary(pa.string(), count=pa.types.is_integer, lists=pa.types.is_integer)
        return Fields({"vocabulary": by_column(self.inputs(), words)})

    def _vocabulary(self, name: str, found: Elements) -> pa.Table:
        least, most = (share if share >= 1 else share * found.lists for share in (self.min_df, self.max_df))
        lists = found.table["lists"].to_numpy()
        kept = found.table.filter(pa.array((lists >= least) & (lists <= most))).slice(0, self.vocab_size)
        if not kept.num_rows:
            raise DataValueError(
                f"column {name!r} has no word that is in {least:g} to {most:g} lists; it has {found.lists} lists with"
                f" {len(lists)} different words",
                hint="Lower min_df, or raise max_df.",
                column=name,
            )
        return kept.combine_chunks()

    def vectors(self, name: str, lists: Ragged, fitted: Fitted) -> csr_matrix:
        """Look up each distinct word once."""
        vocabulary = values_of(fitted["vocabulary"][name])
        words, codes = lists.coded()
        places = pc.index_in(words, vocabulary).fill_null(-1).to_numpy()[codes]
        known = lists.keep(places >= 0)
        matrix = sparse.counts(places[places >= 0], known.offsets, len(vocabulary))
        return self._left(matrix, self._least(lists.lengths))

    def _least(self, lengths: Any) -> Any:
        """Return how often a word has to be in lists of these lengths."""
        return self.min_tf if self.min_tf >= 1 else self.min_tf * lengths

    def _left(self, matrix: csr_matrix, least: Any) -> csr_matrix:
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        kept = matrix.data >= np.broadcast_to(least, matrix.shape[0])[rows]
        ends = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=matrix.shape[0]))])
        values = np.ones(int(kept.sum())) if self.binary else matrix.data[kept]
        return csr_matrix((values, matrix.indices[kept], ends), shape=matrix.shape)

    def vector(self, name: str, fitted: Fitted) -> Count:
        """Look up the words of one list."""
        places = {word: place for place, word in enumerate(fitted["vocabulary"][name]["value"].to_pylist())}

        def count(words: list[str]) -> dict[int, float]:
            least, found = self._least(len(words)), Counter(words)
            kept = {places[word]: times for word, times in found.items() if word in places and times >= least}
            return {index: 1.0 if self.binary else float(times) for index, times in kept.items()}

        return count
