"""The evaluators of a model, as they are stored beside its stages: names of the library and plain parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from penstock.artefact.checks import demand, exact_keys, need
from penstock.artefact.layout import PIPELINE
from penstock.artefact.state import Encoder, decode_parameters
from penstock.core.errors import UnsupportedStepError, did_you_mean
from penstock.io.sinks import Json
from penstock.stages.evaluation.base import Evaluator, Evaluators
from penstock.stages.registry import discover_evaluators, find
from penstock.stages.stored_values import from_stored, stored_parameters

_MOST = 1000
"""Evaluators of one model; no pipeline comes near this."""


def is_stored(evaluator: Evaluator) -> bool:
    """Return whether a model can have an evaluator: one of the library, whose name alone tells its code."""
    return find(type(evaluator).__name__, Evaluator) is type(evaluator)


def encode_evaluators(evaluators: Evaluators) -> list[Json]:
    """Return evaluators as JSON.

    Raises
    ------
    UnsupportedStepError
        One is not of the library, or has a parameter that is no plain value.
    """
    if isinstance(evaluators, Mapping):
        return [{"name": name, **_encode(evaluator)} for name, evaluator in evaluators.items()]
    return [_encode(evaluator) for evaluator in evaluators]


def _encode(evaluator: Evaluator) -> dict[str, Json]:
    name = type(evaluator).__name__
    if not is_stored(evaluator):
        raise UnsupportedStepError(
            f"{name} is no evaluator of the library, and cannot be stored without storing code",
            hint="Pass it to evaluate(...) of the loaded model instead.",
            stage=name,
        )
    return {"evaluator": name, "parameters": Encoder(0, name).encode(stored_parameters(evaluator, name), "parameters")}


def decode_evaluators(listed: Any) -> Evaluators:
    """Return the evaluators that :func:`encode_evaluators` made a parsed document of.

    Raises
    ------
    UnsupportedStepError
        One is not known; nothing was imported.
    ArtifactError
        It is no such document, or an evaluator does not take its parameters.
    """
    demand(PIPELINE, lambda: _check(listed))
    kinds = [_lookup(entry["evaluator"]) for entry in listed]
    evaluators = [
        decode_parameters(kind.__name__, entry["parameters"], partial(from_stored, kind))
        for kind, entry in zip(kinds, listed, strict=True)
    ]
    names = [entry["name"] for entry in listed if "name" in entry]
    return dict(zip(names, evaluators, strict=True)) if names else tuple(evaluators)


def _check(listed: Any) -> None:
    need(isinstance(listed, list) and len(listed) <= _MOST, f"evaluators are no list of {_MOST} at most")
    for entry in listed:
        exact_keys(entry, {"evaluator", "parameters"}, "an evaluator", frozenset({"name"}))
        need(isinstance(entry["evaluator"], str), "an evaluator has no name")
        need(isinstance(entry["parameters"], dict), "parameters of an evaluator are no object")
    names = [entry["name"] for entry in listed if "name" in entry]
    need(len(names) in (0, len(listed)), "some evaluators have a name, and some have none")
    need(all(isinstance(name, str) for name in names), "the name of an evaluator is no text")
    need(len(set(names)) == len(names), "two evaluators have one name")


def _lookup(name: str) -> type[Evaluator]:
    kind = find(name, Evaluator)
    if kind is None:
        known = discover_evaluators()
        raise UnsupportedStepError(
            f"evaluator {name!r} is not known.{did_you_mean(name, known)} Known are: {', '.join(known)}", stage=name
        )
    return kind
