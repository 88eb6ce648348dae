"""Statistics in a saved model: their documents name tables of their own, and nothing else."""

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.artefact import load_statistics
from penstock.errors import ArtifactError, ArtifactIntegrityError

OWN = "statistics/0.0.parquet"


@pytest.fixture
def folder(local, tmp_path):
    rows = local.from_arrow(pa.table({"s": ["a", "b"], "t": ["c", "d"]}))
    pipeline = ps.Pipeline(st.StringIndexer("s"), st.StringIndexer("t"))
    pipeline.fit(rows, keep_statistics=True).save(tmp_path / "model")
    return tmp_path / "model"


def test_references_to_what_is_no_table_of_it_are_refused(folder, reseal, subtests):
    path = folder / "statistics" / "0.json"
    sound = path.read_text()
    others = "state/0.0.parquet", "statistics/1.0.parquet", "statistics/9.0.parquet", "../model/schema.json"
    rows = "#0+99", "#2+1", "#-1+2", "#1", "#a+b", "#0+²"
    for old, new, told in (
        *((OWN, other, "is no part of it") for other in others),
        ("$table", "$blob", "is no part of it"),
        *(("#0+2", each, r"names (no )?rows of a table") for each in rows),
    ):
        path.write_text(sound.replace(old, new))
        reseal(folder)
        with subtests.test(old=old, new=new), pytest.raises(ArtifactError, match=told):
            ps.PipelineModel.load(folder)


def test_tables_of_one_schema_lie_in_one_file(local, tmp_path):
    rows = local.from_arrow(pa.table({name: ["a", name] for name in "stuv"}))
    model = ps.Pipeline(st.StringIndexer(list("stuv"))).fit(rows, keep_statistics=True)
    model.save(tmp_path / "model")
    assert [path.name for path in (tmp_path / "model" / "statistics").glob("*.parquet")] == ["0.0.parquet"]
    assert ps.PipelineModel.load(tmp_path / "model").merge(model).digest == model.merge(model).digest


def test_statistics_are_read_without_what_was_learned_from_them(folder):
    (folder / "state" / "0.json").write_bytes(b"[" * (folder / "state" / "0.json").stat().st_size)
    assert set(load_statistics(folder).statistics) == {(0, "values"), (1, "values")}


def test_damaged_statistics_are_refused_when_they_are_read_alone(folder):
    (folder / OWN).write_bytes(b"PAR1" + (folder / OWN).read_bytes()[4:-5] + b"!PAR1")
    with pytest.raises(ArtifactIntegrityError, match=r"0\.0\.parquet has"):
        load_statistics(folder)
