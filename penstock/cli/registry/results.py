"""What jobs of a registry tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.cli.results import JobResult

Metrics = Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class PromoteResult(JobResult):
    """How a challenger did against the champion.

    Attributes
    ----------
    model, digest : str
        Of the challenger, where it was saved.
    promoted : bool
        Whether this run made it the champion; else nothing has changed.
    reason : str
        Why, in words.
    champion : str
        The alias.
    replaced : str or None
        The digest that the alias stood for before the decision; None where there was no champion.
    manifest : str or None
        ``sha256:...`` of the champion's copy in the registry after the decision, which ``expect`` takes.
    metric : str
    is_larger_better : bool
    gain : float or None
        By how much the challenger is better; None without a champion.
    min_gain : float
    metrics, champion_metrics : mapping of str to float or None
        Of challenger and champion on the same rows.
    rows : int
        How many they were evaluated on.
    run_id : str
    """

    promoted: bool
    reason: str
    champion: str
    replaced: str | None
    manifest: str | None
    metric: str
    is_larger_better: bool
    gain: float | None
    min_gain: float
    metrics: Metrics
    champion_metrics: Metrics
    rows: int
    run_id: str


@dataclass(frozen=True, kw_only=True)
class ListModelsResult:
    """Versions of a registry, the latest last, with their aliases and the fields of `ModelVersion`."""

    registry: str
    models: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class ShowModelResult:
    """What is known of a model.

    Attributes
    ----------
    model : str
        As it was named; ``path`` is where it lies.
    digest, manifest : str
        ``sha256:...`` of what was learned, and of the saved copy.
    aliases : sequence of str
        Of its registry, those that stand for it; ``promotions`` are all that ever made it stand for one.
    columns : mapping of str to str
        That it was fitted on.
    stages : mapping of str to mapping
        Their parameters, by place and name.
    metrics : mapping of str to float or None
        Of rows held out at its fit.
    """

    model: str
    path: str
    digest: str
    manifest: str
    created_utc: str
    aliases: Sequence[str]
    parent: str | None
    promotions: Sequence[Mapping[str, Any]]
    lineage: Mapping[str, Any]
    metrics: Metrics
    columns: Mapping[str, str]
    stages: Mapping[str, Mapping[str, Any]]
    versions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class DiffModelsResult:
    """What two models do not have in common; None is what one of them lacks."""

    one: str
    other: str
    same: bool
    differences: Sequence[Mapping[str, Any]]
