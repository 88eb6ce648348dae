"""How the rows were distributed that a model is compared with: plain numbers, saved with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.errors import ArtifactError, ArtifactVersionError
from penstock.pipeline.drift.counting import Bins, ColumnCounts, counts_from_state, counts_to_state

VERSION = 1
PATH = "profile.json"
INPUT, SCORE, LABEL = "input", "score", "label"
ROLES = (INPUT, SCORE, LABEL)

Slice = tuple[Hashable, ...]
"""The values of the columns of a slice."""


@dataclass(frozen=True)
class MetricValues:
    """Metrics with the standard error that each has, as a bootstrap says; None without one."""

    values: Mapping[str, float | None]
    errors: Mapping[str, float | None]


@dataclass(frozen=True, eq=False)
class RoleProfile:
    """What is known of the inputs of a model, of its scores, or of its labels.

    Attributes
    ----------
    bins : Bins
    counts : mapping of str to ColumnCounts
    slices : mapping of tuple of str to mapping of tuple to mapping of str to ColumnCounts
        By the columns of a slicing and the values of a slice.
    """

    bins: Bins
    counts: Mapping[str, ColumnCounts]
    slices: Mapping[tuple[str, ...], Mapping[Slice, Mapping[str, ColumnCounts]]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """What a model keeps of the rows that later ones are compared with.

    Attributes
    ----------
    rows : int
    roles : mapping of str to RoleProfile
        ``"input"``, ``"score"`` and ``"label"``.
    metrics : MetricValues or None

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, None, 3.0]}))
    >>> ps.Pipeline(st.Imputer("x")).fit(data, keep_profile=True).profile
    Profile(rows=3, input: x, score: x)
    """

    rows: int
    roles: Mapping[str, RoleProfile]
    metrics: MetricValues | None = None

    def __repr__(self) -> str:
        told = [f"{role}: {', '.join(part.counts)}" for role, part in self.roles.items() if part.counts]
        return f"Profile(rows={self.rows}, {', '.join(told)})"

    @property
    def slicings(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each slicing."""
        return tuple(dict.fromkeys(by for part in self.roles.values() for by in part.slices))

    def to_state(self) -> dict[str, Any]:
        """Return plain values, as they are stored."""
        metrics = None if self.metrics is None else {name: dict(each) for name, each in vars(self.metrics).items()}
        roles = {role: _role_state(part) for role, part in self.roles.items()}
        return {"version": VERSION, "rows": self.rows, "roles": roles, "metrics": metrics}

    @classmethod
    def from_state(cls, state: Any) -> Profile:
        """Return the profile that `to_state` made a state of.

        Raises
        ------
        ArtifactVersionError
            It is of another version.
        ArtifactError
            It is no such state.
        """
        version = state.get("version") if isinstance(state, dict) else None
        if version != VERSION:
            raise ArtifactVersionError(
                f"the profile of the model is of version {version!r}, and this library reads version {VERSION}",
                hint="Make it again: model.with_profile(dataset).save(path).",
                path=PATH,
            )
        try:
            roles = {role: _role_of(part) for role, part in state["roles"].items() if role in ROLES}
            metrics = None if state["metrics"] is None else MetricValues(**state["metrics"])
            return cls(int(state["rows"]), roles, metrics)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArtifactError(f"{PATH} is no profile of a model: {error!r:.200}", path=PATH) from error


def _role_state(part: RoleProfile) -> dict[str, Any]:
    bins = {"edges": _lists(part.bins.edges), "values": _lists(part.bins.values), "plain": list(part.bins.plain)}
    slices = [
        {"by": list(by), "slices": [{"key": list(key), "counts": _states(each)} for key, each in found.items()]}
        for by, found in part.slices.items()
    ]
    return {"bins": bins, "counts": _states(part.counts), "slices": slices}


def _lists(columns: Mapping[str, tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in columns.items()}


def _states(counts: Mapping[str, ColumnCounts]) -> dict[str, Any]:
    return {name: counts_to_state(each) for name, each in counts.items()}


def _role_of(state: Any) -> RoleProfile:
    named = state["bins"]
    edges = {name: _checked(values, _is_edge) for name, values in named["edges"].items()}
    values = {name: _checked(texts, _is_text) for name, texts in named["values"].items()}
    bins = Bins(edges, values, _checked(named["plain"], _is_text))
    cells = {name: len(each) + 1 for name, each in edges.items()} | {name: len(each) for name, each in values.items()}

    def counts(states: Mapping[str, Any]) -> dict[str, ColumnCounts]:
        return {name: counts_from_state(each, cells.get(name, 0)) for name, each in states.items()}

    slices = {
        tuple(each["by"]): {tuple(found["key"]): counts(found["counts"]) for found in each["slices"]}
        for each in state["slices"]
    }
    return RoleProfile(bins, counts(state["counts"]), slices)


def _checked(values: Any, suits: Callable[[Any], bool]) -> tuple[Any, ...]:
    for value in values:
        if not suits(value):
            raise ValueError(f"{value!r:.40} is neither an edge nor a value")
    if len(set(values)) != len(values) or (values and suits is _is_edge and list(values) != sorted(values)):
        raise ValueError("edges or values are not in order, or there twice")
    return tuple(values)


def _is_edge(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
