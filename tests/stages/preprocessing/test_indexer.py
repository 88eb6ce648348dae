"""StringIndexer against MLlib, scikit-learn and the documented table, and IndexToString, its inverse."""

import collections
import math

import numpy as np
import pyarrow as pa
import pytest
import sklearn.preprocessing
from encoder_values import encoded as codes
from sklearn.utils import murmurhash3_32

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import IndexToString, StringIndexer


def test_the_orders_are_those_of_mllib(learn, request, subtests):
    values = ["b", "c", "b", "a", "c", "d", "b"]
    orders = {
        "frequencyDesc": ["b", "c", "a", "d"],
        "frequencyAsc": ["a", "d", "c", "b"],
        "alphabetDesc": ["d", "c", "b", "a"],
        "alphabetAsc": ["a", "b", "c", "d"],
    }
    for order, expected in orders.items():
        with subtests.test(order=order):
            learned = learn(StringIndexer("c", string_order_type=order), pa.table({"c": values}))
            assert learned[1]["categories"]["c"]["value"].to_pylist() == expected
    if "spark" in request.config.getoption("--engines"):
        from pyspark.ml.feature import StringIndexer as Theirs

        data = request.getfixturevalue("spark").createDataFrame(pa.table({"c": values})).coalesce(1)
        assert {o: Theirs(inputCol="c", outputCol="i", stringOrderType=o).fit(data).labels for o in orders} == orders


def test_the_most_frequent_values_have_codes_in_any_order(learn):
    table = pa.table({"c": ["z", "z", "a", "m", "m"]})
    learned = learn(StringIndexer("c", max_categories=2, string_order_type="alphabetAsc"), table)
    assert codes(learned, "m", "z", "a", None) == [0, 1, 2, 3]


def test_ties_are_in_the_order_of_utf8_bytes(learn):
    values = ["é", "a", "Z", "é", "a", "Z", "\U0001f600", "￿", "first", "first", "first"]
    _, fitted = learn(StringIndexer("c"), pa.table({"c": values}))
    count = collections.Counter(values)
    expected = sorted(count, key=lambda value: (-count[value], value.encode()))
    assert fitted["categories"]["c"]["value"].to_pylist() == expected


def test_codes_are_int32(apply):
    assert apply(StringIndexer("c"), pa.table({"c": ["a"]})).schema.field("c").type == pa.int32()


def test_integers_are_matched_by_their_text_whatever_their_width(learn):
    learned = learn(StringIndexer("c"), pa.table({"c": pa.array([10, 10, -2, 7, 2**62], pa.int64())}))
    assert codes(learned, 10, -2, 7, 2**62, 8, None) == [0, 1, 2, 3, 4, 5]
    assert codes(learned, 10, -2, 7, kind=pa.int8()) == [0, 1, 2]


def test_infrequent_values_are_those_of_scikit_learn(learn, subtests):
    values = ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["d"] * 1 + [None] * 1
    for min_frequency in [1, 2, 3, 0.1, 0.25, 0.99]:
        with subtests.test(min_frequency=min_frequency):
            _, fitted = learn(StringIndexer("c", min_frequency=min_frequency), pa.table({"c": values}))
            oracle = sklearn.preprocessing.OneHotEncoder(min_frequency=min_frequency).fit(
                np.array(values, object)[:, None]
            )
            infrequent = oracle.infrequent_categories_[0]
            rare = set() if infrequent is None else set(infrequent)
            assert set(fitted["categories"]["c"]["value"].to_pylist()) == {"a", "b", "c", "d"} - rare


def test_error_refuses_unseen_values_with_the_five_most_frequent(learn):
    learned = learn(StringIndexer("c", handle_invalid="error"), pa.table({"c": ["a", None]}))
    assert codes(learned, "a", None) == [0, 2]
    new = ["a", "z", "z", "y", *"uvwx", "x" * 1000]
    with pytest.raises(DataValueError, match=r"has 8 values that were not there at fit, 7 different") as caught:
        codes(learned, *new)
    assert "'z' (2), 'u' (1), 'v' (1), 'w' (1), 'x' (1), ..." in str(caught.value)


def test_an_unseen_value_is_found_in_its_row(local):
    model = ps.Pipeline(StringIndexer("c", handle_invalid="error")).fit(local.from_arrow(pa.table({"c": [True, True]})))
    with pytest.raises(DataValueError, match=r"'false' \(1\)") as caught:
        model.transform(local.from_arrow(pa.table({"c": [None, True, False]}))).to_arrow()
    assert (caught.value.row, caught.value.column, caught.value.stage) == (2, "c", "StringIndexer")


def test_a_long_unseen_value_is_cut_in_the_message(learn):
    learned = learn(StringIndexer("c", handle_invalid="error"), pa.table({"c": ["a"]}))
    with pytest.raises(DataValueError, match=r"'x{60}\.\.\.' \(1\)") as caught:
        codes(learned, "x" * 2**20)
    assert len(str(caught.value)) < 500


def test_inverse_gives_back_values_and_types(learn, subtests):
    for values, kind in [
        (["b", "a", "b", None], pa.string()),
        ([7, -1, 2**62, None], pa.int64()),
        ([True, False, None, None], pa.bool_()),
    ]:
        with subtests.test(values=values, kind=kind):
            table = pa.table({"c": pa.array(values, kind)})
            bound, fitted = learn(StringIndexer("c"), table)
            encoded = bound.transform(frames.from_arrow(table), fitted)
            assert frames.to_arrow(bound.inverse(encoded, fitted)).equals(table)


def test_inverse_of_other_numbers_is_null(learn):
    bound, fitted = learn(StringIndexer("c", output_columns=["code"]), pa.table({"c": ["a"]}))
    frame = frames.from_arrow(pa.table({"code": pa.array([0, 1, 2, -1, 99, None], pa.int32())}))
    assert bound.inverse(frame, fitted)["c"].to_list() == ["a", None, None, None, None, None]


def test_unseen_and_infrequent_values_share_buckets_by_their_hash(learn):
    values = ["a"] * 3 + ["b"] * 2 + ["rare", None]
    learned = learn(StringIndexer("c", min_frequency=2, num_oov_buckets=7), pa.table({"c": values}))
    new = ["rare", "x", "größe", ""]
    expected = [2 + murmurhash3_32(value.encode(), 42) % 7 for value in new]
    assert codes(learned, "a", "b", *new, None) == [0, 1, *expected, 9]
    assert codes(learned, "b", "a", None) == [1, 0, 9]  # none of them unseen


def test_reserved_codes_come_before_the_vocabulary_in_their_order(learn, subtests):
    for reserved, buckets, expected in [
        (("pad",), 1, [1, 2, 3, 4]),
        (("pad", "null", "unseen"), 1, [3, 4, 2, 1]),
        (("unseen",), 5, [5, 6, 0 + 3, 7]),
        (("pad", "unseen"), 5, [6, 7, 1 + 3, 8]),
        (("null", "pad"), 5, [2, 3, 4 + 3, 0]),
    ]:
        with subtests.test(reserved=reserved, buckets=buckets):
            stage = StringIndexer("c", reserved=reserved, num_oov_buckets=buckets)
            bound, fitted = learned = learn(stage, pa.table({"c": ["b", "a", "b"]}))
            assert murmurhash3_32(b"q", 42) % 5 == 3
            assert codes(learned, "b", "a", "q", None) == expected
            assert [bound.value_function("c", pa.string(), fitted)(v) for v in ("b", "a", "q", None)] == expected
            frame = frames.from_arrow(pa.table({"c": pa.array(range(9), pa.int32())}))
            inverted = bound.inverse(frame, fitted)["c"].to_list()
            assert [inverted.index("b"), inverted.index("a"), inverted.count(None)] == [*expected[:2], 7]


def test_a_column_may_have_any_name(apply):
    table = pa.table({"bucket": ["a", "a", "z"], "place": ["b", None, "b"]})
    stage = StringIndexer(["bucket", "place"], min_frequency=2, reserved="unseen", num_oov_buckets=2)
    z = murmurhash3_32(b"z", 42) % 2
    assert apply(stage, table).to_pydict() == {"bucket": [2, 2, z], "place": [2, 3, 2]}


def test_one_vocabulary_of_several_columns_counts_them_together(apply):
    table = pa.table({"i": pa.array([5, 5, 7, None], pa.int8()), "j": pa.array([7, 9, 7, 2**40], pa.int64())})
    made = apply(StringIndexer(["i", "j"], joint=True, min_frequency=2), table)
    assert made.to_pydict() == {"i": [1, 1, 0, 3], "j": [0, 2, 0, 2]}


def test_a_share_is_of_the_rows_of_all_columns(learn):
    table = pa.table({"i": ["a", "a", "a", "b"], "j": [None, None, "b", "c"]})
    _, fitted = learn(StringIndexer(["i", "j"], joint=True, min_frequency=0.25), table)
    assert fitted["categories"]["j"].to_pydict() == {"value": ["a", "b"], "count": [3, 2]}
    assert fitted["categories"]["i"].equals(fitted["categories"]["j"])


def test_columns_of_several_types_have_no_vocabulary_in_common():
    with pytest.raises(SchemaError, match=r"'c' \(string\), 'n' \(int64\) of StringIndexer cannot have one"):
        StringIndexer(["c", "n"], joint=True).bind(pa.schema({"c": pa.string(), "n": pa.int64()}))


def test_a_vocabulary_that_is_given_is_taken_in_its_order_without_reading(apply, subtests):
    for vocabulary in [["z", "a"], {"c": ["z", "a"], "d": ["z", "a"]}]:
        with subtests.test(vocabulary=vocabulary):
            stage = StringIndexer(["c", "d"], vocabulary=vocabulary)
            table = pa.table({"c": ["a", "z", "q"], "d": ["z", None, "a"]})
            assert stage.bind(table.schema).statistics(table.schema) == {}
            assert apply(stage, table).to_pydict() == {"c": [1, 0, 2], "d": [0, 3, 1]}
            assert StringIndexer.from_parameters(stage.parameters()) == stage
            assert hash(StringIndexer.from_parameters(stage.parameters())) == hash(stage)


def test_vocabularies_of_columns_of_several_types(apply):
    stage = StringIndexer(["n", "b"], vocabulary={"b": [True, False], "n": [-3, 2**40]})
    assert apply(stage, pa.table({"n": [2**40, -3, 0], "b": [False, True, None]})).to_pydict() == {
        "n": [1, 0, 2],
        "b": [1, 0, 3],
    }


def test_a_vocabulary_that_does_not_fit_its_column_is_refused(subtests):
    for vocabulary, message in [
        ([1, 2], r"vocabulary of column 'c' is \(1, 2\), expected different values of type string"),
        (["a", "a"], r"vocabulary of column 'c' is \('a', 'a'\), expected different values"),
        (["a", None], r"vocabulary of column 'c' is \('a', None\), expected"),
        ([], r"vocabulary of column 'c' is \(\), expected"),
        ({"d": ["a"]}, r"vocabulary of StringIndexer is for columns d, expected one for each of its columns: c"),
    ]:
        with subtests.test(vocabulary=vocabulary), pytest.raises(ConfigError, match=message):
            StringIndexer("c", vocabulary=vocabulary).bind(pa.schema({"c": pa.string()}))


def test_wrong_parameters_are_refused(subtests):
    for parameters, message in [
        ({"min_frequency": 0}, r"min_frequency of StringIndexer is 0, expected an integer >= 1"),
        ({"min_frequency": 0.0}, r"min_frequency of StringIndexer is 0.0, expected a number > 0 and <= 1"),
        ({"min_frequency": 1.5}, r"min_frequency of StringIndexer is 1.5, expected a number > 0 and <= 1"),
        ({"max_categories": 0}, r"max_categories of StringIndexer is 0, expected an integer >= 1"),
        ({"max_categories": 2.5}, r"max_categories of StringIndexer is 2.5, expected an integer"),
        ({"handle_invalid": "skip"}, r"handle_invalid of StringIndexer is 'skip', expected one of keep, error"),
        ({"handle_invalid": "error", "max_categories": 9}, r"is 'error' with min_frequency or max_categories"),
        ({"handle_invalid": "error", "min_frequency": 2}, r"is 'error' with min_frequency or max_categories"),
        ({"handle_invalid": "error", "num_oov_buckets": 2}, r"is 'error' with .* num_oov_buckets"),
        ({"num_oov_buckets": 0}, r"num_oov_buckets of StringIndexer is 0, expected an integer >= 1"),
        ({"reserved": ["nul"]}, r"reserved of StringIndexer is \('nul',\), expected some of pad, null, unseen"),
        ({"reserved": ["pad", "pad"]}, r"reserved of StringIndexer is"),
        ({"vocabulary": "abc"}, r"vocabulary of StringIndexer is 'abc', expected a sequence"),
        ({"vocabulary": {"c": "abc"}}, r"vocabulary of StringIndexer is .*, expected a sequence"),
        ({"vocabulary": ["a"], "joint": True}, r"has a vocabulary with min_frequency, max_categories or joint"),
        ({"vocabulary": ["a"], "max_categories": 1}, r"has a vocabulary with min_frequency"),
        ({"vocabulary": ["a"], "string_order_type": "alphabetAsc"}, r"has a vocabulary, whose order counts"),
        ({"string_order_type": "count"}, r"string_order_type of StringIndexer is 'count', expected one of frequency"),
    ]:
        with subtests.test(parameters=parameters), pytest.raises(ConfigError, match=message):
            StringIndexer("c", **parameters)


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
