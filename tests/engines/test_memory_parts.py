"""A fragment that does not fit in memory is worked on in parts, and gives what it gives as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import MemoryLimitError
from penstock.frames import Kind
from penstock.io.fragments import SLICE_ROWS, Piece
from penstock.io.sources import base
from penstock.pipeline import Pipeline
from penstock.statistics import Gram, Moments

ROWS = 5 * SLICE_ROWS + 77
NAMES = ["a", "b", *(f"x{place}" for place in range(10))]


@pytest.fixture
def rows(local: Engine, tmp_path: Path) -> Dataset:
    draw = np.random.default_rng(5)
    columns: dict[str, Any] = {name: draw.lognormal(size=ROWS) for name in NAMES}
    columns["c"] = pa.array(draw.choice(["x", "y", "z"], ROWS), mask=draw.random(ROWS) < 0.1)
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    return local.read_parquet(tmp_path / "rows.parquet", fragment_bytes=2**40)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of the reads that fit in memory: two slices at most."""
    read, sizes = base.read_pieces, list[int]()

    def read_pieces(source: base.Source, pieces: Sequence[Piece], columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        if (size := sum(piece.rows for piece in pieces)) > 2 * SLICE_ROWS:
            raise MemoryError("std::bad_alloc")
        sizes.append(size)
        return read(source, pieces, columns, kind)

    monkeypatch.setattr(base, "read_pieces", read_pieces)
    return sizes


def pipeline() -> Pipeline:
    return Pipeline(st.Imputer("a", strategy="mean"), st.Log1p("a"), st.StandardScaler(NAMES), st.StringIndexer("c"))


def test_a_fit_learns_the_same_to_the_bit_from_parts(rows: Dataset, request: pytest.FixtureRequest) -> None:
    whole = pipeline().fit(rows)
    sizes = request.getfixturevalue("fits")
    model = pipeline().fit(rows)
    assert model.digest == whole.digest
    assert sizes == [2 * SLICE_ROWS, SLICE_ROWS, SLICE_ROWS, SLICE_ROWS + 77]
    assert (model.report.rows.read, model.report.rows.kept) == (ROWS, ROWS)


def test_rows_that_are_written_are_the_same_from_parts(
    rows: Dataset, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    model = pipeline().fit(rows)
    some = model.transform(rows.filter(nw.col("b") > 1))
    expected = some.to_arrow()
    request.getfixturevalue("fits")
    report = some.write_parquet(tmp_path / "out")
    assert pa.concat_tables(map(pq.read_table, sorted((tmp_path / "out").glob("*.parquet")))).equals(expected)
    assert (report.read, report.rows) == (ROWS, len(expected))


def test_rows_that_are_set_aside_are_all_written_from_parts(
    rows: Dataset, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    checked = Pipeline(st.Expect("b > 1", action="quarantine")).fit(rows).transform(rows)
    request.getfixturevalue("fits")
    report = checked.write_parquet(tmp_path / "out", quarantine=tmp_path / "aside")
    aside = sum(pq.read_metadata(path).num_rows for path in (tmp_path / "aside").glob("*.parquet"))
    assert aside == ROWS - report.rows > 0


def test_a_function_of_partitions_gets_no_part_of_one(rows: Dataset, fits: list[int]) -> None:
    mapped = rows.map_partitions(lambda frame: frame.head(1), rows.schema)
    with pytest.raises(MemoryLimitError, match="std::bad_alloc"):
        mapped.to_arrow()


def test_a_statistic_whose_sums_depend_on_the_cut_refuses_parts(rows: Dataset, fits: list[int]) -> None:
    with pytest.raises(MemoryLimitError, match="std::bad_alloc"):
        rows.gather([Gram(("a", "b"))])


def test_moments_of_rows_that_a_filter_leaves_refuse_parts(rows: Dataset, fits: list[int]) -> None:
    with pytest.raises(MemoryLimitError, match="std::bad_alloc"):
        rows.filter(nw.col("b") > 1).gather([Moments(("a",))])


def test_text_is_not_cut_at_rows(local: Engine, tmp_path: Path, fits: list[int]) -> None:
    for name in ("one.csv", "other.csv"):
        (tmp_path / name).write_text("a\n" + "1\n" * (2 * SLICE_ROWS))
    with pytest.raises(MemoryLimitError, match="std::bad_alloc"):
        local.read_csv(f"{tmp_path}/*.csv").to_arrow()
