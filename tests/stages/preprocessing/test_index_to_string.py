"""IndexToString: types, numbers without a label, and as the inverse of StringIndexer."""

import math

import pyarrow as pa
import pytest

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.stages import IndexToString, StringIndexer

LABELS = ["a", "", "é"]


def labelled(values, kind=None, labels=LABELS, **options):
    stage = IndexToString("i", labels=labels, **options)
    table = pa.table({"i": pa.array(values, kind)})
    made = frames.to_arrow(stage.bind(table.schema).transform(frames.from_arrow(table), {}))
    assert made.schema == stage.bind(table.schema).output_schema(table.schema)
    return made["i"].to_pylist()


def test_numbers_of_any_type_have_labels(subtests):
    for kind in [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]:
        with subtests.test(kind=kind):
            assert labelled([2, 0, None, 1], kind) == ["é", "a", None, ""]


def test_the_result_has_the_type_of_the_labels(subtests):
    for labels in [["a", "b"], [7, -1], [True, False]]:
        with subtests.test(labels=labels):
            assert labelled([1, 0], labels=labels) == labels[::-1]


def test_a_number_without_a_label_is_refused_or_becomes_null(subtests):
    for bad in [3, -1, 2**53 + 1, 0.5, -0.5, 2.0000001, math.inf, -math.inf]:
        with subtests.test(bad=bad):
            with pytest.raises(DataValueError, match="'i' has 1 numbers without a label, expected whole ones, 0 to 2"):
                labelled([0, bad, None])
            assert labelled([0, bad, None], handle_invalid="ignore") == ["a", None, None]


def test_a_number_without_a_label_is_found_in_its_row(local):
    data = local.from_arrow(pa.table({"i": [0, None, 1, 9]}))
    with pytest.raises(DataValueError) as caught:
        ps.Pipeline(IndexToString("i", labels=LABELS)).fit(data).transform(data).to_arrow()
    assert (caught.value.column, caught.value.row, caught.value.stage) == ("i", 3, "IndexToString")


def test_it_is_the_inverse_of_string_indexer(local, subtests):
    for values in [["b", "a", "b", None], [7, -1, -1, None], [True, False, True, None]]:
        with subtests.test(values=values):
            data = local.from_arrow(pa.table({"c": values}))
            indexed = ps.Pipeline(StringIndexer("c")).fit(data)
            labels = indexed.fitted[0]["categories"]["c"]["value"].to_pylist()
            back = ps.Pipeline(IndexToString("c", labels=labels, handle_invalid="ignore"))
            codes = indexed.transform(data)
            assert back.fit(codes).transform(codes).to_arrow()["c"].to_pylist() == values


def test_wrong_labels_are_refused(subtests):
    for labels in [[], ["a", 1], [1.0], [None], [True, 1], [2**63]]:
        with subtests.test(labels=labels), pytest.raises(ConfigError, match="labels of IndexToString are"):
            IndexToString("i", labels=labels)


def test_a_wrong_choice_is_refused():
    with pytest.raises(ConfigError, match="handle_invalid"):
        IndexToString("i", labels=LABELS, handle_invalid="keep")
