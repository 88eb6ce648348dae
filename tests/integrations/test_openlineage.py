"""Runs as OpenLineage has them: what each read and wrote, by the names of its specification, at a consumer."""

import os
from datetime import datetime
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

import penstock as ps
from penstock.cli.ended_run import send
from penstock.core.environment import restoring_environment
from penstock.core.errors import ConfigError, OutputError

lineage = pytest.importorskip("penstock.integrations.openlineage")

from openlineage.client.naming import dataset as naming  # noqa: E402

from penstock.integrations.openlineage.events import dataset_name, dataset_paths  # noqa: E402

PARENT = "0198a0b5-0000-7000-8000-000000000001"


class Spec(BaseModel):
    """An object of OpenLineage's specification 2-0-2, with what it requires."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class Facet(BaseModel, extra="allow"):
    """Any facet."""

    producer: str = Field(alias="_producer")
    schema_url: str = Field(alias="_schemaURL", pattern="^https://openlineage.io/spec/facets/")


class Run(Spec):
    """A run."""

    run_id: UUID
    facets: dict[str, Facet] = {}


class Job(Spec):
    """A job."""

    namespace: str
    name: str
    facets: dict[str, Facet] = {}


class Dataset(Spec):
    """A dataset that is read or written."""

    namespace: str
    name: str
    facets: dict[str, Facet] = {}
    input_facets: dict[str, Facet] = {}
    output_facets: dict[str, Facet] = {}


class RunEvent(Spec):
    """An event of a run."""

    event_time: datetime
    event_type: str = Field(pattern="^(START|RUNNING|COMPLETE|ABORT|FAIL|OTHER)$")
    producer: str
    schema_url: str = Field(alias="schemaURL")
    run: Run
    job: Job
    inputs: list[Dataset] = []
    outputs: list[Dataset] = []


@pytest.fixture
def consumer(receiver, monkeypatch):
    """The server on loopback as a consumer; the client keeps its address in further variables of the environment."""
    alias = "OPENLINEAGE__TRANSPORT__TRANSPORTS__DEFAULT_HTTP__"
    with restoring_environment([f"{alias}TYPE", f"{alias}URL"]):
        monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{receiver.port}")
        yield receiver


def named(datasets) -> list[tuple[str, str]]:
    return [(each.namespace, each.name) for each in datasets]


def test_a_consumer_gets_the_start_and_the_end_of_a_run_with_what_it_read_and_wrote(consumer, tmp_path):
    engine = ps.LocalEngine(device="cpu")
    engine.from_arrow(pa.table({"x": range(7)})).write_parquet(tmp_path / "in")
    with ps.runs.record(tmp_path / "runs", kind="copy") as recording:
        engine.read_parquet(tmp_path / "in").write_parquet(tmp_path / "out")
    send(ps.runs.Run.load(recording.path))
    assert {path for path, _ in consumer.requests} == {"/api/v1/lineage"}
    start, end = (RunEvent.model_validate_json(body) for _, body in consumer.requests)
    assert (start.event_type, end.event_type, start.run.run_id) == ("START", "COMPLETE", end.run.run_id)
    assert start.event_time < end.event_time
    assert named(start.inputs) == named(end.inputs) == [("file", f"{tmp_path}/in")]
    assert named(end.outputs) == [("file", f"{tmp_path}/out")]
    assert end.inputs[0].input_facets["inputStatistics"].rowCount == 7
    assert end.outputs[0].output_facets["outputStatistics"].rowCount == 7


def test_what_one_run_writes_in_partitions_another_reads_under_the_same_name(tmp_path):
    engine = ps.LocalEngine(device="cpu")
    runs: list[Any] = []
    with ps.runs.record(tmp_path / "runs", kind="write") as recording:
        engine.from_arrow(pa.table({"x": range(4), "day": [1, 1, 2, 2]})).write_parquet(
            tmp_path / "days", partition_by="day"
        )
    runs.append(ps.runs.Run.load(recording.path))
    with ps.runs.record(tmp_path / "runs", kind="read") as recording:
        engine.read_parquet(tmp_path / "days").count()
    runs.append(ps.runs.Run.load(recording.path))
    (_, wrote), (_, read) = (lineage.events_of(run) for run in runs)
    assert named(wrote.outputs) == named(read.inputs)


def test_a_dataset_has_the_name_of_the_specification():
    for path, expected in (
        ("s3a://bucket/a/b.csv", naming.S3("bucket", "a/b.csv")),
        ("gs://bucket/a", naming.GCS("bucket", "a")),
        ("hdfs://node:8020/a/b", naming.HDFS("node", "8020", "/a/b")),
        ("abfs://lake@account.dfs.core.windows.net/a/b", naming.ABFSS("lake", "account", "a/b")),
        ("wasbs://lake@account.dfs.core.windows.net/a", naming.WASBS("lake", "account", "a")),
        ("file:///a/b", naming.LocalFileSystem("/a/b")),
        ("file://host/a/b", naming.RemoteFileSystem("host", "/a/b")),
        ("/a/b/", naming.LocalFileSystem("/a/b")),
    ):
        assert dataset_name(path) == (expected.get_namespace(), expected.get_name())


def test_files_of_a_folder_are_one_dataset_where_there_are_many():
    few, many = [f"a/{place}.csv" for place in range(10)], [f"b/{place}.csv" for place in range(11)]
    assert dataset_paths(few + many) == {file: file for file in few} | dict.fromkeys(many, "b")


def test_a_file_that_is_read_twice_counts_once(run_of):
    file = {"path": "/a.csv", "bytes": 10, "rows": 3}
    ((dataset,), _) = (event.inputs for event in lineage.events_of(run_of(inputs=[file, file])))
    assert dataset.inputFacets["inputStatistics"].rowCount == 3


def test_a_run_that_failed_or_was_stopped_says_so(run_of):
    for error, state in (
        ("DataValueError: x is inf", "FAIL"),
        ("KeyboardInterrupt: ", "ABORT"),
        ("Terminated: ", "ABORT"),
    ):
        start, end = lineage.events_of(run_of(status="failed", error=error))
        assert end.eventType.name == state
        assert end.run.facets["errorMessage"].message == error
        assert "errorMessage" not in start.run.facets


def test_a_run_names_the_run_that_it_is_part_of(run_of):
    variables = {"OPENLINEAGE_PARENT_ID": f"airflow/dag.task/{PARENT}", "OPENLINEAGE_ROOT_PARENT_ID": f"a/dag/{PARENT}"}
    (facet, _) = (event.run.facets["parent"] for event in lineage.events_of(run_of(), variables))
    assert (facet.job.namespace, facet.job.name, facet.run.runId) == ("airflow", "dag.task", PARENT)
    assert (facet.root.job.name, facet.root.run.runId) == ("dag", PARENT)


def test_a_parent_that_is_none_is_refused(run_of):
    for parent in ("dag.task", f"airflow/{PARENT}", "airflow/dag.task/1"):
        with pytest.raises(ConfigError, match=f"OPENLINEAGE_PARENT_ID is '{parent}', expected namespace/job/run"):
            lineage.events_of(run_of(), {"OPENLINEAGE_PARENT_ID": parent})


def test_the_engine_has_the_version_of_its_package(run_of):
    _, end = lineage.events_of(run_of(engine={"name": "spark"}))
    facet = end.run.facets["processing_engine"]
    assert (facet.name, facet.version, facet.openlineageAdapterVersion) == ("spark", "4.1.0", "0.1.0")


def test_an_output_has_its_columns_and_the_digest_of_a_model(run_of):
    outputs = [{"path": "/t", "rows": 1, "columns": {"x": "double"}}, {"path": "/m", "digest": "abc"}]
    table, model = lineage.events_of(run_of(outputs=outputs))[1].outputs
    assert [(field.name, field.type) for field in table.facets["schema"].fields] == [("x", "double")]
    assert model.facets["version"].datasetVersion == "abc"


def test_a_consumer_that_refuses_is_named_without_its_password(consumer, run_of, monkeypatch):
    consumer.status = 403
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://me:hunter2@127.0.0.1:{consumer.port}")
    with pytest.raises(OutputError, match=rf"OpenLineage at http://me:\*\*\*@127.0.0.1:{consumer.port}: 403") as caught:
        lineage.emit(run_of())
    assert "hunter2" not in f"{caught.value} {caught.value.__cause__}"


def test_what_is_sent_nowhere_is_said_nowhere(run_of, monkeypatch, capsys):
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE")]:
        monkeypatch.delenv(name)
    send(run_of())
    assert capsys.readouterr() == ("", "")
