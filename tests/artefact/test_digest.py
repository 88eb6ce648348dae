"""The digest: equal for equal values, however they are held, and for no others."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

from penstock.errors import UnsupportedStepError
from penstock.pipeline import PipelineModel
from penstock.stages.base import Blob, ColumnStage, Fitted
from penstock.stages.trainer import Trainer


@dataclass(frozen=True)
class Keep(ColumnStage):
    option: Any = None

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame


@dataclass(frozen=True)
class Learn(Keep, Trainer):
    def training_columns(self):
        return self.inputs()

    def train(self, rank, learned):
        return learned


def digest(value: object, option: object = None, kind: type[Keep] = Keep) -> str:
    return PipelineModel((kind(("x",), option=option),), ({"value": value},), pa.schema({"x": pa.float64()})).digest


def column(*values: object, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"value": pa.array(list(values), kind)})


TEXT = column("a", None, "", "é")
FLAGS = column(True, None, False)
LISTS = column([1, 2], None, [], [3, None])


def test_is_a_sha256():
    name, value = digest(1).split(":")
    assert name == "sha256"
    assert len(value) == 64
    assert int(value, 16) >= 0


EQUAL = {
    "keys": ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
    "tuple": ([1, 2], (1, 2)),
    "chunks": (TEXT, pa.concat_tables([TEXT.slice(0, 1), TEXT.slice(1, 0), TEXT.slice(1)])),
    "large": (TEXT, TEXT.cast(pa.schema({"value": pa.large_string()}))),
    "dictionary": (TEXT, pa.table({"value": TEXT["value"].dictionary_encode()})),
    "slice": (TEXT, pa.concat_tables([column("zz"), TEXT, column("yy")]).combine_chunks().slice(1, 4)),
    "list chunks": (LISTS, pa.concat_tables([LISTS.slice(0, 1), LISTS.slice(1)])),
    "list slice": (LISTS, pa.concat_tables([column([9]), LISTS]).combine_chunks().slice(1)),
    "flags": (FLAGS, pa.concat_tables([column(False), FLAGS]).combine_chunks().slice(1)),
    "metadata": (column(1.5), column(1.5).replace_schema_metadata({"origin": "elsewhere"})),
}


def test_equal_values_have_one_digest():
    for name, (one, other) in EQUAL.items():
        assert digest(one) == digest(other), name


def test_what_lies_under_a_null_does_not_count():
    under = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.array([7, 99]).buffers()[1]])
    assert digest(pa.table({"value": under})) == digest(column(7, None))


def test_different_values_have_different_digests(subtests):
    for one, other in (
        (0.1, 0.1 + 2**-56),
        (1, 1.0),
        (1, True),
        (None, "None"),
        ("1", 1),
        ([1, [2]], [[1], 2]),
        (["ab"], ["a", "b"]),
        ({"a": 1}, {"b": 1}),
        ({}, []),
        (column(1, 2), column(2, 1)),
        (column(1, None), column(None, 1)),
        (column(1), column(1, kind=pa.int32())),
        (column("ab", "c"), column("a", "bc")),
        (column("", None), column(None, "")),
        (column(b"a"), column("a")),
        (column([1], [2]), column([1, 2], [])),
        (column([1], None), column([1], [])),
        (column(None), column(None, None)),
        (column(0.1), column(0.1 + 2**-56)),
        (column(1).rename_columns(["count"]), column(1)),
        (Blob("a", b"x"), Blob("a", b"y")),
        (Blob("a", b"x"), Blob("b", b"x")),
    ):
        with subtests.test(one=one, other=other):
            assert digest(one) != digest(other)


def test_parameters_and_stage_names_count():
    other = dataclasses.make_dataclass("Other", [], bases=(Keep,), frozen=True)
    assert len({digest(1), digest(1, option=2), digest(1, kind=other)}) == 3


def test_what_trainers_learned_counts():
    assert digest(1, kind=Learn) != digest(2, kind=Learn)
    assert digest(Blob("a", b"x"), kind=Learn) != digest(Blob("a", b"y"), kind=Learn)


def test_the_digest_of_preprocessing_leaves_trainers_out():
    schema = pa.schema({"x": pa.float64()})
    models = [PipelineModel((Keep(("x",)), Learn(("x",))), ({"a": 1}, {"b": b}), schema) for b in (1, 2)]
    assert models[0].preprocessing_digest == models[1].preprocessing_digest
    assert models[0].preprocessing_digest != PipelineModel((Keep(("x",)),), ({"a": 2},), schema).preprocessing_digest


def test_what_is_no_plain_data_and_a_table_of_structs_have_none():
    with pytest.raises(UnsupportedStepError, match="object"):
        digest(object())
    with pytest.raises(UnsupportedStepError, match="struct"):
        digest(column({"a": 1}))
