"""A search as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.core.errors import MissingExtraError
from penstock.core.extras import importing
from penstock.report.page import render_sections
from penstock.report.sections import Section, split
from penstock.report.trials.sections import search_sections
from penstock.report.trials.trial_rows import TrialRow, TrialRows
from penstock.search.search_result import SearchResult
from penstock.search.study import Outcome, Trial
from penstock.stages.evaluation.result import Evaluation


def render_search(
    result: SearchResult,
    *,
    title: str = "Search",
    details: Mapping[str, Any] | None = None,
    held_out: Evaluation | None = None,
) -> str:
    """Return the page of a search, and of an evaluation of its best model on rows that no trial saw."""
    trials = trial_rows(result)
    facts = {"Metric": result.metric, "Best": _best(trials), "Trials": len(trials.rows)}
    sections = [*search_sections(trials), *_held_out(held_out)]
    return render_sections("Search", sections, title=title, details={**facts, **(details or {})})


def trial_rows(result: SearchResult) -> TrialRows:
    """Return the trials of a search as figures take them; those that were not run are left out."""
    fractions = {trial.number: trial.fraction for trial in result.trials}
    most = max((fractions[each] for each, outcome in result.outcomes.items() if outcome.value is not None), default=1.0)
    rows = [
        _row(trial, result.outcomes[trial.number], result.metric, competes=trial.fraction == most)
        for trial in result.trials
        if trial.number in result.outcomes
    ]
    return TrialRows(result.metric, result.larger_better[result.metric], rows, _importances(result))


def _row(trial: Trial, outcome: Outcome, metric: str, *, competes: bool) -> TrialRow:
    folds = [metrics.get(metric) for metrics in outcome.metrics]
    return TrialRow(
        trial.number,
        trial.describe(),
        outcome.state,
        outcome.value if outcome.state == "complete" else None,
        folds,
        outcome.reason,
        outcome.seconds,
        competes,
    )


def _importances(result: SearchResult) -> dict[str, float]:
    """Return the importance of parameters by functional ANOVA; none where it cannot be computed here."""
    try:
        with importing("Optuna", "optuna"):
            from penstock.search.with_optuna.results import param_importances
        direction = "maximize" if result.larger_better[result.metric] else "minimize"
        return param_importances(result.trials, result.outcomes, direction)  # type: ignore[arg-type]
    except MissingExtraError:
        return {}


def _best(trials: TrialRows) -> str:
    best = trials.ranked[0] if trials.ranked else None
    return "none" if best is None else f"{best.value:.6g}, trial {best.number}"


def _held_out(evaluation: Evaluation | None) -> Sequence[Section]:
    sections = [] if not evaluation else split(evaluation)
    return [
        replace(each, title="Rows held out" if len(sections) == 1 else f"Rows held out: {each.title}")
        for each in sections
    ]
