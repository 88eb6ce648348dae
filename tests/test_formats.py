"""The table of formats: the general doors, and a format that is made outside the package."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import frames
from penstock import stages as st
from penstock.cli import inputs
from penstock.core.scheduler import Scheduler
from penstock.errors import ConfigError, SchemaDriftError
from penstock.io.formats import FORMATS, Format, TableOptions
from penstock.io.fragments import Fragment, Piece, pack, row_bytes
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.files import InputFile, Storage

TABLE = pa.table(
    {
        "id": range(40),
        "x": [None if row % 7 == 0 else row / 3 for row in range(40)],
        "c": [f"c{row % 3}" for row in range(40)],
        "y": [2.0 * row for row in range(40)],
    }
)


@dataclass(frozen=True)
class OwnHead:
    """Reads the schema and the rows of a file."""

    storage: Storage

    def __call__(self, file: InputFile) -> tuple[pa.Schema, int]:
        with self.storage.open(file.path) as stream:
            opened = pa.orc.ORCFile(stream)
            return opened.schema, opened.nrows


@dataclass(frozen=True)
class OwnSource:
    schema: pa.Schema
    storage: Storage

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        with self.storage.open(piece.path) as stream:
            table = pa.orc.read_table(stream, columns=list(columns)).select(columns)
        return frames.from_arrow(table.slice(piece.first, piece.rows), kind)


@dataclass(frozen=True)
class OwnWriter(PartWriter):
    compression: str = "zstd"

    kind: ClassVar[str] = "own"
    suffix: ClassVar[str] = ".own"

    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        with open(path, "xb") as sink:
            pa.orc.write_table(frames.to_arrow(frame, self.schema), sink, compression=self.compression)


class Own(Format[TableOptions]):
    name: ClassVar[str] = "own"
    suffixes: ClassVar[tuple[str, ...]] = (".own",)
    writer: ClassVar[type[PartWriter] | None] = OwnWriter

    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: TableOptions
    ) -> tuple[OwnSource, tuple[Fragment, ...]]:
        heads = list(scheduler.map(OwnHead(storage), files, label="footers"))
        schema = heads[0][0]
        pieces = [
            Piece(file.path, 0, rows, file.size, file.mtime, names=tuple(schema.names))
            for file, (_, rows) in zip(files, heads, strict=True)
        ]
        return OwnSource(schema, storage), pack(pieces, row_bytes(schema), options.fragment_bytes)


for each in (OwnHead, OwnSource, OwnWriter):
    each.__module__ = "__main__"  # so that they travel to workers, which cannot import this file


@pytest.fixture
def own() -> Iterator[Own]:
    format = Own()
    ps.register_format(format)
    yield format
    del FORMATS["own"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of a format that is not of the table; inside they are ORC."""
    (tmp_path / "in").mkdir()
    pa.orc.write_table(TABLE.slice(0, 25), tmp_path / "in" / "a.own")
    pa.orc.write_table(TABLE.slice(25), tmp_path / "in" / "b.own")
    return tmp_path / "in"


def fitted(data: ps.Dataset) -> tuple[str, list[Any]]:
    pipeline = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x"), st.StringIndexer("c"), st.LinearRegression("y"))
    model = pipeline.fit(data)
    return model.digest, model.transform(data).to_arrow()["prediction"].to_pylist()


@pytest.mark.thorough
def test_a_format_made_outside_the_package_is_read_fitted_on_and_scored_as_parquet_is(engine, own, folder, tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=25)
    size = 25 * row_bytes(TABLE.schema)
    data = engine.read("own", folder, allow_unmanifested=True, fragment_bytes=size)
    assert len(data.fragments) == 2
    assert data.to_arrow().equals(TABLE)
    assert data.filter(nw.col("id") >= 30).count() == 10
    assert fitted(data) == fitted(engine.read_parquet(tmp_path / "a.parquet", fragment_bytes=size))
    data.write(tmp_path / "out", format="own", compression="snappy")
    assert sorted(os.listdir(tmp_path / "out")) == ["_manifest.json", "part-00000.own", "part-00001.own"]
    assert engine.read("own", tmp_path / "out").to_arrow().equals(TABLE)


def test_the_command_line_finds_a_registered_format_by_its_suffix(local, own, folder):
    assert inputs.format_of([str(folder / "a.own")]) == "own"
    assert inputs.read(local, [str(folder / "*.own")]).to_arrow().equals(TABLE)


def test_a_format_that_is_not_known_is_told_with_the_nearest_name(local):
    with pytest.raises(ConfigError, match=r"format is 'parket'.* Did you mean 'parquet'\?"):
        local.read("parket", "a.parquet")


def test_an_option_that_a_format_does_not_have_is_told_with_the_nearest_name(local, tmp_path):
    with pytest.raises(ConfigError, match=r"reading csv takes no option 'delimeter'\. Did you mean 'delimiter'\?"):
        local.read("csv", tmp_path, delimeter=";")
    with pytest.raises(ConfigError, match=r"reading parquet takes no option 'max_bad_records'\."):
        local.read("parquet", tmp_path, max_bad_records=1)


def test_a_name_that_another_format_has_is_refused(own):
    class Other(Own):
        aliases = ("jsonl",)

    with pytest.raises(ConfigError, match="format 'jsonl' is there already"):
        ps.register_format(Other())
    with pytest.raises(ConfigError, match=r"takes a Format, found abc\.ABCMeta"):
        ps.register_format(Own)


def test_the_general_door_logs_and_refuses_what_the_reader_of_one_format_does(local, tmp_path, caplog):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n")
    (tmp_path / "b.csv").write_text("x\n2\n")
    with pytest.raises(SchemaDriftError):
        local.read("csv", f"{tmp_path}/*.csv")
    read = local.read("csv", f"{tmp_path}/*.csv", missing_columns="null", schema={"x": "int8", "y": "string"})
    assert read.to_arrow() == pa.table({"x": pa.array([1, 2], pa.int8()), "y": ["a", None]})
    assert "column 'y' is null for 1 rows of 1 file(s)" in caplog.text
