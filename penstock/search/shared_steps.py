"""What trials have in common: equal stages that learn from the same are fitted once, and are one step of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from penstock.core.errors import PenstockError
from penstock.stages.base import Fitted, Stage
from penstock.stages.step import StageStep
from penstock.stages.vectors import over


class SharedSteps:
    """Remembers what stages learned, and the steps that they are, for all trials and folds of a search.

    What was learned goes by the identity of the results that it was learned from: those of a scan are there once for
    all that ask for them. Whatever is remembered is kept alive, so that no identity is given away twice.
    """

    def __init__(self) -> None:
        self._learned: dict[Any, list[tuple[Stage, Mapping[str, Any], Fitted | PenstockError]]] = {}
        self._steps: dict[Any, list[StageStep]] = {}
        self._pruned: dict[int, StageStep] = {}
        self._located: dict[int, tuple[PenstockError, PenstockError]] = {}

    def learn(self, stage: Stage, results: Mapping[str, Any]) -> Fitted:
        """Return what a stage learns from its statistics, learned once."""
        key = type(stage), tuple(sorted((name, id(result)) for name, result in results.items()))
        alike = self._learned.setdefault(key, [])
        learned = next((learned for other, _, learned in alike if other == stage), None)
        if learned is None:
            learned = _learned(stage, results)
            alike.append((stage, dict(results), learned))
        if isinstance(learned, PenstockError):
            raise learned
        return learned

    def located(self, error: PenstockError, locate: Callable[[PenstockError], PenstockError]) -> PenstockError:
        """Return an error with the place that `locate` finds by a scan, looked for once."""
        if id(error) not in self._located:
            self._located[id(error)] = error, locate(error)
        return self._located[id(error)][1]

    def step(self, step: StageStep) -> StageStep:
        """Return the one step that is used in place of all that do the same."""
        alike = self._steps.setdefault((id(step.fitted), step.training, step.name), [])
        for other in alike:
            if other.stage == step.stage:
                return other
        alike.append(step)
        return step

    def scoring_step(self, step: StageStep) -> StageStep:
        """Return the one step that scores as `step` does, with what a model keeps of what was learned."""
        step = self.step(step)
        if id(step) not in self._pruned:
            self._pruned[id(step)] = replace(step, fitted=step.pruned_state)
        return self._pruned[id(step)]


def _learned(stage: Stage, results: Mapping[str, Any]) -> Fitted | PenstockError:
    try:
        return over.finish(stage, results)
    except PenstockError as error:
        return error
