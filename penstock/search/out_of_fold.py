"""Predictions of every row by the model that was not trained on it, as a step of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.names import BLOCK, PARTITION
from penstock.dataset.dataset import Dataset
from penstock.dataset.folds.blocks import rows_in
from penstock.dataset.folds.folds import Folds
from penstock.dataset.steps import RowLog, Step, output_schema, prune, run
from penstock.stages.step import StageStep

_PLACE = PARTITION  # a name that no column has


@dataclass(frozen=True, eq=False)
class ScoreOutOfFold(Step):
    """Scores the rows of some blocks by one model, those of others by another; rows stay in their order.

    Parameters
    ----------
    models : tuple of (tuple of int, tuple of StageStep)
        For each the blocks whose rows it scores, and its stages.
    """

    models: tuple[tuple[tuple[int, ...], tuple[StageStep, ...]], ...]
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
        made = {name for _, steps in self.models for step in steps for name in step.stage.outputs()}
        of_models = [prune(steps, tuple(wanted | made))[1] for _, steps in self.models]
        return frozenset([BLOCK]).union(*of_models)

    def apply(self, frame: nw.DataFrame[Any], log: RowLog) -> nw.DataFrame[Any]:
        numbered = frame.with_row_index(_PLACE)
        parts = [run(steps, rows_in(numbered, blocks), log) for blocks, steps in self.models]
        scored = frames.concat(parts).sort(_PLACE).drop(_PLACE)
        log.read -= len(frame) - sum(len(rows_in(frame, blocks)) for blocks, _ in self.models)
        return scored


def score_out_of_fold(folds: Folds, models: Sequence[Sequence[StageStep]]) -> Dataset:
    """Return the rows that any fold validates with, each scored by the stages that were fitted without it.

    Raises
    ------
    ConfigError
        A row is in the validation rows of several folds, as of `Dataset.folds` it never is.
    """
    blocks = [block for split in folds.splits for block in split.validation]
    if len(set(blocks)) < len(blocks):
        raise ConfigError("some rows are validated with by several folds, so that they have several predictions")
    of_folds = tuple((split.validation, tuple(steps)) for split, steps in zip(folds.splits, models, strict=True))
    dataset = folds.dealt.with_step(ScoreOutOfFold(of_folds))
    output_schema(dataset.steps, dataset.reader.source.schema)
    return dataset
