"""A fitted stage on its way over the rows of a dataset."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import PenstockError
from penstock.dataset.steps import RowLog, Step
from penstock.frames import ROW
from penstock.stages.base import Fitted, Stage


@dataclass(frozen=True)
class StageStep(Step):
    """A fitted stage as a step of a dataset.

    Parameters
    ----------
    stage : Stage
    fitted : mapping or None
        None for a step that is planned with, and never applied.
    position : int
        Of the stage in its pipeline.
    training : bool
        The rows are those that the stage has learned from, on their way to stages that are still to be fitted.
    name : str or None
        That the user gave to the stage; plans and errors have it.
    """

    stage: Stage
    fitted: Fitted | None = dataclasses.field(compare=False)
    position: int
    training: bool = False
    name: str | None = None

    @property
    def keeps_rows(self) -> bool:  # type: ignore[override]
        return self.stage.tags.keeps_rows

    @property
    def label(self) -> str:
        return self.stage.title if self.name is None else f"{self.name} ({self.stage.title})"

    def blamed(self, error: PenstockError) -> PenstockError:
        """Return an error of the stage with the name that the user gave to it, if any; one of another as it is."""
        if self.name is None or error.stage not in (None, self.stage.title):
            return error
        named = error.at(stage=self.name)
        named.place["stage"] = self.name
        return named

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        if self.fitted is None:
            return self.stage.output_schema(schema)
        return self.stage.learned_schema(schema, self.fitted)

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        made = frozenset(self.stage.outputs())
        if self.keeps_rows and not made & wanted:
            return None
        numbered = {ROW} if self.stage.tags.numbers_rows else set()
        inputs = self.stage.training_inputs() if self.training else self.stage.inputs()
        return (wanted - made) | frozenset(inputs) | numbered

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        assert self.fitted is not None, f"{self.label} is used before it is fitted"
        try:
            if self.keeps_rows:
                transform = self.stage.transform_training if self.training else self.stage.transform
                return transform(frame, self.fitted)
            return self.stage.filter(frame, self.fitted, log)
        except PenstockError as error:
            raise self.blamed(error) from error.__cause__
