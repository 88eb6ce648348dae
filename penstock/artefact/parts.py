"""What a saved model consists of, as saving takes it and loading gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from penstock.artefact.statistics import Stored
from penstock.stages.base import Fitted, Stage
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.step import StageStep


@dataclass(frozen=True)
class ModelParts:
    """The parts of a model that was read: all that a `PipelineModel` is made of.

    Attributes
    ----------
    stages : tuple of Stage
        Bound to the columns they were fitted on.
    fitted : tuple of mapping
        What each learned.
    schema : pyarrow.Schema
        The columns it was fitted on.
    given_names : tuple of str or None
        The names that the user gave stages.
    evaluators : tuple of Evaluator, or mapping of name to Evaluator
    statistics : mapping of (int, str) to (str, state)
        Those that it keeps, if any.
    profile : plain values, or None
        That of the rows that later ones are compared with.
    """

    stages: tuple[Stage, ...]
    fitted: tuple[Fitted, ...]
    schema: pa.Schema
    given_names: tuple[str | None, ...]
    evaluators: Evaluators
    statistics: Stored
    profile: Any = None


class LearnedModel(Protocol):
    """What can be saved, and has a digest: a `PipelineModel`."""

    @property
    def stages(self) -> tuple[Stage, ...]: ...
    @property
    def fitted(self) -> tuple[Fitted, ...]: ...
    @property
    def schema(self) -> pa.Schema: ...
    @property
    def given_names(self) -> tuple[str | None, ...]: ...
    @property
    def evaluators(self) -> Evaluators: ...
    @property
    def steps(self) -> Sequence[StageStep]: ...
    @property
    def report(self) -> Any: ...
    @property
    def statistics(self) -> Any: ...
    @property
    def profile(self) -> Any: ...
