"""What a registry records: ``registry.json``, read as strictly as a model is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from penstock.artefact.checks import demand, exact_keys, need
from penstock.artefact.layout import JSON_LIMIT
from penstock.artefact.registry.reference import ALIAS, DIGEST
from penstock.core.checks import Shape, check_shapes, is_number, is_objects
from penstock.core.errors import ArtifactError, ArtifactVersionError, ConfigError, did_you_mean
from penstock.io.sinks import Json, encode_json, read_json

FORMAT = "penstock/registry"
FORMAT_VERSION = 1

Metrics = Mapping[str, float | None]
_Record = TypeVar("_Record", "ModelVersion", "Promotion")


@dataclass(frozen=True, kw_only=True)
class ModelVersion:
    """A model of a registry, which never changes.

    Attributes
    ----------
    version : str
        Its digest, ``sha256:...``: what was learned. Fitted again to the same, it is the same version.
    manifest : str
        ``sha256:...`` of the copy in the registry, which ``expect`` takes.
    source : str
        Where it was copied from.
    created_utc : str
        When it was registered.
    metrics : mapping of str to float or None
        Of the rows held out when it was fitted; empty where there were none.
    lineage : mapping
        Of a fit by a job: ``pipeline``, ``parameters``, ``data`` as named, and its ``files``, ``bytes`` and ``rows``.
        Empty for a model that was saved from Python.
    parent : str or None
        The version that the alias it was made for stood for.
    """

    version: str
    manifest: str
    source: str
    created_utc: str
    metrics: Metrics = field(default_factory=dict)
    lineage: Mapping[str, Any] = field(default_factory=dict)
    parent: str | None = None


@dataclass(frozen=True, kw_only=True)
class Promotion:
    """Why an alias stands for a version.

    Attributes
    ----------
    version : str
    since_utc : str
    run_id : str
        The run that decided it; a second try of that run decides nothing anew.
    replaced : str or None
        The version before.
    metric : str or None
        What they were compared by; None where the alias was just set.
    gain, min_gain : float or None
        By how much it was better, and by how much it had to be. There is no gain over nothing.
    metrics, replaced_metrics : mapping of str to float or None
        Of both on the same rows.
    data : sequence of str
        Where these rows were, as named.
    rows : int or None
    """

    version: str
    since_utc: str
    run_id: str
    replaced: str | None = None
    metric: str | None = None
    gain: float | None = None
    min_gain: float | None = None
    metrics: Metrics = field(default_factory=dict)
    replaced_metrics: Metrics = field(default_factory=dict)
    data: tuple[str, ...] = ()
    rows: int | None = None


@dataclass(frozen=True)
class RegistryDocument:
    """All versions by digest, and of every alias the promotions, the latest last."""

    versions: Mapping[str, ModelVersion] = field(default_factory=dict)
    aliases: Mapping[str, tuple[Promotion, ...]] = field(default_factory=dict)

    def current(self, alias: str) -> Promotion | None:
        """Return what an alias stands for; None if it was never set."""
        return self.aliases[alias][-1] if alias in self.aliases else None

    def aliases_of(self, version: str) -> list[str]:
        """Return the aliases that stand for a version."""
        return sorted(alias for alias, history in self.aliases.items() if history[-1].version == version)

    def find(self, name: str, registry: str) -> ModelVersion:
        """Return the version of an alias, or of the beginning of a digest; ConfigError if there is none, or several."""
        if name in self.aliases:
            return self.versions[self.aliases[name][-1].version]
        begin = [each for digest, each in self.versions.items() if ":" in name and digest.startswith(name)]
        if len(begin) != 1:
            known = [*sorted(self.aliases), *self.versions]
            what = f"{len(begin)} versions that begin so" if begin else f"no {name!r}.{did_you_mean(name, known)}"
            raise ConfigError(f"{registry} has {what}", hint=f"Look: penstock models list {registry}", path=registry)
        return begin[0]

    def with_version(self, version: ModelVersion) -> RegistryDocument:
        """Return it with a version; of one that it has, only the copy may be a new one."""
        known = self.versions.get(version.version)
        kept = version if known is None else replace(known, manifest=version.manifest)
        return replace(self, versions={**self.versions, version.version: kept})

    def with_promotion(self, alias: str, promotion: Promotion) -> RegistryDocument:
        """Return it with an alias that stands for another version."""
        return replace(self, aliases={**self.aliases, alias: (*self.aliases.get(alias, ()), promotion)})

    def encode(self) -> bytes:
        """Return the bytes of the document."""
        versions = [asdict(self.versions[digest]) for digest in sorted(self.versions)]
        aliases = {alias: [asdict(each) for each in self.aliases[alias]] for alias in sorted(self.aliases)}
        document: dict[str, Json] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "versions": versions,
            "aliases": aliases,
        }
        return encode_json(document, JSON_LIMIT, path="registry.json")

    @classmethod
    def decode(cls, data: bytes, path: str) -> RegistryDocument:
        """Return what these bytes say; ArtifactError for anything that `encode` has not written."""
        document = read_json(data, JSON_LIMIT, path=path, error=ArtifactError)
        return demand(path, lambda: _read(document, path))


def _read(document: Any, path: str) -> RegistryDocument:
    exact_keys(document, {"format", "format_version", "versions", "aliases"}, "the document")
    need(document["format"] == FORMAT, f"format is {document['format']!r}, expected {FORMAT!r}")
    if document["format_version"] != FORMAT_VERSION:
        found = document["format_version"]
        raise ArtifactVersionError(
            f"{path} is a registry of format {found!r}, and this library reads {FORMAT_VERSION}",
            hint="Read it with the version of the library that wrote it.",
            path=path,
        )
    need(is_objects(document["versions"]), "versions are no list of objects")
    aliases_of = document["aliases"]
    is_of_lists = isinstance(aliases_of, dict) and all(map(is_objects, aliases_of.values()))
    need(is_of_lists, "aliases are no object of lists")
    versions = {each.version: each for each in (_record(ModelVersion, one) for one in document["versions"])}
    aliases = {name: tuple(_record(Promotion, one) for one in all_of) for name, all_of in aliases_of.items()}
    for name, history in aliases.items():
        need(re.fullmatch(ALIAS, name), f"{name!r} is no alias")
        need(history and all(each.version in versions for each in history), f"alias {name!r} has no version")
    return RegistryDocument(versions, aliases)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(DIGEST, value) is not None


def _is_metrics(value: Any) -> bool:
    return isinstance(value, dict) and all(each is None or is_number(each) for each in value.values())


_SHAPES: dict[str, Shape] = {
    **dict.fromkeys(("version", "manifest"), (_is_digest, "sha256: and 64 hexadecimal digits")),
    **dict.fromkeys(("parent", "replaced"), (lambda value: value is None or _is_digest(value), "a digest")),
    **dict.fromkeys(("source", "created_utc", "since_utc", "run_id"), (lambda value: isinstance(value, str), "a text")),
    **dict.fromkeys(("gain", "min_gain", "rows"), (lambda value: value is None or is_number(value), "a number")),
    **dict.fromkeys(("metrics", "replaced_metrics"), (_is_metrics, "an object of numbers")),
    "metric": (lambda value: value is None or isinstance(value, str), "a text"),
    "lineage": (lambda value: isinstance(value, dict), "an object"),
    "data": (lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value), "a list of texts"),
}


def _record(kind: type[_Record], entry: Any) -> _Record:
    exact_keys(entry, {each.name for each in fields(kind)}, kind.__name__)
    check_shapes(entry, {name: _SHAPES[name] for name in entry})
    values: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in entry.items()}
    return kind(**values)
