"""Predictions of every row by the model that was not trained on it, as a step of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.known_classes import classes_of_scores, with_classes
from penstock.core.names import BLOCK, PARTITION
from penstock.core.schemas import with_fields
from penstock.dataset.dataset import Dataset
from penstock.dataset.folds.blocks import rows_in
from penstock.dataset.folds.folds import Folds
from penstock.dataset.steps import RowLog, Step, output_schema, prune, run
from penstock.frames import matrices
from penstock.stages.step import StageStep
from penstock.stages.target import null_where

_PLACE = PARTITION  # a name that no column has


@dataclass(frozen=True, eq=False)
class ScoreOutOfFold(Step):
    """Scores the rows of some blocks by one model, those of others by another; rows stay in their order.

    Parameters
    ----------
    models : tuple of (tuple of int, tuple of Step)
        For each the blocks whose rows it scores, and its stages, with what aligns its scores.
    """

    models: tuple[tuple[tuple[int, ...], tuple[Step, ...]], ...]
    keeps_rows = False

    @property
    def label(self) -> str:
        return f"score out of fold by {len(self.models)} models"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of scored rows.

        Raises
        ------
        ConfigError
            The models do not give the same columns, as where a selector chose others on another fold.
        """
        first, *others = (output_schema(steps, schema) for _, steps in self.models)
        for number, other in enumerate(others, start=1):
            if other != first:
                different = sorted({field.name for field in set(first) ^ set(other)})
                raise ConfigError(
                    f"the models of folds 0 and {number} give different columns: {', '.join(different)}",
                    hint="Select columns before, or take the models of the folds one by one.",
                )
        return first

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        stages = [step.stage for _, steps in self.models for step in steps if isinstance(step, StageStep)]
        made = {name for stage in stages for name in stage.outputs()}
        of_models = [prune(steps, tuple(wanted | made))[1] for _, steps in self.models]
        return frozenset([BLOCK]).union(*of_models)

    def apply(self, frame: nw.DataFrame[Any], log: RowLog) -> nw.DataFrame[Any]:
        numbered = frame.with_row_index(_PLACE)
        parts = [run(steps, rows_in(numbered, blocks), log) for blocks, steps in self.models]
        scored = frames.concat(parts).sort(_PLACE).drop(_PLACE)
        log.read -= len(frame) - sum(len(rows_in(frame, blocks)) for blocks, _ in self.models)
        return scored


@dataclass(frozen=True)
class AlignScores(Step):
    """Puts the scores of the classes that a model knows among those of all models, by value.

    The probability of a class that it has not seen is 0; margins are null, as that has none.

    Parameters
    ----------
    column : str
    known, every : tuple
        The classes of the model, and those of all models; of one more than two at least.
    is_margin : bool
    """

    column: str
    known: tuple[Any, ...]
    every: tuple[Any, ...]
    is_margin: bool

    label = "align scores by class"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with lists of the scores of all classes."""
        return with_classes(with_fields(schema, {self.column: pa.list_(pa.float64())}), [self.column], self.every)

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return wanted if self.column in wanted else None

    def apply(self, frame: nw.DataFrame[Any], log: RowLog) -> nw.DataFrame[Any]:
        if len(self.known) == 2:
            second = matrices.to_matrix(frame, [self.column], "float64")
            scores = np.concatenate([1 - second, second], axis=1)
        else:
            scores = matrices.lists_to_matrix(frame, self.column, len(self.known), "float64")
        aligned = np.zeros((len(frame), len(self.every)), like=scores)
        aligned[:, [self.every.index(each) for each in self.known]] = scores
        missing = np.isnan(scores).any(axis=1) | self.is_margin
        return frame.with_columns(null_where(frame, matrices.column(frame, self.column, aligned), missing))


def _aligned(models: Sequence[Sequence[StageStep]], schema: pa.Schema) -> list[tuple[Step, ...]]:
    """Return the steps of models so that their scores are of the same classes."""
    made = [output_schema(steps, schema) for steps in models]
    columns = [name for name in made[0].names if all(classes_of_scores(each, name) for each in made)]
    known = [{name: classes_of_scores(each, name) or () for name in columns} for each in made]
    every = {name: tuple(sorted({value for each in known for value in each[name]})) for name in columns}
    margins = {getattr(step.stage, "raw_prediction", None) for steps in models for step in steps}
    return [
        (*steps, *(AlignScores(name, of[name], every[name], name in margins) for name in of if of[name] != every[name]))
        for steps, of in zip(models, known, strict=True)
    ]


def score_out_of_fold(folds: Folds, models: Sequence[Sequence[StageStep]]) -> Dataset:
    """Return the rows that any fold validates with, each scored by the stages that were fitted without it.

    Where folds have learned different classes, scores are aligned by class, see `AlignScores`.

    Raises
    ------
    ConfigError
        A row is in the validation rows of several folds, as of `Dataset.folds` it never is.
    """
    blocks = [block for split in folds.splits for block in split.validation]
    if len(set(blocks)) < len(blocks):
        raise ConfigError("some rows are validated with by several folds, so that they have several predictions")
    aligned = _aligned(models, folds.dealt.schema)
    of_folds = tuple((split.validation, steps) for split, steps in zip(folds.splits, aligned, strict=True))
    dataset = folds.dealt.with_step(ScoreOutOfFold(of_folds))
    output_schema(dataset.steps, dataset.reader.source.schema)
    return dataset
