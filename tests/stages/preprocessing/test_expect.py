"""Expect: what becomes of rows that break a rule."""

import pickle

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import frames
from penstock.dataset.steps import RowLog
from penstock.errors import BadRowsError, ConfigError, SchemaError
from penstock.stages import Expect, Imputer, StandardScaler
from penstock.stages.base import Stage

AGES = pa.table({"age": [30, None, 200, 40], "name": ["a", "b", "c", "d"]})


def kept(stage, table=AGES):
    log = RowLog()
    frame = stage.bind(table.schema).filter(frames.from_arrow(table), {}, log)
    return frame, log


def test_raise_names_the_rule_the_count_and_the_first_values():
    with pytest.raises(BadRowsError, match=r"2 of 4 rows break the rule 'young', the first with age = None"):
        kept(Expect("age < 120", name="young"))


def test_raise_names_the_file_and_row(local, tmp_path):
    pq.write_table(AGES.slice(0, 1), tmp_path / "a.parquet")
    pq.write_table(AGES.slice(1), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    model = ps.Pipeline(Expect("age is None or age < 120")).fit(local.read_parquet(tmp_path / "a.parquet"))
    with pytest.raises(BadRowsError, match="the first with age = 200") as caught:
        model.transform(data).to_arrow()
    assert str(caught.value.path).endswith("b.parquet")
    assert (caught.value.row, caught.value.stage) == (1, "Expect")


def test_raise_is_checked_though_nothing_reads_its_columns(local):
    data = local.from_arrow(AGES)
    model = ps.Pipeline(Expect("age > 0 or age is None")).fit(data)
    bad = local.from_arrow(pa.table({"age": [-1], "name": ["x"]}))
    with pytest.raises(BadRowsError, match="1 of 1 rows break"):
        model.transform(bad).select("name").to_arrow()


def test_raise_is_checked_at_fit(local):
    data = local.from_arrow(pa.table({"x": [1.0, -1.0]}))
    with pytest.raises(BadRowsError, match="the first with x = -1"):
        ps.Pipeline(Expect("x > 0"), StandardScaler("x")).fit(data)


def test_drop_counts_the_rows():
    frame, log = kept(Expect("age < 120", action="drop"))
    assert frame["name"].to_list() == ["a", "d"]
    assert log.dropped == {"age < 120": 2}


def test_statistics_after_it_are_of_the_rows_left(local):
    data = local.from_arrow(pa.table({"x": [1.0, None, 3.0, 1000.0]}))
    model = ps.Pipeline(Expect("x is None or x < 100", action="drop"), Imputer("x")).fit(data)
    assert model.transform(data).to_arrow()["x"].to_pylist() == [1.0, 2.0, 3.0]
    assert model.report.rows.dropped == {"x is None or x < 100": 1}


def test_quarantine_keeps_row_number_reason_and_all_columns():
    numbered = AGES.append_column(frames.ROW, pa.array([100, 101, 102, 103]))
    frame, log = kept(Expect("age < 120", action="quarantine", name="young"), numbered)
    assert frame["name"].to_list() == ["a", "d"]
    assert log.quarantined == {"young": 2}
    (table,) = log.tables
    assert table.schema.types[:2] == [pa.int64(), pa.string()]
    assert table.to_pydict() == {
        "row": [101, 102],
        "reason": ["young", "young"],
        "age": [None, 200],
        "name": ["b", "c"],
    }


@pytest.mark.thorough
def test_quarantine_through_a_pipeline_is_written_beside_the_output(local, tmp_path):
    data = local.from_arrow(AGES, fragment_bytes=40)
    model = ps.Pipeline(Expect("age < 120", action="quarantine")).fit(data)
    model.transform(data).write_parquet(tmp_path / "out")
    assert pq.read_table(tmp_path / "out")["name"].to_pylist() == ["a", "d"]
    aside = pq.read_table(tmp_path / "out.quarantine")
    assert sorted(zip(aside["row"].to_pylist(), aside["name"].to_pylist(), strict=True)) == [(1, "b"), (2, "c")]
    assert set(aside["reason"].to_pylist()) == {"age < 120"}


def test_quarantine_after_a_step_that_makes_new_rows_has_no_row_numbers(local, tmp_path):
    data = local.from_arrow(AGES).map_partitions(lambda frame: frame, AGES.schema)
    model = ps.Pipeline(Expect("age < 120", action="quarantine")).fit(local.from_arrow(AGES))
    model.transform(data).write_parquet(tmp_path / "out")
    assert pq.read_table(tmp_path / "out.quarantine")["row"].to_pylist() == [None, None]


def test_two_rules_count_apart(local):
    rules = [Expect("age is not None", action="drop", name="known"), Expect("age < 120", action="drop", name="young")]
    data = local.from_arrow(AGES)
    model = ps.Pipeline(*rules, Imputer("age")).fit(data)
    assert model.report.rows.dropped == {"known": 1, "young": 1}


def test_row_numbers_are_read_only_where_they_are_told(subtests):
    for action, numbered in [("raise", True), ("drop", False), ("quarantine", True)]:
        with subtests.test(action=action, numbered=numbered):
            stage = pickle.loads(pickle.dumps(Expect("x > 0", action=action)))
            assert (stage.tags.keeps_rows, stage.tags.numbers_rows) == (False, numbered)
            assert Stage.tags.keeps_rows


def test_a_condition_that_is_none_is_refused_before_reading():
    with pytest.raises(SchemaError, match="'age' is Int64, expected a condition"):
        Expect("age").bind(AGES.schema)


def test_quarantine_columns_must_be_free(subtests):
    for column in ["row", "reason"]:
        told = f"the data has a column '{column}', which the quarantine"
        with subtests.test(column=column), pytest.raises(ConfigError, match=told):
            Expect("x > 0", action="quarantine").bind(pa.schema({"x": pa.int64(), column: pa.int64()}))


def test_wrong_parameters_are_refused(subtests):
    for parameters, message in [
        ({"condition": "x > 0", "action": "skip"}, "action of Expect is 'skip', expected one of raise, drop"),
        ({"condition": "x >"}, "condition 'x >' cannot be read"),
        ({"condition": "__import__('os').remove('x')"}, "this call is not allowed in a condition"),
    ]:
        with subtests.test(parameters=parameters):
            with pytest.raises(ConfigError, match=message) as caught:
                Expect(**parameters)
            assert caught.value.stage == "Expect"


def test_a_dataset_with_a_rule_counts_only_what_it_lets_through(local):
    data = local.from_arrow(AGES)
    model = ps.Pipeline(Expect("age < 120", action="drop")).fit(data)
    assert model.transform(data).count() == 2
    assert model.transform(data.filter(nw.col("name") == "a")).count() == 1
