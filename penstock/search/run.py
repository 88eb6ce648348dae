"""A search under way: batches of trials from a study, their outcomes told to it, the best refitted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ConfigError, PenstockError, SchemaError, TuningError
from penstock.dataset.folds.folds import Folds
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.reuse import held_meanwhile
from penstock.search.descriptions import label
from penstock.search.fingerprints import fingerprint
from penstock.search.search_result import SearchResult
from penstock.search.study import Direction, Outcome, Study, Trial
from penstock.search.thinning import thinned
from penstock.search.trials import FoldScores, Watchers, refit, run_trials, watching

if TYPE_CHECKING:
    from penstock.search.cross_validator import CrossValidator


@dataclass
class SearchRun:
    """One run of a search over some folds."""

    search: CrossValidator
    folds: Folds
    watchers: dict[int, Watchers] = field(default_factory=dict)

    def result(self) -> SearchResult:
        """Run all trials that have not been run, and return what came of all.

        What is read of files is held meanwhile, as there is room: every trial needs it again.
        """
        leading = self.search.leading
        with closing(self.start(self.search.study)) as study, held_meanwhile(self.folds.dataset) as dataset:
            self.folds = replace(self.folds, dataset=dataset)
            self._run_all(study)
            best = study.best()
            if best is None:
                raise _nothing_found(study, leading.name)
            model = self._refitted(best) if self.search.refit else None
        return SearchResult(study.trials, study.outcomes, leading.name, leading.larger_better, best, model)

    def _run_all(self, study: Study) -> None:
        progress, began, before = self.folds.dataset.engine.progress, time.monotonic(), len(study.outcomes)
        try:
            while batch := study.ask():
                self._run(study, batch)
                done, left = len(study.outcomes), study.n_trials - len(study.outcomes)
                seconds = (time.monotonic() - began) / max(done - before, 1) * left
                progress.info(f"{done} of {study.n_trials} trials: {self._so_far(study)}; about {seconds:.0f} s left")
        except KeyboardInterrupt:
            progress.note(f"the search was stopped: {self._so_far(study)}")
            raise

    def start(self, storage: str | Path | None) -> Study:
        """Return the study that says what to try."""
        search = self.search
        parts = fingerprint(search.pipeline, self.folds, search.evaluators, search.leading.name)
        direction: Direction = "maximize" if search.leading.is_larger_better else "minimize"
        if storage is None or search.storage_options is None:
            return search.space.start(parts, direction, None if storage is None else str(storage))
        return search.space.start(parts, direction, str(storage), search.storage_options)

    def _run(self, study: Study, batch: Sequence[Trial]) -> None:
        """Run a batch, the trials that learn from as many rows side by side."""
        for fraction in dict.fromkeys(trial.fraction for trial in batch):
            trials = [trial for trial in batch if trial.fraction == fraction]
            folds = thinned(self.folds, fraction)
            if study.prunes:
                self._run_fold_by_fold(study, trials, folds)
                continue
            scores = self._scores(trials, folds)
            for trial in trials:
                self._tell(study, trial, scores[trial.number])

    def _run_fold_by_fold(self, study: Study, trials: Sequence[Trial], folds: Folds) -> None:
        """Run trials side by side on one fold after the other, without those that failed or do not look promising."""
        scores = {trial.number: FoldScores() for trial in trials}
        for number, split in enumerate(folds.splits):
            of_fold = self._scores(trials, replace(folds, splits=(split,)))
            for trial in trials:
                scores[trial.number] = scores[trial.number].beside(of_fold[trial.number])
                study.report(trial, number, scores[trial.number].mean(self.search.leading.name))
            is_last = number + 1 == len(folds)
            ended = [trial for trial in trials if is_last or scores[trial.number].error is not None]
            pruned = [trial for trial in trials if trial not in ended and study.should_prune(trial)]
            for trial in (*ended, *pruned):
                self._tell(study, trial, scores[trial.number], pruned=trial in pruned)
            trials = [trial for trial in trials if trial not in (*ended, *pruned)]
            if not trials:
                return

    def _tell(self, study: Study, trial: Trial, scores: FoldScores, *, pruned: bool = False) -> None:
        outcome = self._outcome(scores)
        study.tell(trial, replace(outcome, state="pruned", value=None) if pruned else outcome)
        self.watchers |= {trial.number: scores.watchers} if scores.watchers else {}
        if scores.error is not None and self.search.on_error == "raise":
            raise scores.error

    def _scores(self, trials: Sequence[Trial], folds: Folds) -> dict[int, FoldScores]:
        """Return what became of each trial; raise the error where none of the first batch can even be planned."""
        search, (pipelines, refused) = self.search, self.pipelines(trials)
        try:
            scores = run_trials(
                pipelines, folds, search.evaluators, search.options, search.parallelism, refit=search.refit
            )
        except (SchemaError, ConfigError) as error:
            if trials[0].number == 0:
                raise
            scores = {number: FoldScores(error=error) for number in pipelines}
        return scores | refused

    def pipelines(self, trials: Sequence[Trial]) -> tuple[dict[int, Pipeline], dict[int, FoldScores]]:
        """Return the pipelines by trial, and those that the parameters do not fit as failed."""
        pipelines: dict[int, Pipeline] = {}
        refused: dict[int, FoldScores] = {}
        for trial in trials:
            try:
                pipelines[trial.number] = self.search.pipeline.with_params(trial.params)
            except PenstockError as error:
                refused[trial.number] = FoldScores(error=error)
        return pipelines, refused

    def _outcome(self, scores: FoldScores) -> Outcome:
        metrics = [dict(evaluation) for evaluation in scores.evaluations]
        if scores.error is not None:
            return Outcome("failed", metrics=metrics, seconds=scores.train_seconds, reason=_shown(scores.error))
        metric = self.search.leading.name
        reasons = (evaluation.reasons.get(metric) for evaluation in scores.evaluations)
        reason = next((f"{metric} is undefined: {reason}" for reason in reasons if reason), None)
        return Outcome("complete", scores.mean(metric), metrics, scores.train_seconds, reason)

    def _refitted(self, best: Trial) -> PipelineModel:
        pipeline = self.search.pipeline.with_params(best.params)
        watches = best.number not in self.watchers and watching(pipeline.plan(self.folds.dataset))
        if watches:  # of a trial that an earlier process ran, it is not known what it learned
            scores = run_trials({best.number: pipeline}, thinned(self.folds, best.fraction), self.search.evaluators)
            self.watchers[best.number] = scores[best.number].watchers
        return refit(pipeline, self.watchers.get(best.number, {}), self.folds.dataset, self.search.options)

    def _so_far(self, study: Study) -> str:
        """Return the best of the trials that are done, in words."""
        best = study.best()
        if best is None:
            return f"none of {len(study.outcomes)} has a value"
        value = study.outcomes[best.number].value
        return f"the best has {self.search.leading.name} {value:.6g} with {label(best.describe())}"


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _nothing_found(study: Study, metric: str) -> TuningError:
    """Return the error of a search without a result; all its trials failed, or have no value."""
    if not study.outcomes:
        return TuningError("the search has no trial")
    number, outcome = min(study.outcomes.items())
    trial: Any = study.trials[number]
    return TuningError(
        f"none of {len(study.outcomes)} trials came to a value of {metric}; trial {number}, {label(trial.describe())}:"
        f" {outcome.reason}",
        hint="Fit the pipeline with these parameters by itself to see more.",
    )
