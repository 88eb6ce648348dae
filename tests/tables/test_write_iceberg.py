"""Writing Iceberg tables; `test_write_tables` tests what Delta and Iceberg share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.dataset.writing import WriteResult
from penstock.errors import ConfigError

pytestmark = pytest.mark.thorough

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

Write = Callable[..., WriteResult]


@pytest.fixture
def write(local: ps.LocalEngine, catalog: SqlCatalog) -> Write:
    def write(rows: pa.Table, **options: Any) -> WriteResult:
        data = local.from_arrow(rows, fragment_bytes=2000)
        return data.write("ns.t", format="iceberg", catalog=catalog, **options)

    return write


def test_columns_that_are_renamed_after_a_write_are_known_by_their_ids(catalog, local, write):
    write(pa.table({"id": [1], "p": [{"x": 1, "y": 2}]}))
    table = catalog.load_table("ns.t")
    with table.update_schema() as schema:
        schema.rename_column("id", "number")
        schema.rename_column("p.x", "left")
    expected = [{"number": 1, "p": {"left": 1, "y": 2}}]
    assert table.scan().to_arrow().to_pylist() == expected == local.read_iceberg(table).to_arrow().to_pylist()


def test_rows_with_other_partitions_and_a_merge_are_refused(catalog, write):
    rows = pa.table({"id": [1], "x": [1.5]})
    write(rows)
    with pytest.raises(ConfigError, match="the rows by"):
        write(rows, mode="append", partition_by="id")
    with pytest.raises(ConfigError, match='mode="merge" does not suit an Iceberg table'):
        write(rows, mode="merge", keys="id")
    from pyiceberg.transforms import BucketTransform

    with catalog.load_table("ns.t").update_spec() as spec:
        spec.add_field("id", BucketTransform(4), "bucket")
    with pytest.raises(ConfigError, match=r"partitioned by bucket\[4\]"):
        write(rows, mode="append")


def test_a_table_without_a_catalog_is_not_written(local, tmp_path):
    with pytest.raises(ConfigError, match="an Iceberg table is written through a catalog"):
        local.from_arrow(pa.table({"id": [1]})).write(tmp_path / "t", format="iceberg")
