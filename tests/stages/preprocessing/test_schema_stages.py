"""Stages that cast, rename, choose and drop columns: what they do to plans, rows and stages after them."""

from pathlib import Path

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.selectors import numeric
from penstock.stages.base import Stage
from penstock.testing.datasets import restricted

TABLE = pa.table({"a": [1, 2, None], "b": ["1", "x", "3"], "c": [0.5, None, 2.5]})


def fitted(*stages: Stage, table: pa.Table = TABLE) -> tuple[ps.PipelineModel, pa.Table]:
    data = ps.LocalEngine(device="cpu").from_arrow(table)
    model = ps.Pipeline(*stages).fit(data)
    return model, model.transform(data).to_arrow()


def test_columns_swap_their_names_in_rows_as_in_frames() -> None:
    model, made = fitted(st.Rename({"a": "c", "c": "a"}))
    assert made.equals(TABLE.rename_columns(["c", "b", "a"]))
    assert model.predict({"a": 1, "b": "z", "c": 0.5}) == {"c": 1, "a": 0.5}


def test_a_stage_learns_of_a_renamed_column_what_it_has_now() -> None:
    _, made = fitted(st.Imputer("a"), st.Rename({"a": "c", "c": "a"}), st.Imputer("a"))
    assert made["a"].to_pylist() == [0.5, 1.5, 2.5]
    assert made["c"].to_pylist() == [1.0, 2.0, 1.5]


def test_what_was_dropped_is_not_read_and_may_be_absent() -> None:
    model, made = fitted(st.Drop(("b",)), st.Imputer(numeric()))
    assert made.column_names == ["a", "c"]
    later = restricted(ps.LocalEngine(device="cpu").from_arrow(TABLE), ["a", "c"])
    assert model.transform(later).to_arrow().equals(made)
    assert model.transform(ps.LocalEngine(device="cpu").from_arrow(TABLE.drop_columns("b"))).to_arrow().equals(made)


def test_a_stage_after_it_cannot_name_what_was_left_out() -> None:
    for stage in (st.Drop("a"), st.Select(["b", "c"])):
        with pytest.raises(SchemaError, match="column 'a' is not in the data"):
            fitted(stage, st.Imputer("a"))


def test_selectors_choose_the_columns_that_stay() -> None:
    _, made = fitted(st.Select(numeric()))
    assert made.equals(TABLE.select(["a", "c"]))


def test_rows_that_cannot_be_cast_are_set_aside_at_fit_and_when_written(tmp_path: Path) -> None:
    data = ps.LocalEngine(device="cpu").from_arrow(TABLE)
    model = ps.Pipeline(st.Cast({"b": "int64"}, errors="quarantine"), st.StandardScaler("b")).fit(data)
    assert model.fitted[1]["mean"]["b"] == 2.0
    result = model.transform(data).write_parquet(tmp_path / "out")
    assert (result.rows, result.quarantined) == (2, {"cast 'b' from string to int64": 1})
    with pytest.raises(DataValueError, match="cast 'b' from string to int64"):
        model.predict({"a": 1, "b": "x", "c": 0.5})


def test_a_value_that_cannot_be_cast_is_named_in_a_batch_and_in_a_row() -> None:
    model, _ = fitted(st.Cast({"b": "int64"}), table=TABLE.slice(2))
    with pytest.raises(DataValueError, match=r"column 'b' has 1 value\(s\) that int64 does not hold: 'x'") as caught:
        model.transform(ps.LocalEngine(device="cpu").from_arrow(TABLE)).to_arrow()
    assert caught.value.row == 1
    with pytest.raises(DataValueError, match=r"column 'b' has 1 value\(s\) that int64 does not hold: 'x'"):
        model.predict({"a": 1, "b": "x", "c": 0.5})


def test_wrong_parameters_are_told_before_anything_is_read(subtests: pytest.Subtests) -> None:
    for make, kind, match in [
        (lambda: st.Rename("a"), ConfigError, "columns of Rename is 'a'"),
        (lambda: st.Rename({"a": "b"}), ConfigError, "Rename would call 2 columns 'b'"),
        (lambda: st.Cast({}), ConfigError, "types of Cast"),
        (lambda: st.Cast({"a": "int9"}), ConfigError, "type 'int9' of column 'a'"),
        (lambda: st.Cast({"a": "int8"}, errors="drop"), ConfigError, "errors of Cast is 'drop'"),
        (lambda: st.Cast({"a": "timestamp"}), SchemaError, "Cast cannot turn column 'a' from int64 to timestamp"),
        (lambda: st.Drop(["a", "b", "c"]), ConfigError, "Drop would leave no column"),
        (lambda: st.Select(["z"]), SchemaError, "column 'z' is not in the data"),
        (lambda: st.CleanText("b", replace=[("(", "")]), ConfigError, "pattern '.' of CleanText cannot be read"),
        (lambda: st.CleanText("b", replace=["ab"]), ConfigError, "replace of CleanText"),
        (lambda: st.CleanText("b", case="title"), ConfigError, "case of CleanText"),
    ]:
        with subtests.test(make=make), pytest.raises(kind, match=match):
            fitted(make())


def test_texts_that_people_take_for_the_same_are_made_so() -> None:
    texts = ["\uff35lm\u00a0am\tRhein ", "ulm am  rhein", "\ufb01ne", "", None]
    _, made = fitted(st.CleanText("t", case="lower", replace=[("rhein", "donau")]), table=pa.table({"t": texts}))
    assert made["t"].to_pylist() == ["ulm am rhein", "ulm am donau", "fine", "", None]
