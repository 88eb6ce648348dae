"""Where the codes of a vocabulary begin, and those of null and of values that are not in it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.core.errors import ConfigError

_RESERVED = ("pad", "null", "unseen")


@dataclass(frozen=True)
class CodeLayout:
    """Codes from 0 on without a gap: those reserved in their order, the vocabulary, and what was not reserved.

    Parameters
    ----------
    size : int
        Number of values in the vocabulary.
    reserved : sequence of {"pad", "null", "unseen"}
        What has codes before the vocabulary; unseen values and null come after it otherwise, in this order.
    num_oov_buckets : int
        How many codes unseen values have.

    Examples
    --------
    >>> CodeLayout(10, (), 1).first, CodeLayout(10, (), 1).unseen, CodeLayout(10, (), 1).missing
    (0, 10, 11)
    >>> layout = CodeLayout(10, ("pad", "null", "unseen"), 5)
    >>> layout.missing, layout.unseen, layout.first
    (1, 2, 7)
    """

    size: int
    reserved: Sequence[str]
    num_oov_buckets: int

    def _begin(self, what: str) -> int:
        widths = {"pad": 1, "null": 1, "unseen": self.num_oov_buckets, "vocabulary": self.size}
        rest = [each for each in ("unseen", "null") if each not in self.reserved]
        order = [*self.reserved, "vocabulary", *rest]
        return sum(widths[each] for each in itertools.takewhile(lambda each: each != what, order))

    @property
    def first(self) -> int:
        """Code of the first value of the vocabulary."""
        return self._begin("vocabulary")

    @property
    def unseen(self) -> int:
        """First code of values that are not in the vocabulary."""
        return self._begin("unseen")

    @property
    def missing(self) -> int:
        """Code of null."""
        return self._begin("null")

    def codes(self, places: nw.Series, buckets: nw.Series | None) -> nw.Series:
        """Return the codes, int32.

        Parameters
        ----------
        places : narwhals.Series
            int32: the place in the vocabulary, `size` for a value that is not in it, `size` + 1 for null.
        buckets : narwhals.Series, optional
            int32: which of the codes of unseen values is a value's, where they have several.

        Examples
        --------
        >>> import polars as pl
        >>> places = nw.from_native(pl.Series([0, 2, 3], dtype=pl.Int32), series_only=True)
        >>> CodeLayout(2, ("pad",), 1).codes(places, None).to_list()
        [1, 3, 4]
        """
        frame = places.alias("place").to_frame()
        bucket = nw.lit(0)
        if buckets is not None:
            frame, bucket = frame.with_columns(buckets.alias("bucket")), nw.col("bucket")
        place = nw.col("place")
        beyond = nw.when(place == self.size).then(bucket + self.unseen).otherwise(nw.lit(self.missing))
        code = nw.when(place < self.size).then(place + self.first).otherwise(beyond)
        return frame.select(code.cast(nw.Int32).alias(places.name))[places.name]


def check_reserved(stage: Any) -> None:
    """Raise ConfigError unless ``reserved`` names what codes can be reserved for, each at most once."""
    reserved = stage.reserved
    if len(set(reserved)) < len(reserved) or not set(reserved) <= set(_RESERVED):
        raise ConfigError(
            f"reserved of {stage.title} is {reserved!r}, expected some of {', '.join(_RESERVED)}, each once",
            hint='For codes as NVTabular gives them: reserved=("pad", "null", "unseen").',
            stage=stage.title,
        )
