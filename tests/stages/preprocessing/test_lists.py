"""MultiHot, ListSlice and ListPad against Python's own lists."""

import pyarrow as pa
import pytest

from penstock.errors import ConfigError, SchemaError
from penstock.stages import ListPad, ListSlice, MultiHot

LISTS = [[], [1], [1, 2, None], None, [3, 4, 5, 6, 7]]


def test_categories_are_those_in_most_lists_whatever_their_counts(learn, subtests):
    lists = [["3", "3", "3"], ["2"], ["2", "1"], ["1", None], None]
    for kind in [pa.string(), pa.int64(), pa.uint8()]:
        with subtests.test(kind=kind):
            given = pa.array(lists, pa.list_(pa.string())).cast(pa.list_(kind))
            _, fitted = learn(MultiHot("t", max_categories=5), pa.table({"t": given}))
            assert fitted["categories"]["t"]["value"].cast(pa.string()).to_pylist() == ["1", "2", "3"]
            assert fitted["categories"]["t"]["lists"].to_pylist() == [2, 2, 1]


def test_infrequent_values_have_no_column(learn, subtests):
    lists = pa.table({"t": [["a"], ["b", "b"], ["b", "a"], ["c"], None]})
    for least, kept in [(1, 3), (2, 2), (0.4, 2), (0.41, 0)]:
        with subtests.test(least=least, kept=kept):
            _, fitted = learn(MultiHot("t", max_categories=5, min_frequency=least), lists)
            assert fitted["categories"]["t"].num_rows == kept


def test_others_and_null_are_kept_or_passed_over(apply, subtests):
    lists = pa.table({"t": [["a", "new", None], ["a"], [], None]})
    for invalid in ["keep", "ignore"]:
        with subtests.test(invalid=invalid):
            made = (
                apply(MultiHot("t", categories=[["a", "b"]], handle_invalid=invalid), lists)
                .drop_columns("t")
                .to_pydict()
            )
            of_values = {"t_a": [1, 1, 0, 0], "t_b": [0, 0, 0, 0]}
            assert made == of_values | ({"t_other": [1, 0, 0, 0], "t_null": [0, 0, 0, 1]} if invalid == "keep" else {})


def test_parameters_that_are_wrong_are_refused(subtests):
    for options, problem in [
        ({}, "expected one of them"),
        ({"categories": [["a"]], "max_categories": 2}, "expected one of them"),
        ({"categories": ["ab"]}, "expected a list of values"),
        ({"categories": [["a"]], "min_frequency": 2}, "expected 1"),
        ({"categories": [["a", "a"]]}, "expected different values"),
        ({"categories": [[1]]}, "of type string"),
        ({"categories": [["a"], ["b"]]}, "1 columns but categories of 2"),
        ({"max_categories": 0}, "expected an integer"),
        ({"categories": [["other"]]}, "makes column 't_other', which is there already"),
    ]:
        with subtests.test(options=options), pytest.raises(ConfigError, match=problem):
            MultiHot("t", **options).bind(pa.schema({"t": pa.list_(pa.string())}))


def test_lists_of_other_things_are_refused():
    with pytest.raises(SchemaError, match="takes lists of strings or integers"):
        MultiHot("t", max_categories=1).bind(pa.schema({"t": pa.list_(pa.float64())}))


def test_slices_are_those_of_python(apply, subtests):
    for start in [0, 1, -2, 9, -9]:
        for end in [None, 0, 2, -1, -9]:
            with subtests.test(start=start, end=end):
                made = apply(
                    ListSlice("t", start=start, end=end), pa.table({"t": pa.array(LISTS, pa.list_(pa.int64()))})
                )
                assert made["t"].to_pylist() == [None if each is None else each[start:end] for each in LISTS]


def test_short_lists_are_filled_up(apply, subtests):
    for kind, value in [(pa.int8(), 0), (pa.float32(), 0.1), (pa.float64(), 0), (pa.int64(), None)]:
        for length in [0, 2, 6]:
            with subtests.test(kind=kind, value=value, length=length):
                given = pa.array(LISTS, pa.list_(kind))
                made = apply(ListPad("t", length=length, value=value), pa.table({"t": given}))["t"]
                filled = [None if each is None else each + [value] * (length - len(each)) for each in LISTS]
                assert made.to_pylist() == pa.array(filled, pa.list_(kind)).to_pylist()


def test_a_value_that_elements_cannot_be_is_refused(subtests):
    for kind, value in [(pa.string(), 0), (pa.int64(), "x"), (pa.int8(), 300), (pa.bool_(), 2)]:
        told = f"value of ListPad is {value!r}, which lists of"
        with subtests.test(kind=kind), pytest.raises(ConfigError, match=told):
            ListPad("t", length=2, value=value).bind(pa.schema({"t": pa.list_(kind)}))
