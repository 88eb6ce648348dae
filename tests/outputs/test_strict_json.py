"""What counts as acceptable JSON for a file that decides what is read next."""

import errno
import json

import pytest

from penstock.errors import ArtifactIntegrityError, ConfigError, CorruptFileError, InputError, MissingInputError
from penstock.io.sinks import encode_json, read_json


def test_document_is_refused_with_its_file_and_the_rule(tmp_path, subtests):
    for text, rule in (
        ('{"a": 1, "a": 2}', "'a' appears twice"),
        ('{"a": {"b": 1, "b": 1}}', "'b' appears twice"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[Infinity]", "Infinity is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("[1e999]", "1e999 is beyond the range of a float"),
        ("[-1e999]", "-1e999 is beyond the range of a float"),
        ("[" * 33 + "]" * 33, "deeper than 32"),
        ('{"a":' * 33 + "1" + "}" * 33, "deeper than 32"),
        ("[" * 200_000 + "]" * 200_000, "deeper than 32"),
        ('{"a": 1', "line 1 column"),
        ("{} {}", "Extra data"),
        ("", "line 1 column 1"),
        ("[" + "1" * 5000 + "]", "4300 digits"),
        ("\ufeff{}", "BOM"),
    ):
        with subtests.test(text=text[:40]):
            path = tmp_path / "state.json"
            path.write_text(text, encoding="utf-8")
            with pytest.raises(CorruptFileError) as caught:
                read_json(path, limit=2**20)
            assert rule in str(caught.value)
            assert caught.value.path == str(path)


def test_document_as_large_as_the_limit_is_read_and_one_byte_more_is_not(tmp_path):
    path = tmp_path / "state.json"
    path.write_text('"12345678"')
    assert read_json(path, limit=10) == "12345678"
    with pytest.raises(CorruptFileError, match="limit of 9 bytes"):
        read_json(path, limit=9)
    with path.open("wb") as file:
        file.truncate(2**43)  # sparse; reading all of it would need 8 TiB of memory
    with pytest.raises(CorruptFileError, match="limit of 10 bytes"):
        read_json(path, limit=10)


def test_thirty_two_levels_are_read():
    text = "[" * 32 + "]" * 32
    assert read_json(text.encode(), limit=100) == json.loads(text)


def test_caller_chooses_the_error_and_the_name():
    with pytest.raises(ArtifactIntegrityError, match=r"pipeline\.json is not acceptable JSON"):
        read_json(b"[NaN]", limit=100, path="pipeline.json", error=ArtifactIntegrityError)


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(CorruptFileError, match="utf-8"):
        read_json('{"a": "é"}'.encode("latin-1"), limit=100)
    with pytest.raises(MissingInputError, match=r"none\.json does not exist"):
        read_json(tmp_path / "none.json", limit=100)
    with pytest.raises(InputError, match=errno.errorcode[errno.EISDIR]):
        read_json(tmp_path, limit=100)


def test_value_that_no_reader_would_accept_is_not_encoded(subtests):
    for value in ({"a": float("nan")}, [float("inf")], {"a": {1, 2}}, {1: "x", "1": "y"}, "\ud800"):
        with subtests.test(value=repr(value)), pytest.raises(ConfigError, match=r"report\.json"):
            encode_json(value, limit=100, path="report.json")  # type: ignore[arg-type]


def test_encoded_text_is_plain_json_no_larger_than_the_limit_of_its_readers():
    value = {"n": 3, "x": 0.1, "text": "Zürich", "none": None, "list": [True, {}]}
    assert json.loads(encode_json(value, limit=1000, path="x")) == value
    with pytest.raises(ConfigError, match="limit of 20 bytes"):
        encode_json("x" * 20, limit=20, path="report.json")
