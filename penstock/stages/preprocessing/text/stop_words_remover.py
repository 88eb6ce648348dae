"""Words that say nothing, left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import ConfigError, MissingExtraError
from penstock.core.extras import how_to_install
from penstock.frames.ragged import Ragged, with_lists
from penstock.frames.text import lowered
from penstock.stages.base import ColumnStage, Fitted, Tags


@dataclass(frozen=True)
class StopWordsRemover(ColumnStage):
    """Leaves certain words out of each list of words.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of lists of strings, such as :class:`Tokenizer` makes.
    stop_words : sequence of str, optional
        The words to leave out. Without it, those of scikit-learn's English list (``ENGLISH_STOP_WORDS``, 318 words),
        which has to be installed where the pipeline is fitted; the model holds them. MLlib's English list is another.
    case_sensitive : bool, default=False
        Otherwise ``The`` is left out for ``the``.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        `stop_words` are not strings.
    MissingExtraError
        At fit, without `stop_words`: scikit-learn is not installed.
    SchemaError
        Before reading: a column is missing or not of lists of strings.

    Notes
    -----
    A null stays null, and an element that is null is left out. What is left is in its order. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"words": [["The", "cat", "sat"], ["the"], None]}))
    >>> model = ps.Pipeline(st.StopWordsRemover("words", stop_words=["the", "a"])).fit(data)
    >>> model.transform(data).to_arrow()["words"].to_pylist()
    [['cat', 'sat'], [], None]
    """

    _: KW_ONLY
    stop_words: tuple[str, ...] | None = None
    case_sensitive: bool = False

    tags: ClassVar[Tags] = Tags(accepts="string list")

    def __post_init__(self) -> None:
        super().__post_init__()
        words: Any = self.stop_words
        if words is None:
            return
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise ConfigError(
                f"stop_words of {self.title} are {words!r:.200}, expected a list of strings", stage=self.title
            )
        object.__setattr__(self, "stop_words", tuple(words))

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and the words where none are given."""
        bound = super().bind(schema)
        return bound if self.stop_words is not None else dataclasses.replace(bound, stop_words=_english(self.title))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Look up the words of each column in one call."""
        return with_lists(frame, {out: self._left(Ragged.of(frame, name).known()) for name, out in self.pairs()})

    def _left(self, lists: Ragged) -> Ragged:
        stop = pa.array(self._compared(list(self.stop_words or ())), pa.string())
        words, codes = lists.coded()
        compared = pa.array(self._compared(words.to_pylist()), pa.string())
        hits = pc.is_in(compared, stop).to_numpy(zero_copy_only=False).astype(bool)
        return lists.keep(~hits[codes])

    def _compared(self, words: list[str]) -> list[Any]:
        return words if self.case_sensitive else lowered(words)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Look up the words of one list."""
        stop = set(self._compared(list(self.stop_words or ())))

        def left(words: list[str | None] | None) -> list[str] | None:
            if words is None:
                return None
            known = [word for word in words if word is not None]
            return [word for word, same in zip(known, self._compared(known), strict=True) if same not in stop]

        return left


def _english(stage: str) -> tuple[str, ...]:
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    except ImportError as error:
        raise MissingExtraError(
            f"{stage} has no stop_words, and scikit-learn, which has a list of English ones, is not installed",
            hint=f"Pass stop_words=[...], or {how_to_install('sklearn')}.",
            stage=stage,
        ) from error
    return tuple(sorted(ENGLISH_STOP_WORDS))
