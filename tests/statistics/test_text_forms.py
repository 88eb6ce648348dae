"""Forms of texts against Python's."""

import pyarrow as pa
from gathering import gathered

from penstock.statistics.text_forms import TextForm, TextForms


def forms(*texts):
    return gathered(TextForms(("s",)), *({"s": pa.array([text], pa.string())} for text in texts))["s"]


def test_numbers_are_numeric_and_codes_and_words_are_not():
    for text in ["0", "12", "-3", "+4.50", "0.25", "1e9", "-1.5E-3"]:
        assert forms(text).numeric == 1, text
        float(text)
    for text in ["", "007", "1,5", "1.", "0x1f", "1e", "abc", "1 2", "NaN", "--1"]:
        assert forms(text).numeric == 0, text


def test_digits_that_begin_with_zero_are_codes():
    for text, is_code in [("007", True), ("00", True), ("0", False), ("70", False), ("0a", False)]:
        assert forms(text).codes == is_code, text


def test_blanks_at_the_ends_are_padding():
    for text in ["a", " a", "a ", "\ta", "a\n", " ", "a b"]:
        assert forms(text).padded == (text.strip() != text), text


def test_counts_of_partitions_are_added_and_nulls_left_out():
    assert forms("1", None, "", " x", None, "2") == TextForm(count=4, empty=1, padded=1, numeric=2, codes=0)


def test_of_no_rows_there_are_none():
    found = gathered(TextForms(("s",)), pa.schema({"s": pa.string()}).empty_table())
    assert found["s"] == TextForm(0, 0, 0, 0, 0)
