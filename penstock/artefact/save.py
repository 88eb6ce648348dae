"""Write a model to a directory, whole or not at all."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import platform
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from penstock.artefact.blobs import check_blob
from penstock.artefact.digest import digest
from penstock.artefact.evaluators import encode_evaluators
from penstock.artefact.folder import manifest_digest
from penstock.artefact.layout import (
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
    state_path,
)
from penstock.artefact.parts import LearnedModel
from penstock.artefact.schema import encode_schema
from penstock.artefact.state import Encoder
from penstock.artefact.statistics import STATISTICS, encode_statistics, statistics_path
from penstock.artefact.tables import write_table
from penstock.core.errors import UnsupportedStepError, UntrustedArtifactError
from penstock.core.recording import note_output, step
from penstock.core.redaction import redact
from penstock.io.sinks import (
    MODEL,
    FileEntry,
    Json,
    OutputCommit,
    OutputDirectory,
    encode_json,
    new_run_id,
    output_directory,
)
from penstock.io.sinks.part_folder import PartFolder
from penstock.stages.step import model_file_inputs

_LIBRARIES = (
    "penstock", "narwhals", "numpy", "polars", "pyarrow", "xgboost", "xgboost-cpu", "torch", "safetensors",
    "scikit-learn", "skops", "onnxruntime",
)  # fmt: skip


def save(
    model: LearnedModel,
    path: str | Path,
    *,
    overwrite: bool = False,
    metrics: Mapping[str, float | None] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> str:
    """Write a model to a directory that appears whole or not at all, and return the digest of its manifest.

    Parameters
    ----------
    model : PipelineModel
    path : str or Path
        A directory, or the URL of one, that does not exist yet, is empty, or, with `overwrite`, holds an output of this
        library.
    overwrite : bool, default False
        Replace what is there; it stays readable until the new one is complete, and if anything fails.
    metrics : mapping of str to float or None, optional
        An `Evaluation`, say; written to ``report.json`` for people to read.
    storage_options : mapping, optional
        Passed to fsspec; never shown in a message.

    Returns
    -------
    str
        ``sha256:...`` of the manifest, which has the digests of all other files: `load` takes it as ``expect``. It
        names this one saved copy; `PipelineModel.digest` names what was learned.

    Raises
    ------
    UnsupportedStepError
        A stage has code for a parameter, or learned something that cannot be loaded without running code. Nothing was
        written.
    ArtifactError
        A booster was trained on other features than its stage passes. Nothing was written.
    OutputExistsError, DiskFullError, CommitConflictError, OutputError
        What was at `path` is as it was.

    Examples
    --------
    >>> import tempfile
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, None, 3.0]}))
    >>> model = ps.Pipeline(st.Imputer("x")).fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     printed = save(model, f"{folder}/model")
    ...     ps.PipelineModel.load(f"{folder}/model", expect=printed).digest == model.digest
    True
    """
    staged = output_directory(path, overwrite=overwrite, run_id=new_run_id(), storage_options=storage_options)
    with OutputCommit(staged) as joint:
        printed = seal(model, staged, metrics=metrics)
        joint.commit()
    return printed


@step("save")
def seal(
    model: LearnedModel,
    staged: OutputDirectory,
    *,
    metrics: Mapping[str, float | None] | None = None,
    lineage: Mapping[str, Any] | None = None,
) -> str:
    """Stage a model, to be put in place with other outputs of its run; parameters and errors are those of `save`.

    Parameters
    ----------
    lineage : mapping, optional
        What it was made from, by what; written to ``report.json`` too.
    """
    documents, encoders = _encode(model)
    learned = digest(model)
    documents[REPORT] = encode_json(_report(model.report, metrics, lineage), JSON_LIMIT, path=REPORT)
    entries = _write(staged.parts, documents, encoders)
    features = sorted({entry.kind for entry in entries} | _optional(model))
    size = sum(entry.bytes for entry in entries)
    note_output({"path": redact(str(staged.target)), "digest": learned, "files": len(entries), "bytes": size})
    manifest = staged.seal(entries, format=MODEL, metadata={"digest": learned, "features": features})
    return manifest_digest(manifest.encode())


def _optional(model: LearnedModel) -> set[str]:
    """Return what code before does not read."""
    has = {NAMES: any(model.given_names), EVALUATORS: bool(model.evaluators), STATISTICS: bool(model.statistics)}
    has[DRIFT] = model.profile is not None
    return {feature for feature, present in has.items() if present}


def _encode(model: LearnedModel) -> tuple[dict[str, bytes], list[Encoder]]:
    """Return the JSON documents by path, and the encoders that hold the tables and model files."""
    stages: list[Json] = []
    documents: dict[str, bytes] = {}
    encoders = []
    for number, (stage, fitted, given) in enumerate(zip(model.stages, model.fitted, model.given_names, strict=True)):
        name = type(stage).__name__
        encoder = Encoder(number, name)
        parameters = encoder.encode(stage.parameters(), "parameters")
        own = {} if given is None else {"name": given}
        stages.append({"stage": name, **own, "version": stage.version, "parameters": parameters})
        documents[state_path(number)] = _json(encoder.encode(dict(fitted)), state_path(number))
        _check_blobs(encoder, model_file_inputs(stage, fitted))
        encoders.append(encoder)
    stored = {key: (kept.statistic, kept.state) for key, kept in (model.statistics or {}).items()}
    for encoder, states in encode_statistics(stored, len(model.stages)):
        documents[statistics_path(encoder.number)] = _json(states, statistics_path(encoder.number))
        encoders.append(encoder)
    pipeline: dict[str, Json] = {"stages": stages}
    if model.evaluators:
        pipeline["evaluators"] = encode_evaluators(model.evaluators)
    documents[PIPELINE] = _json(pipeline, PIPELINE)
    documents[SCHEMA] = _json({"columns": encode_schema(model.schema)}, SCHEMA)
    if model.profile is not None:
        documents[PROFILE] = _json(Encoder(0, "the profile").encode(model.profile.to_state()), PROFILE)
    return documents, encoders


def _json(document: Json, path: str) -> bytes:
    return encode_json(document, JSON_LIMIT, path=path)


def _check_blobs(encoder: Encoder, columns: tuple[str, ...]) -> None:
    """Refuse at saving what loading would refuse."""
    for path, blob in encoder.blobs.items():
        try:
            check_blob(blob, path, columns, encoder.stage, trusted=False)
        except UntrustedArtifactError as error:
            raise UnsupportedStepError(error.message, path=path, stage=encoder.stage) from error


def _write(folder: PartFolder, documents: Mapping[str, bytes], encoders: list[Encoder]) -> list[FileEntry]:
    entries = [put_content(folder, path, content, JSON) for path, content in documents.items()]
    for encoder in encoders:
        entries += [put_content(folder, path, blob.data, blob.kind) for path, blob in encoder.blobs.items()]
        for path, table in encoder.tables.items():
            entries.append(folder.put(path, partial(write_table, table), rows=table.num_rows, kind=PARQUET))
    return entries


def put_content(folder: PartFolder, path: str, content: bytes, kind: str, rows: int | None = None) -> FileEntry:
    """Write a file of a model as it is."""

    def write(local: str) -> None:
        with open(local, "xb") as file:
            file.write(content)

    return folder.put(path, write, rows=rows, kind=kind)


def _report(fit: Any, metrics: Mapping[str, float | None] | None, lineage: Mapping[str, Any] | None) -> Json:
    versions = {name: found for name in _LIBRARIES if (found := _version(name)) is not None}
    return {
        "versions": {"python": platform.python_version(), **versions},
        "metrics": dict(metrics) if metrics is not None else None,
        "undefined": dict(getattr(metrics, "reasons", {})),
        "lineage": dict(lineage) if lineage is not None else None,
        "fit": _fit(fit) if fit is not None else None,
    }


def _fit(report: Any) -> Json:
    fields: dict[str, Any] = {name.name: getattr(report, name.name) for name in dataclasses.fields(report)}
    rows = fields.pop("rows")
    counts = {name: getattr(rows, name) for name in ("read", "kept", "dropped", "quarantined")}
    return {**fields, "rows": counts, "counts": [dataclasses.asdict(column) for column in report.counts]}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
