"""Spaces that are gone through by what Optuna proposes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.core.extras import importing
from penstock.pipeline.pipeline import Pipeline
from penstock.search.descriptions import label
from penstock.search.dimensions import Dimensions, read_space
from penstock.search.spaces import LoggedSpace, SpacePlan, check_seed, check_settings, check_size, ends

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler


@dataclass(frozen=True)
class OptunaSpace(LoggedSpace):
    """A space with a sampler: what `optuna_search` gives."""

    dimensions: Dimensions = field(repr=False)
    n_trials: int
    sampler: str | Callable[..., BaseSampler]
    pruner: str | BasePruner | None
    seed: int
    batch_size: int

    def __len__(self) -> int:
        return self.n_trials

    def check(self, pipeline: Pipeline) -> None:
        """Raise ConfigError for a value of a list, or an end of a range, that the pipeline does not take."""
        check_settings(pipeline, ends(self.dimensions))

    def plan(self, *, is_stored: bool) -> SpacePlan:
        """Return the way of proposing trials from what came of those before."""
        with importing("Optuna", "optuna"):
            from penstock.search.with_optuna.strategy import Judge, Sampled, make_pruner
        judge = Judge(make_pruner(self.pruner), self.dimensions)
        strategy = Sampled(self.dimensions, self.sampler, self.n_trials, self.batch_size, self.seed, judge)
        parts = {
            "strategy": "optuna",
            "seed": self.seed,
            "sampler": label(self.sampler),
            "pruner": label(self.pruner),
            "batch_size": self.batch_size,
        }
        return self.dimensions, strategy, parts


def optuna_search(
    space: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    n_trials: int,
    sampler: str | Callable[..., BaseSampler] = "tpe",
    pruner: str | BasePruner | None = None,
    seed: int = 0,
    batch_size: int = 4,
) -> OptunaSpace:
    """Return a space whose trials Optuna proposes from what came of those before.

    Parameters
    ----------
    space : mapping of str to distribution or sequence, or sequence of such mappings
        As for `random`. A distribution of scipy.stats is searched in its quantiles, so that where it has more values
        more are tried.
    n_trials : int
        How many at most; fewer where every setting of a space without ranges was tried. One that has the parameters of
        a trial before counts, and is not run again. A study that is over goes on with a greater number.
    sampler : {"tpe", "gp", "cmaes", "random"} or callable
        What proposes: Optuna's tree of Parzen estimators, Gaussian process, CMA-ES or random sampler; or what makes one
        of Optuna's samplers from ``seed=``: its class, or a ``functools.partial`` of it.
    pruner : {"median", "successive_halving", "hyperband"} or optuna.pruners.BasePruner, optional
        What says of a trial whether to stop it, compared with trials of earlier batches: `CrossValidator` then runs the
        trials of a batch on one fold after the other, and asks after each.
    seed : int
    batch_size : int
        How many trials are proposed and run together. Of those of a batch none is known to end when the others are
        proposed: greater batches share more work, and learn less.

    Raises
    ------
    ConfigError
        The space is empty; a number is no positive integer. When the search starts: the sampler or pruner is none.
    MissingExtraError
        When the search starts: Optuna, or what the sampler computes with, is not installed.

    Examples
    --------
    >>> from optuna.distributions import FloatDistribution
    >>> space = optuna_search({"x": FloatDistribution(-10, 10)}, n_trials=40, seed=3)
    >>> study = space.start({}, "minimize")
    >>> from penstock.search.study import Outcome
    >>> while batch := study.ask():
    ...     for trial in batch:
    ...         study.tell(trial, Outcome("complete", (trial.params["x"] - 2) ** 2))
    >>> abs(study.best().params["x"] - 2) < 0.5
    True
    """
    check_size("n_trials", n_trials)
    check_size("batch_size", batch_size)
    check_seed(seed)
    return OptunaSpace(read_space(space), n_trials, sampler, pruner, seed, batch_size)
