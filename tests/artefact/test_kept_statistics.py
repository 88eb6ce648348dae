"""Statistics in a saved model: their documents name tables of their own, and nothing else."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ArtifactError

OWN = "statistics/0.0.parquet"


@pytest.fixture
def folder(local, tmp_path):
    rows = local.from_arrow(pa.table({"s": ["a", "b"], "t": ["c", "d"]}))
    pipeline = ps.Pipeline(st.StringIndexer("s"), st.StringIndexer("t"))
    pipeline.fit(rows, keep_statistics=True).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    "other", ["state/0.0.parquet", "statistics/1.0.parquet", "statistics/9.0.parquet", "../model/schema.json"]
)
def test_a_table_of_something_else_is_refused(folder, reseal, other):
    path = folder / "statistics" / "0.json"
    path.write_text(path.read_text().replace(OWN, other))
    reseal(folder)
    with pytest.raises(ArtifactError, match="is no part of it"):
        ps.PipelineModel.load(folder)


def test_a_table_is_no_model_file(folder, reseal):
    path = folder / "statistics" / "0.json"
    path.write_text(path.read_text().replace("$table", "$blob"))
    reseal(folder)
    with pytest.raises(ArtifactError, match="is no part of it"):
        ps.PipelineModel.load(folder)
