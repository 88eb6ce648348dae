"""The events of a run: that it started, and how it ended."""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, RunEvent, RunState
from openlineage.client.event_v2 import Run as LineageRun
from openlineage.client.facet_v2 import (
    DatasetFacet,
    RunFacet,
    dataset_version_dataset,
    datasource_dataset,
    error_message_run,
    input_statistics_input_dataset,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    processing_engine_run,
    schema_dataset,
    tags_run,
)
from openlineage.client.uuid import generate_static_uuid

from penstock.core.errors import ConfigError, OutputError
from penstock.core.redaction import redact, redact_error, secrets_in_url
from penstock.runs.run import Run

_ENGINES = {"dask": "dask", "spark": "pyspark"}
"""Packages whose version is that of an engine; of others it is that of Penstock."""
_STOPPED = ("KeyboardInterrupt", "Terminated")
"""Errors of a run that somebody stopped."""


def emit(run: Run) -> None:
    """Send the events of a run that has ended to a consumer of OpenLineage, such as Marquez.

    Where and how is said by the variables and files of its client: ``OPENLINEAGE_URL``, ``OPENLINEAGE_API_KEY``,
    ``openlineage.yml``, ``OPENLINEAGE_DISABLED``.

    Parameters
    ----------
    run : Run
        See `events_of` for what is sent of it.

    Raises
    ------
    OutputError
        The consumer does not answer, or refuses; or the client cannot be set up as its configuration says.
    ConfigError
        As of `events_of`.
    """
    events = events_of(run, os.environ)
    url = os.environ.get("OPENLINEAGE_URL", "")
    try:
        client = OpenLineageClient()
        for event in events:
            client.emit(event)
        client.close()
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        redact_error(error, secrets_in_url(url))
        problem = f"OpenLineage{f' at {redact(url)}' if url else ''}: {error!s:.500}"
        raise OutputError(
            problem, hint="See that the consumer runs, and lets you in by OPENLINEAGE_API_KEY."
        ) from error


def events_of(run: Run, environ: Mapping[str, str] = {}) -> list[RunEvent]:
    """Return the events of a run: START, and COMPLETE, FAIL or, of a run that was stopped, ABORT.

    The job is ``clicks.fit`` of what ran and how; its namespace is ``OPENLINEAGE_NAMESPACE``, ``default`` unless set.
    The id of the run is a UUID that follows from that of its record, which is the tag ``penstock.run_id``. A run that
    ``OPENLINEAGE_PARENT_ID`` names, as Airflow's ``lineage_parent_id`` does, is the parent.

    Parameters
    ----------
    run : Run
        Its files are datasets by their names in OpenLineage's specification, with rows and bytes. Files of parts are of
        the dataset that is their folder.
    environ : mapping of str to str
        The variables.

    Returns
    -------
    list of openlineage.client.event_v2.RunEvent

    Raises
    ------
    ConfigError
        ``OPENLINEAGE_PARENT_ID`` is no namespace/job/run.

    Examples
    --------
    >>> import penstock as ps
    >>> info = {"run_id": "20260101T000000000000-0a1b2c3d", "kind": "fit", "name": "clicks", "started": 0.0}
    >>> run = ps.runs.Run(info | {"seconds": 2.0, "status": "done"}, ps.runs.TASKS.empty_table())
    >>> [(event.eventType.name, event.eventTime, event.job.name) for event in events_of(run)]
    [('START', '1970-01-01T00:00:00+00:00', 'clicks.fit'), ('COMPLETE', '1970-01-01T00:00:02+00:00', 'clicks.fit')]
    """
    producer = _producer(run)
    event = partial(
        RunEvent,
        job=_job(run, environ.get("OPENLINEAGE_NAMESPACE") or "default", producer),
        inputs=input_datasets(run.info.get("inputs", ()), producer),
        producer=producer,
    )
    identity = str(generate_static_uuid(run.started, run.id.encode()))
    facets = _run_facets(run, environ, producer)
    ended = LineageRun(identity, facets=facets | _error(run, producer))
    outputs = [_output(each, producer) for each in run.info.get("outputs", ())]
    return [
        event(eventTime=_time(run, 0.0), run=LineageRun(identity, facets=facets), eventType=RunState.START),
        event(eventTime=_time(run, run.seconds), run=ended, eventType=_state(run), outputs=outputs),
    ]


def _state(run: Run) -> RunState:
    if run.status != "failed":
        return RunState.COMPLETE
    return RunState.ABORT if str(run.info.get("error")).startswith(_STOPPED) else RunState.FAIL


def _time(run: Run, seconds: float) -> str:
    return datetime.fromtimestamp(run.info["started"] + seconds, UTC).isoformat()


def _job(run: Run, namespace: str, producer: str) -> Job:
    kind = job_type_job.JobTypeJobFacet("BATCH", "PENSTOCK", run.kind.upper(), producer=producer)
    return Job(namespace, f"{run.name}.{run.kind}" if run.name else run.kind, facets={"jobType": kind})


def _producer(run: Run) -> str:
    """Return the URI of what wrote the events."""
    return f"urn:penstock:{run.info.get('versions', {}).get('penstock', '0')}"


def _run_facets(run: Run, environ: Mapping[str, str], producer: str) -> dict[str, RunFacet]:
    versions, engine = run.info.get("versions", {}), (run.info.get("engine") or {}).get("name") or "penstock"
    version = versions.get(_ENGINES.get(engine, "penstock")) or versions.get("penstock", "0")
    tag = tags_run.TagsRunFacetFields("penstock.run_id", run.id, "PENSTOCK")
    facets: dict[str, RunFacet] = {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            version, engine, versions.get("penstock"), producer=producer
        ),
        "tags": tags_run.TagsRunFacet(tags=[tag], producer=producer),
    }
    parent = _parent(environ, producer)
    return facets if parent is None else {**facets, "parent": parent}


def _error(run: Run, producer: str) -> dict[str, RunFacet]:
    if run.status != "failed":
        return {}
    message = str(run.info.get("error"))
    return {"errorMessage": error_message_run.ErrorMessageRunFacet(message, "PYTHON", producer=producer)}


def _parent(environ: Mapping[str, str], producer: str) -> RunFacet | None:
    parent, root = (_identity(environ, f"OPENLINEAGE_{name}PARENT_ID") for name in ("", "ROOT_"))
    if parent is None:
        return None
    namespace, job, run = parent
    of_root: Any = None
    if root is not None:
        of_root = parent_run.Root(parent_run.RootRun(root[2]), parent_run.RootJob(root[0], root[1]))
    return parent_run.ParentRunFacet(parent_run.Run(run), parent_run.Job(namespace, job), of_root, producer=producer)


def _identity(environ: Mapping[str, str], variable: str) -> tuple[str, str, str] | None:
    """Return the namespace, job and run that a variable names."""
    text = environ.get(variable)
    if not text:
        return None
    parts = text.rsplit("/", 2)
    try:
        namespace, job, run = parts
        return namespace, job, parent_run.Run(run).runId
    except ValueError as error:
        problem = f"{variable} is {text!r}, expected namespace/job/run, with the UUID of a run"
        raise ConfigError(problem, hint="Airflow's macro lineage_parent_id gives it.") from error


def input_datasets(files: Sequence[Mapping[str, Any]], producer: str) -> list[InputDataset]:
    """Return the datasets of the files that a run read, with how many rows, bytes and files; a file counts once."""
    datasets = dataset_paths(str(file["path"]) for file in files)
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for file in files:
        found.setdefault(datasets[str(file["path"])], {})[str(file["path"])] = file
    return [_input(path, list(members.values()), producer) for path, members in found.items()]


def _input(path: str, files: Sequence[Mapping[str, Any]], producer: str) -> InputDataset:
    namespace, name = dataset_name(path)
    statistics = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
        rowCount=_sum(files, "rows"), size=_sum(files, "bytes"), fileCount=len(files), producer=producer
    )
    facets = _facets(namespace, path, {}, producer)
    return InputDataset(namespace, name, facets=facets, inputFacets={"inputStatistics": statistics})


def _output(output: Mapping[str, Any], producer: str) -> OutputDataset:
    """Return what a run wrote: rows, bytes and files, columns where they are known, and the digest of a model."""
    path = str(output["path"])
    namespace, name = dataset_name(path)
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=output.get("rows"), size=output.get("bytes"), fileCount=output.get("files"), producer=producer
    )
    facets = _facets(namespace, path, output, producer)
    return OutputDataset(namespace, name, facets=facets, outputFacets={"outputStatistics": statistics})


def _facets(namespace: str, path: str, facts: Mapping[str, Any], producer: str) -> dict[str, DatasetFacet]:
    facets: dict[str, DatasetFacet] = {
        "dataSource": datasource_dataset.DatasourceDatasetFacet(name=namespace, uri=path, producer=producer)
    }
    if facts.get("digest"):
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(str(facts["digest"]), producer=producer)
    if facts.get("columns"):
        fields = [schema_dataset.SchemaDatasetFacetFields(*column) for column in facts["columns"].items()]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=fields, producer=producer)
    return facets


def _sum(files: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """Return the sum of a number of files; None where it is not known of one."""
    values = [file.get(name, -1) for file in files]
    return None if min(values) < 0 else int(sum(values))


_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}
"""Schemes that are other names of a store."""
_KEEPS_SLASH = {"file", "hdfs"}
_MOST_FILES = 10
"""Files of one folder that are datasets each; of more, the folder is one."""


def dataset_name(path: str) -> tuple[str, str]:
    """Return the namespace and the name of a path or URL.

    Examples
    --------
    >>> dataset_name("s3a://bucket/days/2024-01-05"), dataset_name("/data/clicks.csv")
    (('s3://bucket', 'days/2024-01-05'), ('file', '/data/clicks.csv'))
    >>> dataset_name("abfss://lake@account.dfs.core.windows.net/days/")
    ('abfss://lake@account.dfs.core.windows.net', 'days')
    """
    if "://" not in path:
        return "file", os.path.abspath(path)
    parts = urlsplit(path)
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    place = parts.path.rstrip("/") if scheme in _KEEPS_SLASH else parts.path.strip("/")
    namespace = scheme if scheme == "file" and not parts.netloc else f"{scheme}://{parts.netloc}"
    return namespace, place or "/"


def dataset_paths(files: Iterable[str]) -> dict[str, str]:
    """Return for each file the path of the dataset that it is of, which the run that wrote it has as its output.

    That is the folder of a file that a writer calls a part, without partitions (``day=2024-01-05``); where a folder has
    more than ten files, the folder; else the file itself.

    Examples
    --------
    >>> list(dataset_paths(["out/day=1/part-0.parquet", "out/day=2/part-0.parquet", "a.csv"]).values())
    ['out', 'out', 'a.csv']
    """
    folders = {file: posixpath.dirname(file) for file in files}
    many = Counter(folders.values())
    return {
        file: _without_partitions(folder) if _is_part(file) or many[folder] > _MOST_FILES else file
        for file, folder in folders.items()
    }


def _is_part(file: str) -> bool:
    return posixpath.basename(file).startswith(("part-", "part."))


def _without_partitions(folder: str) -> str:
    while "=" in posixpath.basename(folder):
        folder = posixpath.dirname(folder)
    return folder
