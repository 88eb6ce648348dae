"""What trials are measured by, and on which rows."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock.core.errors import ConfigError, check_one_of, did_you_mean
from penstock.dataset.dataset import Dataset
from penstock.dataset.folds.blocks import Dealer
from penstock.dataset.folds.dealers import ByShare
from penstock.dataset.folds.folds import BlockSplit, Folds
from penstock.dataset.folds.splits import HINT, level
from penstock.dataset.folds.stratified import stratified
from penstock.dataset.steps import check_numbered
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.evaluation.shared_scan import named_evaluators


@dataclass(frozen=True)
class LeadingMetric:
    """The metric that trials are compared by, and of every metric whether larger values are better."""

    name: str
    larger_better: Mapping[str, bool]

    @classmethod
    def of(cls, evaluators: Evaluators, name: str | None) -> LeadingMetric:
        """Return the metric called `name`, or the first one; ConfigError where no evaluator has it."""
        prefixed = isinstance(evaluators, Mapping)
        larger_better = {
            f"{member}.{metric}" if prefixed else metric: evaluator.is_larger_better(metric)
            for member, evaluator in named_evaluators(evaluators).items()
            for metric in evaluator.names
        }
        if name is not None and name not in larger_better:
            raise ConfigError(
                f"metric is {name!r}, which no evaluator reports.{did_you_mean(name, larger_better)}",
                hint=f"They report {', '.join(larger_better)}.",
            )
        return cls(name or next(iter(larger_better)), larger_better)

    @property
    def is_larger_better(self) -> bool:
        """Whether larger values are better."""
        return self.larger_better[self.name]


def check_folds(folds: object) -> None:
    """Refuse what `as_folds` makes no folds of, whatever the dataset."""
    if isinstance(folds, Mapping):
        known = list(inspect.signature(Dataset.folds).parameters)[1:]
        for name in folds:
            check_one_of("parameter of folds", name, known)
    elif not isinstance(folds, Folds | int) or isinstance(folds, bool):
        raise ConfigError(f"folds is {folds!r:.100}, expected a number, or the parameters of Dataset.folds")


def as_folds(dataset: Dataset, folds: int | Mapping[str, Any] | Folds) -> Folds:
    """Return the folds of a dataset: as many as a number says, or as the parameters of `Dataset.folds` say.

    Raises
    ------
    ConfigError
        They are the folds of another dataset, or none at all.
    """
    check_folds(folds)
    if isinstance(folds, Folds):
        if folds.dataset != dataset:
            raise ConfigError(
                "the folds are of another dataset than the one to fit", hint="Pass data.folds(...) of this one."
            )
        return folds
    if isinstance(folds, Mapping):
        return dataset.folds(**folds)
    return dataset.folds(folds)


def train_and_validation(dataset: Dataset, train_ratio: float, seed: int, stratify: str | None = None) -> Folds:
    """Return the only fold of a split: the rows that ``dataset.split([train_ratio, 1 - train_ratio])`` has."""
    return Folds(dataset, _dealer(dataset, train_ratio, seed, stratify), (BlockSplit((0,), (1,)),))


def _dealer(dataset: Dataset, train_ratio: float, seed: int, stratify: str | None) -> Dealer:
    if stratify is None:
        return ByShare(train_ratio, seed, len(dataset.reader.samples))
    check_numbered(dataset.steps, "split", HINT)
    weights = [Fraction(train_ratio), Fraction(1 - train_ratio)]
    shares = [weight / sum(weights) for weight in weights]
    return stratified(dataset, stratify, level(dataset, seed), lambda rows: shares, "split")
