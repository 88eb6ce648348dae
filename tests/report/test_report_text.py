import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.report.text import clean, measure, shorten, show_compact, show_count, show_label, show_number, show_share


def test_numbers_have_separators_and_decimals_by_their_size():
    shown = {
        0.734214: "0.7342",
        0.0: "0.0000",
        1.0: "1.0000",
        -0.5: "\u22120.5000",
        64.2519: "64.252",
        4128.31: "4,128.3",
        12345678.9: "12,345,679",
        200000.0: "200,000",
        0.00001234: "1.23e-05",
        -1.5e22: "\u22121.50e+22",
        math.inf: "\u221e",
        math.nan: "undefined",
        None: "undefined",
    }
    assert {value: show_number(value) for value in shown} == shown


def test_shares_counts_and_compact_numbers_are_short():
    assert [show_share(value) for value in (0.1, 0.1234, 1.0, 0.0005)] == ["10%", "12.3%", "100%", "0.1%"]
    shown = [show_count(value) for value in (0.0, 1234567.0, -3.0, 2.5)]
    assert shown == ["0", "1,234,567", "\u22123", "2.5000"]
    shown = {0.0: "0", 0.25: "0.25", 999.0: "999", 9999.0: "9,999", 11479.0: "11.5k", 999960.0: "1000k", 3e9: "3B"}
    assert {value: show_compact(value) for value in shown} == shown


def test_labels_without_words_are_named():
    shown = {None: "(null)", "": "(empty)", "  ": "(blank)", 3.0: "3", 2.5: "2.5", False: "false", "a\nb": "a b"}
    assert {value: show_label(value) for value in shown} == shown


@pytest.mark.thorough
@given(st.text(), st.floats(2, 40))
def test_a_shortened_label_is_no_wider_than_asked(text, ems):
    shown = shorten(text, ems)
    assert measure(shown) <= ems + 1e-9
    assert shown == text or (shown.endswith("\u2026") and text.startswith(shown[:-1]))


@pytest.mark.thorough
@given(st.text())
def test_clean_text_can_be_encoded_and_has_no_control_characters(text):
    shown = clean(text)
    assert clean(shown.encode().decode()) == shown
    assert len(shown) == len(text)
    assert not any(character < " " or character in "\x7f\u202e\u2066\ufeff" for character in shown)


def test_a_pile_of_combining_marks_is_cut():
    assert len(shorten("a" + "\u0301" * 5000, 10)) <= 41
