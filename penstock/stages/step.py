"""A fitted stage on its way over the rows of a dataset."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, PenstockError
from penstock.core.known_classes import with_classes
from penstock.dataset.steps import RowLog, Step
from penstock.frames import ROW
from penstock.stages.base import Fitted, Stage
from penstock.stages.capabilities import (
    ColumnChooser,
    DatasetStage,
    RowFilter,
    SchemaLearner,
    StatePruner,
    TrainingTransformer,
    WrapsStage,
)
from penstock.stages.classes import classes_of
from penstock.stages.vectors import over

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

Capability = TypeVar("Capability")


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
    def is_lazy(self) -> bool:
        """Whether it takes lazy frames too."""
        return self.stage.tags.lazy and over.SIZES not in (self.fitted or {})

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

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that are read of rows; the stage is bound."""
        encoder = capability(self.stage, TrainingTransformer) if self.training else None
        return self.stage.inputs() if encoder is None else encoder.training_inputs()

    @property
    def doubtful(self) -> tuple[str, ...]:
        """The columns that are left as they are, or out; the stage is bound."""
        chooser = capability(self.stage, ColumnChooser)
        return () if chooser is None else chooser.doubtful()

    @property
    def left_out(self) -> Mapping[str, str]:
        """The columns that are left out, each with the reason in words."""
        chooser = capability(self.stage, ColumnChooser)
        return {} if chooser is None else chooser.left_out(self.fitted or {})

    @property
    def pruned_state(self) -> Fitted:
        """What a model keeps of what was learned."""
        pruner = capability(self.stage, StatePruner)
        if self.fitted is None or pruner is None:
            return self.fitted or {}
        return pruner.kept(self.fitted)

    def on(self, dataset: Dataset) -> Step:
        whole = capability(self.stage, DatasetStage)
        if whole is None or self.fitted is None:
            return self
        try:
            return whole.step_on(dataset, self.fitted)
        except PenstockError as error:
            raise self.blamed(error) from error.__cause__

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns and types after the stage; of scores the classes are noted, see `classes_of_scores`."""
        learner = capability(self.stage, SchemaLearner)
        if self.fitted is None or learner is None:
            made = over.output_schema(self.stage, schema)
        else:
            made = learner.learned_schema(schema, self.fitted)
        scores, classes = self._scores
        return made if classes is None else with_classes(made, scores, classes)

    @property
    def _scores(self) -> tuple[list[str], tuple[Any, ...] | None]:
        """The columns of scores by class, and the classes: none before these are learned, None where there are not."""
        inner = getattr(self.stage, "stage", self.stage)
        named = [name for role in ("raw_prediction", "probability") if (name := getattr(inner, role, None)) is not None]
        if not named or not isinstance(getattr(inner, "label", None), str):
            return [], None
        if not (scores := [name for name in named if name in self.stage.outputs()]):
            return [], None
        return scores, () if self.fitted is None else classes_of(_inner(self.stage, self.fitted)[1])

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        made = frozenset(self.stage.outputs())
        if self.keeps_rows and not made & wanted:
            return None
        numbered = {ROW} if self.stage.tags.numbers_rows else set()
        return (wanted - made) | frozenset(self.inputs) | numbered

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        assert self.fitted is not None, f"{self.label} is used before it is fitted"
        try:
            return self._transformed(frame, self.fitted, log)
        except PenstockError as error:
            raise self.blamed(error) from error.__cause__

    def _transformed(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        if not self.keeps_rows and (row_filter := capability(self.stage, RowFilter)) is not None:
            return row_filter.filter(frame, fitted, log)
        if self.training and (encoder := capability(self.stage, TrainingTransformer)) is not None:
            return encoder.transform_training(frame, fitted)
        return over.transform(self.stage, frame, fitted)


def model_file_inputs(stage: Stage, fitted: Fitted) -> tuple[str, ...]:
    """Return the columns that the model files of a fitted stage are of."""
    return over.over_elements(*_inner(stage, fitted))[0].inputs()


def _inner(stage: Stage, fitted: Fitted) -> tuple[Stage, Fitted]:
    """Return a stage and what it has learned; of one that wraps another, the other."""
    wrapper = capability(stage, WrapsStage)
    return (stage, fitted) if wrapper is None else wrapper.wrapped(fitted)


def capability(stage: Stage, kind: Callable[..., Capability]) -> Capability | None:
    """Return `stage` as what has a capability, None where it has none of its methods.

    Raises
    ------
    ConfigError
        It has some of the methods: they would never be called.

    Examples
    --------
    >>> from penstock.stages import Log1p, PSISelector
    >>> capability(PSISelector("x", split="day", cut_off=1), ColumnChooser).left_out({"psi": {}})
    {}
    >>> capability(Log1p("x"), ColumnChooser) is None
    True
    """
    return cast(Capability, stage) if _has(type(stage), kind) else None


@cache  # asked for every partition, and a class does not change
def _has(kind: type[Stage], contract: Any) -> bool:
    methods = [name for name in vars(contract) if not name.startswith("_")]
    missing = [name for name in methods if not hasattr(kind, name)]
    if missing and missing != methods:
        present = ", ".join(name for name in methods if name not in missing)
        raise ConfigError(
            f"{kind.__name__} has {present}, but not {', '.join(missing)}",
            hint=f"Define {', '.join(missing)}; see penstock.stages.capabilities.{contract.__name__}.",
            stage=kind.__name__,
        )
    return not missing
