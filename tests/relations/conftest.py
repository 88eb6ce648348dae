"""Sales and shops as datasets of the local engine, in some fragments."""

import pyarrow.parquet as pq
import pytest
from duck_tables import SALES, SHOPS


@pytest.fixture
def sales(local):
    return local.from_arrow(SALES, fragment_bytes=200)


@pytest.fixture
def shops(local):
    return local.from_arrow(SHOPS, fragment_bytes=100)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Folder of sales and shops, in two files each: engines neither send their rows to workers nor stage them."""
    folder = tmp_path_factory.mktemp("sales and shops")
    for name, table in (("sales", SALES), ("shops", SHOPS)):
        (folder / name).mkdir()
        half = table.num_rows // 2
        pq.write_table(table.slice(0, half), folder / name / "0.parquet")
        pq.write_table(table.slice(half), folder / name / "1.parquet")
    return folder
