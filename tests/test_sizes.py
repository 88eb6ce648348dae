"""Numbers of bytes as people write and read them."""

import pytest

from penstock.core.sizes import parse_bytes, show_bytes
from penstock.errors import ConfigError


def test_what_is_no_size_is_refused():
    for text in ("", "GiB", "4 GB", "-1", "1e9", "4gib"):
        with pytest.raises(ConfigError, match="is no size, expected a number and one of B, KiB, MiB, GiB, TiB"):
            parse_bytes(text)


def test_a_size_is_a_number_of_its_unit():
    for text, count in {"0": 0, "12 B": 12, "1.5KiB": 1536, " 2 TiB ": 2**41}.items():
        assert parse_bytes(text) == count


def test_what_is_shown_can_be_read():
    for text in ("0 B", "1023 B", "1.0 KiB", "12.5 MiB", "3.0 TiB"):
        assert show_bytes(parse_bytes(text)) == text
