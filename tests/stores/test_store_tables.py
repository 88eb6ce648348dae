"""Tables that keep a log in S3: what Penstock writes there, it and the libraries of the tables read alike."""

from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import OutputExistsError
from penstock.io.tables.object_store import object_store_options
from tests.outputs.workers import worker
from tests.stores.conftest import Place
from tests.tables.table_rows import assert_same_rows, rows_of_all_types

pytestmark = [pytest.mark.xdist_group("s3"), pytest.mark.services]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return rows_of_all_types(60)


def parts(s3: Place) -> set[str]:
    return {f"{s3.url}/{name}" for name in s3.files() if name.endswith(".parquet")}


@pytest.mark.parametrize("keys", [(), ("city", "day")])
def test_a_delta_table_in_s3_is_read_the_same_by_penstock_and_deltalake(s3, local, rows, keys):
    deltalake = pytest.importorskip("deltalake")
    url, options = s3.at("t"), s3.options
    for part, mode in ((rows.slice(0, 40), "error"), (rows.slice(40), "append")):
        data = local.from_arrow(part, fragment_bytes=2000)
        data.write(url, format="delta", mode=mode, partition_by=keys, storage_options=options)
    assert_same_rows(local.read_delta(url, storage_options=options).to_arrow(), rows)
    client = {"endpoint_url": options["client_kwargs"]["endpoint_url"], "region": "us-east-1", "allow_http": "true"}
    theirs = {"access_key_id": options["key"], "secret_access_key": options["secret"], **client}
    table = deltalake.DeltaTable(url, storage_options={f"aws_{name}": value for name, value in theirs.items()})
    assert_same_rows(rows, pa.table(table.scan().read_all()))
    assert len(parts(s3)) == len(table.file_uris())
    with pytest.raises(OutputExistsError):
        local.from_arrow(rows).write(url, format="delta", storage_options=options)


def test_a_delta_table_in_s3_is_merged_by_keys(s3, local, rows):
    pytest.importorskip("deltalake")
    url, options = s3.at("t"), {"format": "delta", "storage_options": s3.options}
    local.from_arrow(rows.slice(0, 40)).write(url, **options)
    newer = local.from_arrow(rows.slice(20))
    result = newer.write(url, mode="merge", keys="id", **options)
    assert (result.rows_replaced, result.rows_unchanged) == (20, 20)
    assert_same_rows(local.read_delta(url, storage_options=s3.options).to_arrow(), rows)


@pytest.mark.parametrize("keys", [(), ("city", "day")])
def test_an_iceberg_table_in_s3_is_read_the_same_by_penstock_and_pyiceberg(s3, local, rows, tmp_path, keys):
    catalogs = pytest.importorskip("pyiceberg.catalog")
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": s3.url}
    options: dict[str, Any] = {"catalog": catalog, "storage_options": s3.options}
    endpoint = s3.options["client_kwargs"]["endpoint_url"]
    theirs = {"access-key-id": s3.options["key"], "secret-access-key": s3.options["secret"], "endpoint": endpoint}
    theirs["region"] = "us-east-1"
    known = catalogs.load_catalog(**catalog, **{f"s3.{name}": value for name, value in theirs.items()})
    known.create_namespace("ns")
    for part, mode in ((rows.slice(0, 40), "error"), (rows.slice(40), "append")):
        data = local.from_arrow(part, fragment_bytes=2000)
        data.write("ns.t", format="iceberg", mode=mode, partition_by=keys, **options)
    assert_same_rows(local.read_iceberg("ns.t", **options).to_arrow(), rows)
    table = known.load_table("ns.t")
    assert_same_rows(rows, table.scan().to_arrow())
    assert_same_rows(local.read_iceberg(table.metadata_location, storage_options=s3.options).to_arrow(), rows)
    assert parts(s3) == {task.file.file_path for task in table.scan().plan_files()}
    known.close()


def test_rows_that_are_set_aside_lie_beside_the_table_in_s3(s3, local, rows):
    pytest.importorskip("deltalake")
    data = local.from_arrow(rows)
    checked = ps.Pipeline(ps.stages.Expect("id != 7", action="quarantine")).fit(data).transform(data)
    result = checked.write(s3.at("t"), format="delta", storage_options=s3.options)
    assert (result.rows, result.quarantine) == (59, s3.at("t.quarantine"))
    aside = local.read_parquet(s3.at("t.quarantine"), storage_options=s3.options)
    assert aside.to_arrow()["id"].to_pylist() == [7]


@pytest.mark.faults
def test_parts_of_a_killed_run_in_s3_are_removed_by_the_next_write(s3, local):
    deltalake = pytest.importorskip("deltalake")
    url, options = s3.at("t"), {"mode": "append", "storage_options": dict(s3.options)}
    with worker("tests.tables.killed_table_writes") as write:
        assert write("delta", url, [1, -1], None, options) == 0
        assert write("delta", url, [2, -2], "table-parts-put", options) == -9
    left = parts(s3)
    assert [name for name in s3.files() if ".penstock" in name and name.startswith("t/")]
    local.from_arrow(pa.table({"id": [3]})).write(url, format="delta", **options)
    table = deltalake.DeltaTable(url, storage_options=object_store_options(url, s3.options))
    assert sorted(pa.table(table.scan().read_all())["id"].to_pylist()) == [1, 3]
    assert {name for name in parts(s3) if "/t/" in name} == set(table.file_uris())
    assert (len(left), len(parts(s3))) == (5, 4)
    assert not [name for name in s3.files() if ".penstock" in name]
    aside = local.read_parquet(s3.at("t.quarantine"), storage_options=s3.options)
    assert sorted(aside.to_arrow()["id"].to_pylist()) == [-2, -1]
