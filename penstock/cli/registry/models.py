"""What is in a registry, what is known of a model, and what two of them do not have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from penstock.artefact.registry.document import ModelVersion, RegistryDocument
from penstock.artefact.registry.reference import find_reference
from penstock.artefact.registry.registry import ModelRegistry, locate
from penstock.artefact.registry.saved_model import SavedModel
from penstock.cli.registry.requests import DiffModelsRequest, ListModelsRequest, ShowModelRequest
from penstock.cli.registry.results import DiffModelsResult, ListModelsResult, ShowModelResult
from penstock.core.errors import MissingInputError
from penstock.core.progress import Progress

_COMPARED = ("digest", "manifest", "created_utc", "parent", "lineage", "metrics", "columns", "stages", "versions")


def list_models(request: ListModelsRequest, progress: Progress | None = None) -> ListModelsResult:
    """List the versions of a registry, with aliases and metrics.

    Raises
    ------
    MissingInputError
        There is no registry.
    """
    document = ModelRegistry(request.registry).read()
    if not document.versions:
        raise MissingInputError(f"{request.registry} is no registry of models", path=request.registry)
    ordered = sorted(document.versions.values(), key=lambda each: (each.created_utc, each.version))
    return ListModelsResult(registry=request.registry, models=[_listed(each, document) for each in ordered])


def show_model(request: ShowModelRequest, progress: Progress | None = None) -> ShowModelResult:
    """Say what is known of a model: stages, columns, metrics, lineage, and what a registry records of it.

    Raises
    ------
    InputError, ArtifactError
        There is no such model, or it is damaged.
    """
    saved = SavedModel.read(locate(request.model))
    report = saved.report()
    reference = find_reference(request.model)
    document = RegistryDocument() if reference is None else ModelRegistry(reference.registry).read()
    version = document.versions.get(saved.digest)
    promotions = [
        {"alias": alias, **asdict(each)}
        for alias, history in document.aliases.items()
        for each in history
        if each.version == saved.digest
    ]
    return ShowModelResult(
        model=request.model,
        path=saved.location,
        digest=saved.digest,
        manifest=saved.manifest,
        created_utc=saved.contents.manifest.created_utc,
        aliases=document.aliases_of(saved.digest),
        parent=version.parent if version else None,
        promotions=promotions,
        lineage=report.get("lineage") or {},
        metrics=report.get("metrics") or {},
        columns=saved.columns(),
        stages=saved.stages(),
        versions=report.get("versions") or {},
    )


def diff_models(request: DiffModelsRequest, progress: Progress | None = None) -> DiffModelsResult:
    """Say what two models do not have in common: parameters, columns, metrics, lineage, libraries.

    Raises
    ------
    InputError, ArtifactError
        There is no such model, or it is damaged.
    """
    shown = (show_model(ShowModelRequest(model=each)) for each in (request.one, request.other))
    one, other = (dict(_facts(asdict(each))) for each in shown)
    differences = [
        {"what": what, "one": one.get(what), "other": other.get(what)}
        for what in dict.fromkeys([*one, *other])
        if one.get(what) != other.get(what)
    ]
    same = one["digest"] == other["digest"]
    return DiffModelsResult(one=request.one, other=request.other, same=same, differences=differences)


def _listed(version: ModelVersion, document: RegistryDocument) -> dict[str, Any]:
    known = {name: getattr(version, name) for name in ("created_utc", "metrics", "parent", "source", "lineage")}
    return {"version": version.version, "aliases": document.aliases_of(version.version), **known}


def _facts(shown: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in _COMPARED:
        yield from _leaves(name, shown[name])


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a value, or those of a mapping by their path."""
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _leaves(f"{name}.{inner}", each)
    else:
        yield name, value
