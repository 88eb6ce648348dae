"""Words counted by their hashes."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from penstock.frames import sparse
from penstock.frames.hashing import bucket, murmur3_array, murmur3_text
from penstock.frames.ragged import Ragged
from penstock.stages.base import Fitted, Tags
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.text._vectors import Count, VectorStage


@dataclass(frozen=True)
class HashingTF(VectorStage):
    """Adds a sparse vector of how often each word is in a list, at the index that the word's hash gives it.

    Words that share an index are counted together; the more features, the fewer do. The index is MLlib's: MurmurHash3
    (x86, 32 bit, seed 42) of the UTF-8 bytes, as a signed number, modulo `num_features`, never negative.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of lists of strings, such as :class:`Tokenizer` makes.
    num_features : int, default=262144
        The length of the vectors, up to 2**31 - 1.
    binary : bool, default=False
        Every value is 1, however often a word is there.
    output_columns : sequence of str, optional
        Names for the vectors, one a column, instead of those of the columns. Each is a pair of columns,
        ``<name>_indices`` (list of int32) and ``<name>_values`` (list of float64), see `penstock.frames.sparse`.

    Raises
    ------
    ConfigError
        `num_features` is out of range, or a column of a vector is there already.
    SchemaError
        Before reading: a column is missing or not of lists of strings.

    Notes
    -----
    The vector of a null is null; an element that is null is left out. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"words": [["a", "b", "a"], [], None]}))
    >>> hashed = st.HashingTF("words", num_features=1000, output_columns=["tf"])
    >>> ps.Pipeline(hashed).fit(data).transform(data).select("tf_indices", "tf_values").to_polars().rows()
    [([165, 467], [1.0, 2.0]), ([], []), (None, None)]
    """

    _: KW_ONLY
    num_features: int = field(default=262_144, metadata=in_range(least=1, most=2**31 - 1, whole=True))
    binary: bool = False

    tags: ClassVar[Tags] = Tags(accepts="string list", hashes=True)

    def vectors(self, name: str, lists: Ragged, fitted: Fitted) -> csr_matrix:
        """Hash each distinct word once."""
        words, codes = lists.coded()
        places = bucket(murmur3_array(words).to_numpy().astype(np.int64), self.num_features)
        matrix = sparse.counts(places[codes], lists.offsets, self.num_features)
        if self.binary:
            matrix.data[:] = 1.0
        return matrix

    def vector(self, name: str, fitted: Fitted) -> Count:
        """Hash the words of one list."""

        def count(words: list[str]) -> dict[int, float]:
            found = Counter(bucket(murmur3_text(word), self.num_features) for word in words)
            return {index: 1.0 if self.binary else float(times) for index, times in found.items()}

        return count
