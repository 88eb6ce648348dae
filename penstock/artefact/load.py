"""Read a model without running code: no pickle, no import by a name from the file, no other loader to fall back on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from penstock.artefact.blobs import check_blob
from penstock.artefact.checks import demand, exact_keys, need
from penstock.artefact.digest import digest_of
from penstock.artefact.evaluators import decode_evaluators
from penstock.artefact.fetch import read_model
from penstock.artefact.folder import Contents, read_folder
from penstock.artefact.layout import (
    BLOB_KINDS,
    DRIFT,
    EVALUATORS,
    JSON,
    JSON_LIMIT,
    NAMES,
    PARQUET,
    PIPELINE,
    PROFILE,
    REPORT,
    SCHEMA,
    is_part,
    kind_of,
    stage_of,
    state_path,
)
from penstock.artefact.parts import ModelParts
from penstock.artefact.registry.registry import locate
from penstock.artefact.schema import decode_schema
from penstock.artefact.state import decode, decode_parameters
from penstock.artefact.statistics import (
    STATISTICS,
    SavedStatistics,
    Stored,
    decode_statistics,
    is_statistics,
    rows_of,
    statistics_path,
)
from penstock.artefact.tables import read_table
from penstock.core.errors import ArtifactError, ArtifactIntegrityError, ArtifactVersionError, UntrustedArtifactError
from penstock.core.schemas import require
from penstock.io.sinks import MANIFEST_NAME, read_json
from penstock.stages.base import Blob, Fitted, Stage
from penstock.stages.names import split_names, stage_names
from penstock.stages.registry import lookup
from penstock.stages.step import StageStep, model_file_inputs
from penstock.stages.vectors import over
from penstock.stages.vectors.over import check_sizes

T = TypeVar("T")

FEATURES = frozenset({JSON, PARQUET, NAMES, EVALUATORS, STATISTICS, DRIFT, *BLOB_KINDS})


def load(
    path: str | Path,
    *,
    expect: str | None = None,
    stages: Mapping[str, type[Stage]] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> ModelParts:
    """Read the parts of a model that `save` wrote, here or elsewhere; needs no engine, no cluster and no Java.

    Hashes show that nothing was damaged, not who wrote it: whoever can change files can change hashes. With `expect`
    the whole model is the one whose digest was printed at saving. Without it a booster is checked node by node, so that
    it cannot crash XGBoost; its numbers are taken as they are.

    Parameters
    ----------
    path : str or Path
        The directory, or its URL; from a store the files of its manifest are fetched first. Or a model of a
        `ModelRegistry`, by an alias or a digest: ``registry/clicks@champion``.
    expect : str, optional
        What `save` returned.
    stages : mapping of str to type of Stage, optional
        Stages of your own that it may name.
    storage_options : mapping, optional
        Passed to fsspec; never shown in a message.

    Raises
    ------
    MissingInputError, InputError
        There is no such directory, or it cannot be read.
    ArtifactIntegrityError
        A file is missing, added or changed, or the model is not that of `expect`, or of the registry's record: then
        nothing but the manifest was parsed. Or what was learned has not the digest that the manifest states.
    ArtifactVersionError
        The format, or a stage in it, is of another version than this library reads.
    UntrustedArtifactError
        Links, names outside the directory, pickles, archives, tables or trees that no saved model has.
    UnsupportedStepError
        A stage is not known; nothing was imported.
    ArtifactError
        The parts do not fit together: parameters, schema, or features of a booster.
    """
    located = locate(path, storage_options)

    def read(folder: Path) -> ModelParts:
        with _placed(folder):
            contents = read_folder(folder, expect, located.recorded)
            _check_features(contents)
            parts = _Loader(contents, trusted=expect is not None).parts(stages or {})
            _check_learned(contents, parts)
            return parts

    return read_model(located.location, read, storage_options)


def _check_learned(contents: Contents, parts: ModelParts) -> None:
    """Raise ArtifactIntegrityError unless what was learned has the digest that the manifest states."""
    if (found := digest_of(zip(parts.stages, parts.fitted, strict=True))) != contents.learned:
        message = f"the model that was read has the digest {found}, and its manifest states {contents.learned}"
        raise ArtifactIntegrityError(message, hint="Restore the folder, or save the model again.", path=MANIFEST_NAME)


def load_statistics(path: str | Path, *, storage_options: Mapping[str, Any] | None = None) -> SavedStatistics:
    """Read the statistics that a saved model keeps, by which it can be merged with others of the same stages.

    No other file is read or, from a store, fetched. Errors are those of `load`.
    """
    located = locate(path, storage_options)

    def read(folder: Path) -> SavedStatistics:
        with _placed(folder):
            contents = read_folder(folder, None, located.recorded, wanted=is_statistics)
            _check_features(contents)
            return _Loader(contents, trusted=False).saved_statistics()

    return read_model(located.location, read, storage_options, wanted=is_statistics)


@contextmanager
def _placed(folder: Path) -> Iterator[None]:
    """Let errors name the whole path of a file."""
    try:
        yield
    except ArtifactError as error:
        whole_path = str(folder / (error.path or ""))  # which is the error's own where that is absolute already
        raise type(error)(error.message, hint=error.hint, **{**error.place, "path": whole_path}) from error.__cause__


def _check_features(contents: Contents) -> None:
    features = contents.manifest.metadata.get("features")
    named = set(features) if isinstance(features, list) and all(isinstance(name, str) for name in features) else set()
    unknown = sorted(named - FEATURES)
    if unknown or not named:
        raise ArtifactVersionError(
            f"the model uses {', '.join(unknown) or 'an unknown set of'} file formats, and this library reads "
            f"{', '.join(sorted(FEATURES))}; it was written by version {contents.manifest.library}",
            hint="Read it with the version of the library that wrote it.",
        )


class _Loader:
    """Parses verified files, and knows which were asked for."""

    def __init__(self, contents: Contents, *, trusted: bool) -> None:
        self.contents, self.trusted = contents, trusted
        self.used = {REPORT}

    def parts(self, more: Mapping[str, type[Stage]]) -> ModelParts:
        """Return the parts, which fit together and leave no file over."""
        schema = decode_schema(self.document(SCHEMA, "columns")["columns"], SCHEMA)
        pipeline = self.document(PIPELINE, "stages", frozenset({"evaluators"}))
        stages, names = self.stages(pipeline["stages"], more)
        fitted = tuple(self.fitted(number, stage) for number, stage in enumerate(stages))
        statistics = {key: kept for number in range(len(stages)) for key, kept in self.statistics(number).items()}
        profile = decode(self._parse(PROFILE), _no_part) if PROFILE in self.contents.files else None
        self.check_used()
        _check_schema(stages, fitted, schema)
        evaluators = decode_evaluators(pipeline.get("evaluators", []))
        return ModelParts(stages, fitted, schema, names, evaluators, statistics, profile)

    def saved_statistics(self) -> SavedStatistics:
        """Return the statistics, and which files say whose they are; there are no others in the contents."""
        kept = {number for path in self.contents.files if (number := stage_of(path)) is not None}
        statistics = {key: state for number in sorted(kept) for key, state in self.statistics(number).items()}
        self.check_used()
        hashes = self.contents.hashes.items()
        others = {path: sha256 for path, sha256 in hashes if stage_of(path) not in (None, *kept)}
        return SavedStatistics(
            statistics, {**others, **{path: sha256 for path, sha256 in hashes if path in (PIPELINE, SCHEMA)}}
        )

    def check_used(self) -> None:
        """Raise ArtifactError for a file that nothing refers to."""
        idle = sorted(self.contents.files.keys() - self.used)
        if idle:
            raise ArtifactError(f"{idle[0]} belongs to no stage", path=idle[0])

    def document(self, path: str, key: str, optional: frozenset[str] = frozenset()) -> Any:
        """Return a JSON document, an object with `key` and perhaps `optional` ones."""
        document = self._parse(path)
        demand(path, lambda: exact_keys(document, {key}, "the document", optional))
        return document

    def stages(self, listed: Any, more: Mapping[str, type[Stage]]) -> tuple[tuple[Stage, ...], tuple[str | None, ...]]:
        """Return the stages, all looked up before the first is made, and the names given to them."""
        demand(PIPELINE, lambda: _check_listed(listed))
        kinds = [lookup(entry["stage"], more) for entry in listed]
        made = [_make(kind, entry, more) for kind, entry in zip(kinds, listed, strict=True)]
        return demand(PIPELINE, lambda: _named(made, [entry.get("name") for entry in listed]))

    def fitted(self, number: int, stage: Stage) -> Fitted:
        """Return what a stage learned."""

        def part(mark: str, path: str) -> pa.Table | Blob:
            self._check_part(path, stage.title, is_part(path, number, blob=mark == "$blob"))
            return self._table(path) if mark == "$table" else self._blob(path, names, stage.title)

        path = state_path(number)
        document = self._parse(path)
        if not isinstance(document, dict):
            raise ArtifactError(f"{path} is no object", path=path)
        demand(path, lambda: check_sizes(stage, document))
        names = _inputs(stage, document)
        return decode(document, part)

    def statistics(self, number: int) -> Stored:
        """Return the statistics of a stage that the model keeps, if any."""
        path = statistics_path(number)
        if path not in self.contents.files:
            return {}
        tables: dict[str, pa.Table] = {}

        def part(mark: str, place: str) -> pa.Table:
            name, rows = rows_of(place)
            if name not in tables:
                is_table = mark == "$table" and is_part(name, number, blob=False, folder="statistics")
                self._check_part(name, path, is_table)
                tables[name] = self._table(name)
            return _sliced(tables[name], rows, place)

        return decode_statistics(number, self._parse(path), part)

    def _check_part(self, path: str, owner: str, is_own: bool) -> None:
        """Raise ArtifactError for a file that is not there, has been taken, or is not its owner's."""
        if path not in self.contents.files or path in self.used or not is_own:
            raise ArtifactError(f"{owner} refers to {path!r}, which is no part of it", path=path)

    def _table(self, path: str) -> pa.Table:
        return read_table(self._take(path), self.contents.rows(path), path)

    def _blob(self, path: str, names: tuple[str, ...], stage: str) -> Blob:
        blob = Blob(str(kind_of(path)), self._take(path))
        check_blob(blob, path, names, stage, trusted=self.trusted)
        return blob

    def _parse(self, path: str) -> Any:
        return read_json(self._take(path), JSON_LIMIT, path=path, error=ArtifactError)

    def _take(self, path: str) -> bytes:
        if path not in self.contents.files:
            raise ArtifactError(f"the manifest does not list {path}", path=path)
        self.used.add(path)
        return self.contents.files[path]


def _sliced(table: pa.Table, rows: slice, place: str) -> pa.Table:
    if rows.stop is None:
        return table
    if rows.stop > len(table):
        raise ArtifactError(f"{place} names rows of a table that has {len(table)}", path=place)
    return table.slice(rows.start, rows.stop - rows.start)


def _no_part(mark: str, path: str) -> Any:
    raise UntrustedArtifactError(f"a profile refers to the file {path!r}", path=PROFILE)


def _named(stages: Sequence[Stage], names: Sequence[Any]) -> tuple[tuple[Stage, ...], tuple[str | None, ...]]:
    pairs = zip(names, stages, strict=True)
    named = split_names([stage if name is None else (name, stage) for name, stage in pairs])
    stage_names(*named)
    return named


def _check_listed(listed: Any) -> None:
    need(isinstance(listed, list), "stages are no list")
    for entry in listed:
        exact_keys(entry, {"stage", "version", "parameters"}, "a stage", frozenset({"name"}))
        for name, kind in (("stage", str), ("version", int), ("parameters", dict)):
            need(type(entry[name]) is kind, f"{name} of a stage is no {kind.__name__}")


def _make(kind: type[Stage], entry: Mapping[str, Any], more: Mapping[str, type[Stage]]) -> Stage:
    name = entry["stage"]
    if entry["version"] != kind.version:
        raise ArtifactVersionError(
            f"stage {name} was saved in version {entry['version']}, and this library has version {kind.version}",
            hint="Read it with the version of the library that wrote it.",
            stage=name,
        )
    parameters = {key: _nested(value, more) for key, value in entry["parameters"].items()}
    return decode_parameters(name, parameters, kind.from_parameters)


def _nested(value: Any, more: Mapping[str, type[Stage]]) -> Any:
    """Return a parameter, the stage that it stands for if it does."""
    if not isinstance(value, dict) or value.keys() != {"stage", "version", "parameters"}:
        return value
    demand(PIPELINE, lambda: _check_listed([value]))
    return _make(lookup(value["stage"], more), value, more)


def _inputs(stage: Stage, document: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        return model_file_inputs(stage, document)
    except Exception as error:  # as for parameters: they decide what inputs() does
        message = f"{stage.title} cannot name its inputs: {error}"
        raise ArtifactError(message, path=PIPELINE, stage=stage.title) from error


def _check_schema(stages: Sequence[Stage], fitted: Sequence[Fitted], schema: pa.Schema) -> None:
    """Raise ArtifactError unless every stage finds its columns in what comes to it, and has learned what it needs."""
    for position, (stage, learned) in enumerate(zip(stages, fitted, strict=True)):
        try:
            require(schema, stage.inputs(), stage=stage.title)
            over.check_fitted(stage, schema, learned)
            schema = StageStep(stage, learned, position).output_schema(schema)
        except Exception as error:  # as above
            message = f"{stage.title} does not fit {SCHEMA}, or what it learned: {error}"
            raise ArtifactError(message, path=SCHEMA, stage=stage.title) from error
