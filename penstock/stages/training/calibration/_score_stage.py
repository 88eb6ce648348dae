"""What stages share that learn from the scores of a classifier and the labels: what they read, and what it must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError
from penstock.core.known_classes import classes_of_scores
from penstock.core.schemas import require
from penstock.core.selectors import is_numeric
from penstock.frames import matrices
from penstock.stages.base import Stage, check_types, wrong_type
from penstock.stages.classes import Classes
from penstock.stages.parameter_checks import in_range, wrong_parameter
from penstock.stages.training._finite import refuse_infinite
from penstock.statistics.base import Statistic
from penstock.statistics.scores_by_class import MOST_CLASSES, ClassScores, ScoresByClass
from penstock.statistics.vectors import is_vector

_SCORES = "scores"


@dataclass(frozen=True)
class ScoreStage(Stage):
    """A stage that learns from a column of scores, a label of classes, and weights if there are any.

    Parameters
    ----------
    label : str
    weight : str, optional
    num_bins : int
        As of :class:`TiedSums`.
    """

    label: str
    _: KW_ONLY
    weight: str | None = None
    num_bins: int = field(default=0, metadata=in_range(least=0, whole=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_bins == 1:
            raise wrong_parameter(self, "num_bins", "0 for every distinct score, or at least 2")

    @property
    def score(self) -> str:
        """The column of scores."""
        raise NotImplementedError

    @property
    def target(self) -> Classes:
        """The classes of the label."""
        thresholds = getattr(self, "thresholds", None)
        return Classes(self.label, {}, self.weight, thresholds, self.title, self._most, self._hint, "a regression is")

    @property
    def _most(self) -> int:
        return MOST_CLASSES

    @property
    def _hint(self) -> str:
        return "very many are a regression."

    def bind(self, schema: pa.Schema) -> Self:
        weights = [] if self.weight is None else [self.weight]
        require(schema, [self.score, self.label, *weights], stage=self.title)
        kind = schema.field(self.score).type
        if not (is_numeric(kind) or (pa.types.is_list(kind) and is_numeric(kind.value_type))):
            raise wrong_type(self.title, self.score, kind, "scores: numbers, or lists of them")
        check_types(self, schema, tuple(weights))
        self.target.check(self, schema)
        if self.label in (self.score, *self.outputs()):
            raise ConfigError(
                f"label {self.label!r} is a column of scores or results too", column=self.label, stage=self.title
            )
        return self

    def inputs(self) -> tuple[str, ...]:
        return (self.score,)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the classes, and for what each has at which score."""
        weights = () if self.weight is None else (self.weight,)
        known = classes_of_scores(schema, self.score)
        scores = ScoresByClass((self.score, self.label, *weights), num_bins=self.num_bins, known=known)
        return {_SCORES: scores, **self.target.statistics()}

    def _learned(self, results: Mapping[str, Any]) -> tuple[pa.Table, ClassScores]:
        """Return the table of the classes, and their scores, of which there are as many as should be."""
        classes, scores = self.target.learn(results)["classes"], results[_SCORES]
        scores.check_classes(classes["value"].to_pylist(), self.label)
        return classes, scores

    def _scores(self, frame: nw.DataFrame, classes: int) -> Any:
        """Return the scores of a frame on its device, of shape (n_scores, n_rows): of two classes, that of the second.

        Raises
        ------
        DataValueError
            One is infinite; a list has not as many elements as there are classes.
        """
        if is_vector(frame, self.score):
            return self._elements(frame, classes)
        score = matrices.to_matrix(frame, (self.score,), "float64")
        refuse_infinite((self.score,), matrices.count_infinite(score), "float64")
        return score.T

    def _elements(self, frame: nw.DataFrame, classes: int) -> Any:
        lengths = matrices.list_lengths(frame, self.score)
        odd = np.flatnonzero((lengths != classes) & (lengths >= 0))
        if len(odd):
            raise DataValueError(
                f"column {self.score!r} has {len(odd)} list(s) that have not {classes} elements, as many as there are"
                f" classes, but {lengths[odd[0]]} say",
                column=self.score, predicate=nw.col(self.score).list.len() != classes, rows=len(odd),
            )  # fmt: skip
        scores = matrices.lists_to_matrix(frame, self.score, classes, "float64").T
        if bool(np.isinf(scores).any()):
            raise DataValueError(f"column {self.score!r} has lists with infinite elements", column=self.score)
        return scores[1:] if classes == 2 else scores

    def _row_score(self, value: float) -> np.ndarray:
        """Return the score of a row, a number, of shape (1, 1)."""
        score = np.array([[value]], dtype=np.float64)
        refuse_infinite((self.score,), matrices.count_infinite(score), "float64")
        return score
