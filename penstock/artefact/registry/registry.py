"""A registry of models: what it has, and how that changes while others change it too."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.artefact.folder import Located, RecordedDigests
from penstock.artefact.registry.document import ModelVersion, Promotion, RegistryDocument
from penstock.artefact.registry.reference import find_reference, require_alias
from penstock.artefact.registry.saved_model import SavedModel
from penstock.core.errors import CommitConflictError, InputError, MissingInputError, OutputExistsError
from penstock.core.locations import absolute_path, is_url, read_location
from penstock.core.plain_files import read_plain
from penstock.core.redaction import redact
from penstock.io.sinks import OutputCommit, new_run_id, output_file
from penstock.io.sinks.os_errors import name_error
from penstock.io.sinks.stores.store import store_at

_HEAD = "registry.json"
_ATTEMPTS = 20
_PAUSE = 0.05

Change = Callable[[RegistryDocument], RegistryDocument]


@dataclass(frozen=True)
class ModelRegistry:
    """Models by digest, and aliases by name, in a directory or a store; it begins with the first that is registered.

    Several processes may register and promote at once: each change is made to what is there at that moment, whole or
    not at all. What is registered never changes; only aliases do. Every reader of models takes
    ``registry/clicks@champion`` in place of a path: `PipelineModel.load`, ``penstock score`` and ``evaluate``.

    Parameters
    ----------
    location : str or Path
        The directory of the registry, or its URL: one for all versions of one model.
    storage_options : mapping, optional
        Passed to fsspec; never shown in a message.

    Raises
    ------
    OutputError, CommitConflictError
        By `register` and `promote`: it cannot be written, or others change it all the time. Nothing has changed.
    ArtifactError
        By all: the record is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, None, 3.0]}))
    >>> model = ps.Pipeline(st.Imputer("x")).fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = model.save(f"{folder}/model")
    ...     registry = ModelRegistry(f"{folder}/registry")
    ...     version = registry.register(f"{folder}/model", alias="champion")
    ...     loaded = ps.PipelineModel.load(f"{folder}/registry@champion")
    >>> loaded.digest == model.digest == version.version
    True
    """

    location: str | Path
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def read(self) -> RegistryDocument:
        """Return all versions and aliases as they are now; none where there is no registry yet."""
        data = self._bytes()
        return RegistryDocument() if data is None else RegistryDocument.decode(data, self._at(_HEAD))

    def find(self, name: str) -> ModelVersion:
        """Return the version that an alias stands for, or whose digest begins so.

        Raises
        ------
        MissingInputError
            There is no registry.
        ConfigError
            It has no such version, or several.
        """
        document = self.read()
        if not document.versions:
            hint = "The first penstock promote, or ModelRegistry.register, makes one."
            raise MissingInputError(f"{self.location} is no registry of models", hint=hint, path=str(self.location))
        return document.find(name, str(self.location))

    def path_of(self, version: ModelVersion) -> str:
        """Return where a version lies, a saved model like any other."""
        return self._at(f"versions/{version.version.removeprefix('sha256:')}")

    def locate(self, version: ModelVersion) -> Located:
        """Return a version by its path, with the digests that it is read by."""
        return Located(self.path_of(version), RecordedDigests(version.manifest, version.version, self._at(_HEAD)))

    def register(self, model: str | Path, *, alias: str | None = None, run_id: str | None = None) -> ModelVersion:
        """Copy a saved model into the registry, unless it is there, and let an alias stand for it, without comparison.

        Parameters
        ----------
        model : str or Path
            Its directory, its URL, or a model of this or another registry.
        alias : str, optional
            What is to stand for it: letters, digits, ``_`` and ``-``.
        run_id : str, optional
            RecordedDigests with the alias; a new one unless given.

        Raises
        ------
        ConfigError
            `alias` cannot be one.
        MissingInputError, ArtifactError
            There is no such model, or it is damaged; as of `PipelineModel.load`.
        """
        if alias is not None:
            require_alias(f"{self.location}@{alias}")
        saved = SavedModel.read(locate(model, self.storage_options), self.storage_options)
        version = self._copied(saved)

        def change(document: RegistryDocument) -> RegistryDocument:
            document = document.with_version(version)
            return document if alias is None else _set(document, alias, version.version, run_id or new_run_id())

        return self._change(change).versions[version.version]

    def promote(self, saved: SavedModel, alias: str, promotion: Promotion) -> Promotion:
        """Copy a model into the registry, and let an alias stand for it that stands for `promotion.replaced` now.

        Raises
        ------
        CommitConflictError
            The alias stands for another version by now.
        """
        version = replace(self._copied(saved), parent=promotion.replaced)

        def change(document: RegistryDocument) -> RegistryDocument:
            current = document.current(alias)
            if (current.version if current else None) != promotion.replaced:
                found = current.version if current else "nothing"
                message = f"{self.location}@{alias} stands for {found}, and stood for {promotion.replaced or 'nothing'}"
                hint = "Another run has promoted a model meanwhile; compare with that one."
                raise CommitConflictError(message, hint=hint, path=str(self.location), run_id=promotion.run_id)
            return document.with_version(version).with_promotion(alias, promotion)

        self._change(change)
        return promotion

    def _copied(self, saved: SavedModel) -> ModelVersion:
        """Return the record of a model that lies in the registry when this returns."""
        report = saved.report()
        version = ModelVersion(
            version=saved.digest,
            manifest="",
            source=redact(saved.location),
            created_utc=now(),
            metrics=report.get("metrics") or {},
            lineage=report.get("lineage") or {},
        )
        return replace(version, manifest=self._copy(saved, self.path_of(version)).manifest)

    def _copy(self, saved: SavedModel, target: str) -> SavedModel:
        """Return the copy of a model: a new one, or that which is there, whole, since a copy appears at once."""
        try:
            return saved.copy(target, self.storage_options)
        except (OutputExistsError, CommitConflictError) as conflict:
            recorded = self.read().versions.get(saved.digest)
            try:
                there = SavedModel.read(self.locate(recorded) if recorded else target, self.storage_options)
            except MissingInputError:
                raise conflict from None
            RecordedDigests(there.manifest, saved.digest, "its path").check(
                there.manifest, there.contents.learned, target
            )
            return there

    def _change(self, change: Change) -> RegistryDocument:
        """Change the record as it is when that is committed, however often others change it before."""
        for attempt in range(_ATTEMPTS):
            head = output_file(self._at(_HEAD), run_id=new_run_id(), storage_options=self.storage_options)
            with OutputCommit(head) as joint:
                before = self.read()
                after = change(before)
                if after == before:
                    return after
                head.seal(after.encode())
                try:
                    joint.commit()
                except CommitConflictError:
                    if attempt == _ATTEMPTS - 1:
                        raise
                else:
                    return after
            time.sleep(_PAUSE)
        raise AssertionError("the last attempt returns or raises")

    def _bytes(self) -> bytes | None:
        place = self._at(_HEAD)
        if is_url(place):
            store = store_at(place, self.storage_options)
            found = store.read(store.path)
            return None if found is None else found.content
        try:
            return read_plain(place)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise InputError(f"cannot read {place}: {name_error(error)}", path=place) from error

    def _at(self, name: str) -> str:
        text = read_location(self.location, "registry")
        root = text.rstrip("/") if is_url(text) else str(absolute_path(text, "registry"))
        return f"{root}/{name}"


def locate(location: str | Path, storage_options: Mapping[str, Any] | None = None) -> Located:
    """Return where a model lies: a location as it is, and a model of a registry with the digests recorded there.

    Raises
    ------
    MissingInputError, ConfigError
        There is no such registry, or it has no such model.
    """
    reference = find_reference(location)
    if reference is None:
        return Located(read_location(location, "model"))
    registry = ModelRegistry(reference.registry, storage_options or {})
    return registry.locate(registry.find(reference.name))


def now() -> str:
    """Return the time as records have it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _set(document: RegistryDocument, alias: str, version: str, run_id: str) -> RegistryDocument:
    current = document.current(alias)
    if current is not None and current.version == version:
        return document
    replaced = current.version if current else None
    return document.with_promotion(alias, Promotion(version=version, since_utc=now(), run_id=run_id, replaced=replaced))
