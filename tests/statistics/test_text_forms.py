"""Forms of texts against Python's."""

import pyarrow as pa
import pytest

from penstock import frames
from penstock.statistics.text_forms import TextForm, TextForms


def forms(*texts):
    statistic = TextForms(("s",))
    states = [statistic.summarise(frames.from_arrow(pa.table({"s": pa.array([text], pa.string())}))) for text in texts]
    return statistic.finish(statistic.merge(states))["s"]


@pytest.mark.parametrize("text", ["0", "12", "-3", "+4.50", "0.25", "1e9", "-1.5E-3"])
def test_numbers_are_numeric(text):
    assert forms(text).numeric == 1
    float(text)


@pytest.mark.parametrize("text", ["", "007", "1,5", "1.", "0x1f", "1e", "abc", "1 2", "NaN", "--1"])
def test_codes_and_words_are_not(text):
    assert forms(text).numeric == 0


@pytest.mark.parametrize(("text", "is_code"), [("007", True), ("00", True), ("0", False), ("70", False), ("0a", False)])
def test_digits_that_begin_with_zero_are_codes(text, is_code):
    assert forms(text).codes == is_code


@pytest.mark.parametrize("text", ["a", " a", "a ", "\ta", "a\n", " ", "a b"])
def test_blanks_at_the_ends_are_padding(text):
    assert forms(text).padded == (text.strip() != text)


def test_counts_of_partitions_are_added_and_nulls_left_out():
    assert forms("1", None, "", " x", None, "2") == TextForm(count=4, empty=1, padded=1, numeric=2, codes=0)


def test_of_no_rows_there_are_none():
    statistic = TextForms(("s",))
    state = statistic.summarise(frames.from_arrow(pa.schema({"s": pa.string()}).empty_table()))
    assert statistic.finish(state)["s"] == TextForm(0, 0, 0, 0, 0)
