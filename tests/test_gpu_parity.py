"""What leaves a GPU is what leaves a CPU: types of columns, rows set aside, places of bad values; on the stand-in."""

# ruff: noqa: F811  # fixtures are parameters by the names that they are imported by

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from on_stand_in import cpu, gpu, stand_in  # noqa: F401

import penstock as ps
from penstock import frames
from penstock import stages as st
from penstock.errors import DataValueError
from penstock.frames import cudf
from penstock.io import fragments
from penstock.io.fragments import deal, fragment_bytes_on

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF is a stand-in")]

TABLE = pa.table(
    {
        "n": [1, 2, None, 4],
        "day": [dt.date(2026, 1, 1), None, dt.date(1969, 12, 31), dt.date(9999, 12, 31)],
        "bytes": [b"\x00a", b"", None, b"\xff"],
        "nothing": pa.nulls(4),
        "price": pa.array([100, None, -5, 100]).cast(pa.decimal128(38, 0)).cast(pa.decimal128(9, 2)),
    }
)


def test_functions_get_dates_bytes_and_nulls(gpu):
    given = []

    def note(rows: pa.Table) -> pa.Table:
        given.append(rows.schema)
        return rows

    assert gpu.from_arrow(TABLE).map_partitions(note, TABLE.schema, frame="arrow").to_arrow().equals(TABLE)
    assert given == [TABLE.schema]


def test_rows_that_are_set_aside_keep_their_types(gpu, cpu, tmp_path):
    aside = []
    for engine in (gpu, cpu):
        rows = ps.Pipeline(st.Expect("n < 3", action="quarantine")).fit(engine.from_arrow(TABLE))
        written = rows.transform(engine.from_arrow(TABLE)).write_parquet(tmp_path / engine.kind)
        aside.append(cpu.read_parquet(written.quarantine).to_arrow())
    assert aside[0].equals(aside[1])
    assert aside[0]["day"].to_pylist() == [dt.date(1969, 12, 31), dt.date(9999, 12, 31)]


def test_other_types_are_taken_and_refused_alike(gpu, cpu, subtests):
    for fitted, scored in (
        (pa.array([1], pa.int8()), [1.0, None, 3.0]),
        (pa.array([1], pa.int8()), [1.0, 300.0]),
        (pa.array([1], pa.uint8()), [None, -1]),
        (pa.array([1]), [float("inf")]),
        (pa.array([[1.0]]), [[1], None]),
        (pa.array([True]), pa.nulls(2)),
    ):
        with subtests.test(fitted=fitted, scored=scored):
            model = ps.Pipeline(st.Rename({"x": "y"})).fit(cpu.from_arrow(pa.table({"x": fitted})))
            outcomes = []
            for engine in (gpu, cpu):
                try:
                    outcomes.append(model.transform(engine.from_arrow(pa.table({"x": scored}))).to_arrow())
                except DataValueError as error:
                    outcomes.append((error.message, error.row))
            assert outcomes[0] == outcomes[1]


def test_a_bad_list_is_told_with_its_row(gpu):
    data = gpu.from_arrow(pa.table({"v": [[1.0, 2.0], [3.0], [4.0, 5.0]]}))
    with pytest.raises(DataValueError, match="1 lists that are not of length 2") as caught:
        ps.Pipeline(st.PCA("v", 1)).fit(data)
    assert (caught.value.row, caught.value.path) == (1, "<memory>")


def test_decimals_are_counted_and_dates_of_any_year_compared(gpu, cpu):
    found, expected = (engine.from_arrow(TABLE).describe() for engine in (gpu, cpu))
    assert (found["price"].distinct, found["price"].top) == (expected["price"].distinct, expected["price"].top)
    assert (found["day"].first, found["day"].last) == (dt.date(1969, 12, 31), dt.date(9999, 12, 31))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each call of libcudf's reader is for."""
    noted, read = list[int](), cudf.read_parquet
    monkeypatch.setattr(cudf, "read_parquet", lambda paths, *rest: noted.append(len(paths)) or read(paths, *rest))
    return noted


def write(folder: Path, *tables: pa.Table) -> str:
    for place, table in enumerate(tables):
        pq.write_table(table, folder / f"{place}.parquet", row_group_size=2)
    return f"{folder}/*.parquet"


def test_files_that_are_alike_are_read_by_one_call(gpu, calls, tmp_path):
    files = write(tmp_path, TABLE, TABLE.slice(1), TABLE.slice(3))
    assert gpu.read_parquet(files).to_arrow().equals(pa.concat_tables([TABLE, TABLE.slice(1), TABLE.slice(3)]))
    assert calls == [3]


def test_parts_of_the_first_and_of_the_last_file_are_read_with_those_between(gpu, calls, tmp_path):
    data = gpu.read_parquet(write(tmp_path, *[TABLE] * 5))
    (part,) = deal(data.fragments, 3)[1]
    assert [(piece.first, piece.rows) for piece in part.pieces] == [(2, 2), (0, 4), (0, 1)]
    rows = data.reader.read(part, TABLE.column_names, "gpu")
    assert frames.to_arrow(rows, TABLE.schema).equals(pa.concat_tables([TABLE] * 5).slice(6, 7))
    assert calls == [3]


@pytest.mark.parametrize("other", [TABLE.set_column(0, "n", TABLE["n"].cast(pa.int32())), TABLE.drop_columns(["n"])])
def test_files_of_other_types_or_columns_are_read_one_by_one(gpu, cpu, calls, tmp_path, other):
    files = write(tmp_path, TABLE, other)
    found, expected = (engine.read_parquet(files, missing_columns="null").to_arrow() for engine in (gpu, cpu))
    assert found.equals(expected)
    assert calls == [1, 1]


def test_a_damaged_file_among_others_is_named(gpu, tmp_path):
    files = write(tmp_path, TABLE, TABLE)
    data = gpu.read_parquet(files)
    (tmp_path / "1.parquet").write_bytes(b"PAR1")
    with pytest.raises(ps.errors.InputError, match=r"1\.parquet"):
        data.to_arrow()


def test_a_gpu_has_larger_fragments_and_readers_may_say_otherwise(gpu, cpu):
    device = ps.devices.Device("gpu", 0, memory=64 * 2**30)
    assert fragment_bytes_on(device) == 2 * 2**30
    assert fragment_bytes_on(ps.devices.Device("gpu", 0, memory=2**30)) == cpu.fragment_bytes == 128 * 2**20
    assert len(cpu.from_arrow(TABLE, fragment_bytes=1).fragments) == 4


def test_every_reader_asks_for_the_fragments_of_the_device(gpu, tmp_path, monkeypatch):
    monkeypatch.setattr(fragments, "FRAGMENT_BYTES", 1)
    files, numbers = write(tmp_path, *[TABLE] * 4), TABLE.select(["n"])
    for memory, expected in ((32 * 10**6, (1, 1)), (32, (8, 4))):  # pieces of files are row groups
        monkeypatch.setattr(gpu, "device", ps.devices.Device("gpu", 0, memory=memory))
        found = (gpu.read_parquet(files), gpu.from_arrow(numbers))
        assert tuple(len(each.fragments) for each in found) == expected
