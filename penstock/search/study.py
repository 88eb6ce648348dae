"""The contract of a search: a space starts a study, a study hands out trials and is told what came of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from penstock.core.errors import check_one_of
from penstock.core.redaction import presentable
from penstock.pipeline.pipeline import Pipeline
from penstock.search.descriptions import describe

Direction = Literal["maximize", "minimize"]
State = Literal["complete", "failed", "pruned"]

DIRECTIONS = ("maximize", "minimize")
_STATES = ("complete", "failed", "pruned")


@dataclass(frozen=True)
class Trial:
    """One setting of the parameters of a pipeline, to be fitted and evaluated on every fold.

    Attributes
    ----------
    number : int
        From 0, in the order in which a study hands its trials out; the same after a restart.
    params : mapping of str to value
        What `Pipeline.with_params` takes. It is not for changing.
    fraction : float
        Of the rows of a training set, how many the trial is to learn from: above 0, 1.0 for all.
    """

    number: int
    params: Mapping[str, Any]
    fraction: float = 1.0

    def describe(self) -> dict[str, Any]:
        """Return the parameters as plain values: None, booleans, numbers, texts, and lists and dicts of them.

        A stage is the text that makes one, with the parameters that differ from their defaults.

        Examples
        --------
        >>> from penstock import stages as st
        >>> Trial(0, {"model": st.LinearRegression("y", reg_param=0.1), "clip.lower": 0}).describe()
        {'model': "LinearRegression(label='y', reg_param=0.1)", 'clip.lower': 0}
        """
        return {address: describe(value) for address, value in self.params.items()}


@dataclass(frozen=True)
class Outcome:
    """What came of a trial.

    Attributes
    ----------
    state : {"complete", "failed", "pruned"}
        Pruned is stopped before its end, as it did not look promising.
    value : float, optional
        The leading metric, over all folds; None where there is none, and such a trial loses to all that have one. NaN
        is taken for None.
    metrics : sequence of mapping of str to float or None
        Every metric, by fold.
    seconds : float
    reason : str, optional
        The error of a trial that failed, or why `value` is None. Secrets in it are hidden.

    Examples
    --------
    >>> Outcome("failed", reason="cannot read s3://me:hunter2@bucket/a").reason
    'cannot read s3://me:***@bucket/a'
    """

    state: State
    value: float | None = None
    metrics: Sequence[Mapping[str, float | None]] = field(default=())
    seconds: float = 0.0
    reason: str | None = None

    def __post_init__(self) -> None:
        check_one_of("state of an outcome", self.state, _STATES)
        if self.value is not None and math.isnan(self.value):
            object.__setattr__(self, "value", None)
        object.__setattr__(self, "metrics", tuple(self.metrics))
        object.__setattr__(self, "reason", self.reason and presentable(self.reason, keep="\n"))


class Study(Protocol):
    """A search under way: in memory, or in a storage from which it goes on after its process was killed.

    Its trials and their order depend on the space, the seed and the outcomes, and on nothing else. Methods may be
    called from several threads.
    """

    @property
    def n_trials(self) -> int:
        """How many trials there will be at most, those there are already among them."""

    @property
    def prunes(self) -> bool:
        """Whether trials may be stopped before their end, so that it pays to run them fold by fold."""

    @property
    def trials(self) -> Sequence[Trial]:
        """Every trial handed out so far, by number; after a restart those from before it too."""

    @property
    def outcomes(self) -> Mapping[int, Outcome]:
        """What came of them, by number."""

    def ask(self) -> list[Trial]:
        """Return the trials to run next, which are independent of each other; an empty list when the search is over.

        Trials that were handed out and not told are handed out again, by this process or one after it. So a batch is
        asked for once more where some of it was told, and is then the rest of it.

        Raises
        ------
        OutputError
            The study cannot be written to its storage, or another process has taken it over.
        """

    def tell(self, trial: Trial, outcome: Outcome) -> None:
        """Note what came of a trial.

        Raises
        ------
        ConfigError
            It was not handed out, or is told already.
        OutputError
            As `ask`.
        """

    def report(self, trial: Trial, step: int, value: float | None) -> None:
        """Note the leading metric of a trial that is under way, after a fold or a round; later steps are greater."""

    def should_prune(self, trial: Trial) -> bool:
        """Return whether to stop a trial at the last step that was reported; then tell that it is pruned.

        It is compared with trials of batches before its own: which trial of a batch is first does not matter.
        """

    def best(self) -> Trial | None:
        """Return the complete trial with the best value, the first of equal ones; None if none has a value.

        Trials that learned from fewer rows than others do not compete with those.
        """

    def close(self) -> None:
        """Let go of the storage, so that another study can open it; the end of the process does so too."""


class Space(Protocol):
    """What to search: parameters with their values, and how they are gone through."""

    def check(self, pipeline: Pipeline) -> None:
        """Raise ConfigError where the pipeline does not take what the space has; nothing is read.

        An unknown parameter, with the nearest name, or a value that a stage refuses. Of values on a list every one is
        tried, of a range its ends.
        """

    def start(
        self,
        fingerprint: Mapping[str, str],
        direction: Direction = "maximize",
        storage: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Study:
        """Return a new study, or the one in the storage to go on with.

        Parameters
        ----------
        fingerprint : mapping of str to str
            What a result depends on besides the space: pipeline, data, folds, metrics. By names that people read.
        direction : {"maximize", "minimize"}
            Which values are better.
        storage : str, optional
            Where to keep the study: a path, the URL of a database or of a store; without it, it ends with the process.
        storage_options : mapping, optional
            Passed to fsspec for a store. A space of one's own may lack it, and is given none then.

        Raises
        ------
        ConfigError
            The storage has a study of another space or fingerprint; tells which parts differ.
        OutputError
            The storage cannot be written, or another process is at this study.
        MissingExtraError
            Optuna is not installed, and the space or the storage needs it.
        """
