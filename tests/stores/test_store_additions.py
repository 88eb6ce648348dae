"""Writes that add to an output in a store do what they do on a disk."""

import json

import pyarrow as pa
import pytest

from penstock.dataset import Dataset
from penstock.engines.base import Engine
from tests.stores.conftest import Place

pytestmark = pytest.mark.xdist_group("s3")

Row = tuple[int | None, str]


def rows(local: Engine, *pairs: Row) -> Dataset:
    days, texts = zip(*pairs, strict=True)
    return local.from_arrow(pa.table({"day": pa.array(days, pa.int64()), "s": texts}), fragment_bytes=72)


def content(local: Engine, place: Place) -> list[Row]:
    table = local.read_parquet(place.at("out"), storage_options=place.options).to_arrow()
    return [(row["day"], row["s"]) for row in table.to_pylist()]


@pytest.mark.thorough
def test_rows_are_appended_once_for_a_run_and_merged_and_partitions_replaced(local: Engine, place: Place) -> None:
    def write(*pairs: Row, **parameters: object) -> None:
        options = {"partition_by": "day", "storage_options": place.options} | parameters
        rows(local, *pairs).write(place.at("out"), **options)  # type: ignore[arg-type]

    write((1, "a"), (None, "n"), (2, "b"))
    for _ in range(2):
        write((2, "c"), (3, "d"), mode="append", run_id="scheduled__2024-01-01T00:00:00+00:00")
        assert content(local, place) == [(None, "n"), (1, "a"), (2, "b"), (2, "c"), (3, "d")]
    for _ in range(2):
        write((None, "n"), (2, "c"), (2, "x"), mode="merge", keys=["day", "s"])
        assert content(local, place) == [(None, "n"), (1, "a"), (2, "b"), (2, "c"), (3, "d"), (2, "x")]
    write((3, "z"), (4, "y"), mode="overwrite_partitions")
    assert content(local, place) == [(None, "n"), (1, "a"), (2, "b"), (2, "c"), (2, "x"), (3, "z"), (4, "y")]
    manifest = json.loads(place.read("out/_manifest.json"))
    listed = {f"out/{file['path']}" for file in manifest["files"]}
    assert place.files().keys() == {*listed, "out/_manifest.json"}


@pytest.mark.thorough
def test_a_merge_moves_rows_between_the_partitions_of_a_store(local: Engine, place: Place) -> None:
    options = {"partition_by": "day", "storage_options": place.options}
    rows(local, (1, "a"), (2, "b")).write(place.at("out"), **options)
    rows(local, (2, "a")).write(place.at("out"), mode="merge", keys="s", **options)
    assert sorted(content(local, place)) == [(2, "a"), (2, "b")]
