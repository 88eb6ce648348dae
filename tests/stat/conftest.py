"""Rows in several files."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 900


@pytest.fixture(scope="session")
def drawn() -> dict[str, np.ndarray]:
    """Columns that have to do with each other, of many values and of few."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 3, ROWS)
    return {
        "label": label,
        "x": rng.normal(size=ROWS) + label,
        "y.z": np.round(rng.exponential(size=ROWS), 1) - 1e6,
        "n": rng.integers(0, 4, ROWS).astype(np.uint8),
        "b": rng.uniform(size=ROWS) < 0.2 + 0.2 * label,
        "c": np.array(["p", "q", "r", "s"])[np.minimum(rng.integers(0, 4, ROWS), label + 1)],
        "w": rng.exponential(size=ROWS) * rng.integers(0, 2, ROWS),
    }


@pytest.fixture(scope="session")
def folder(drawn: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The columns in three files, so that states of fragments are merged."""
    folder = tmp_path_factory.mktemp("drawn")
    for part, rows in enumerate(np.array_split(np.arange(ROWS), 3)):
        pq.write_table(pa.table({name: values[rows] for name, values in drawn.items()}), folder / f"{part}.parquet")
    return folder


@pytest.fixture
def data(engine: Any, folder: Any) -> Any:
    return engine.read_parquet(folder, allow_unmanifested=True)
