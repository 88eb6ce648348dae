"""Configuration files and assignments: what is read, and what is refused with its place."""

import os
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from penstock.config.settings import Settings, read_assignments, read_yaml
from penstock.errors import ConfigError

EXPONENT = "YAML reads a number with an exponent only if it has a point and a sign: 1.0e+3."


class Inner(BaseModel, extra="forbid"):
    depth: int = 1


class Parameters(BaseModel, extra="forbid"):
    label: str = "label"
    rounds: int = Field(default=3, ge=1)
    rate: float = 0.3
    columns: tuple[str, ...] = ()
    inner: Inner = Inner()
    mode: Literal["fast", "exact"] = "fast"
    conf: dict[str, str | int] = Field(default_factory=dict)
    stop: int | None = None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "job.yaml"


def _read(file: Path, text: str) -> Parameters:
    file.write_text(text)
    return read_yaml(file).fill(Parameters)


def _refusal(file: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as found:
        _read(file, text)
    return found.value


def test_values_of_every_kind_are_read(file):
    found = _read(
        file,
        "label: y\nrounds: 5\nrate: 1\ncolumns: [a, b]\ninner: {depth: 2}\nmode: exact\n"
        "conf:\n  spark.master: local[2]\n  spark.cores: 4\nstop: null\n",
    )
    assert found == Parameters(
        label="y", rounds=5, rate=1.0, columns=("a", "b"), inner=Inner(depth=2), mode="exact",
        conf={"spark.master": "local[2]", "spark.cores": 4}, stop=None,
    )  # fmt: skip
    assert _read(file, "label: 2019-03-01").label == "2019-03-01"  # no date
    assert _read(file, "# only a comment\n") == Parameters()


def test_what_is_not_plain_is_refused_where_it_stands(file, subtests):
    for text, message in [
        ("label: &a x\nmode: *a", "line 2, column 7: an alias, which is not allowed"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]", "line 2, column 8: an alias"),
        ("rounds: 1\nlabel: x\nrounds: 2", "line 3, column 1: key 'rounds' stands twice"),
        ("inner:\n  depth: 1\n  depth: 2", "line 3, column 3: key 'depth' stands twice"),
        ("rate: .nan", "line 1, column 7: .nan is not a finite number"),
        ("rate: -.inf", "line 1, column 7: -.inf is not a finite number"),
        ("label: " + "[" * 33, "line 1, column 39: nested deeper than 32 levels"),
        ("label: !!python/name:os.system x", "line 1, column 8: a value of type os.system, which is not plain"),
        ("label: !!binary aGk=", "line 1, column 8: a value of type binary, which is not plain"),
        ("yes: 1", "line 1, column 1: the key 'yes' is not read as text; write it in quotes"),
        ("<<: {rounds: 1}", "line 1, column 1: the key '<<' is not read as text"),
        ("rounds: 0644", "line 1, column 9: 0644 is a number in base 8 or 60"),
        ("rounds: 12:30:45", "line 1, column 9: 12:30:45 is a number in base 8 or 60"),
        ("--- {}\n--- {}", "line 2, column 1: a second document"),
        ("[1, 2]", "line 1, column 1: expected names and values"),
        ("label: 'x", "line 1, column 10: found unexpected end of stream"),
        ("\tlabel: x", "line 1, column 1: found character"),
    ]:
        with subtests.test(text=text):
            assert f"{file}, {message}" in str(_refusal(file, text))


def test_a_file_that_is_large_or_no_text_or_not_there_is_refused(file):
    with pytest.raises(ConfigError, match=r"cannot read .*job.yaml: No such file"):
        read_yaml(file)
    file.write_bytes(b"label: \xff")
    with pytest.raises(ConfigError, match="is not UTF-8: byte 7"):
        read_yaml(file)
    os.truncate(file, 2**40)  # without blocks; no memory takes as much
    with pytest.raises(ConfigError, match="is larger than 262144 bytes"):
        read_yaml(file)


def test_a_value_of_another_type_is_told_as_it_was_read(file, subtests):
    for text, message, hint in [
        ("label: no", "label is read as False (boolean)", "YAML reads no as False. Write it in quotes: 'no'."),
        ("label: 12", "label is read as 12 (number), expected a valid string", "Write it in quotes: '12'."),
        ("label: 0x1F", "label is read as 31 (number), expected", "YAML reads 0x1F as 31. Write it in quotes: '0x1F'."),
        ("rate: 1e3", "rate is read as '1e3' (text), expected a valid number", EXPONENT),
        ("rounds: 3.0", "rounds is read as 3.0 (number), expected a valid integer", None),
        ("rounds: '3'", "rounds is read as '3' (text), expected a valid integer", None),
        ("rounds: 0", "rounds is read as 0 (number), expected a value greater than or equal to 1", None),
        ("mode: slow", "mode is read as 'slow' (text), expected 'fast' or 'exact'", None),
        ("conf: {a: [1]}", "conf.a is read as [1] (list), expected", None),
        ("columns: [a, 2]", "columns.1 is read as 2 (number), expected a valid string", "Write it in quotes: '2'."),
    ]:  # fmt: skip
        with subtests.test(text=text):
            error = _refusal(file, text)
            assert f"{file}, line 1, column " in error.message
            assert message in error.message
            assert error.hint == hint


def test_an_unknown_key_is_refused_with_the_nearest_and_its_line(file):
    error = _refusal(file, "mode: fast\nround: 3")
    assert f"{file}, line 2, column 8: 'round' is not known. Did you mean 'rounds'?" in error.message
    assert "rounds" in error.hint
    error = _refusal(file, "inner: {dept: 3}")
    assert "'inner.dept' is not known. Did you mean 'depth'?" in error.message


def test_a_secret_in_plain_text_is_refused_and_not_shown(file):
    for key in ("password", "dbPassword", "spark.hadoop.fs.s3a.secret.key", "api_key", "oauthToken"):
        for value in ("hunter2", "987654321"):
            error = _refusal(file, f"conf:\n  {key}: {value}")
            assert f"line 2, column {len(key) + 5}: {key!r} holds a secret in plain text" in error.message
            assert value not in str(error)
            assert f"{key}: env:NAME" in error.hint
    private_key = "-----BEGIN RSA PRIVATE KEY-----"
    for value in ("AKIAABCDEFGHIJKLMNOP", "https://me:hunter2@host/x", "ghp_" + "a1" * 18, private_key):
        error = _refusal(file, f"label: '{value}'")
        assert "'label' holds a secret in plain text" in error.message
        assert value not in str(error)
    with pytest.raises(ConfigError) as found:
        read_assignments(["password=hunter2"], Parameters).fill(Parameters)
    assert "--set password=...: 'password' is not known" in str(found.value)
    assert "hunter2" not in str(found.value)


def test_what_only_resembles_a_secret_is_read(file):
    for text in ("conf: {token.file: /run/t}", "conf: {max_tokens: 5}", "label: a://host/x", "stop: null"):
        _read(file, text)


def test_a_secret_is_read_from_the_environment_and_not_shown(file, monkeypatch):
    monkeypatch.setenv("MY_SECRET", "hunter2")
    assert _read(file, "conf: {password: env:MY_SECRET}").conf == {"password": "hunter2"}
    error = _refusal(file, "rounds: env:MY_SECRET")
    assert "rounds is read as a hidden value, expected a valid integer" in error.message
    assert "hunter2" not in str(error)
    assert error.__cause__ is error.__context__ is None  # which would print it
    monkeypatch.delenv("MY_SECRET")
    error = _refusal(file, "label: env:MY_SECRET")
    assert f"{file}, line 1, column 8: env:MY_SECRET is asked for, and MY_SECRET is not set" in error.message


def test_upper_settings_win_name_by_name_and_keep_their_places(tmp_path):
    upper, lower = tmp_path / "upper.yaml", tmp_path / "lower.yaml"
    upper.write_text("rounds: 7")
    lower.write_text("rounds: x\nlabel: 1")
    merged = read_yaml(upper).over(read_yaml(lower))
    assert merged.values == {"rounds": 7, "label": 1}
    with pytest.raises(ConfigError, match=r"lower.yaml, line 2, column 8: label is read as 1"):
        merged.fill(Parameters)


def test_a_section_keeps_its_places(file):
    file.write_text("pipeline:\n  rounds: x\nengine: 3")
    with pytest.raises(ConfigError, match=r"job.yaml, line 2, column 11: rounds is read as 'x'"):
        read_yaml(file).section("pipeline").fill(Parameters)
    with pytest.raises(ConfigError, match=r"line 3, column 9: 'engine' is 3, expected a mapping"):
        read_yaml(file).section("engine")
    assert read_yaml(file).section("tune") == Settings()


def test_assignments_are_read_by_the_type_of_their_field():
    texts = ["label=a=b", "rounds=8", "rate=1e-3", "columns=[a, b]", "inner={depth: 4}", "stop=null", "mode=exact"]
    assert read_assignments(texts, Parameters).fill(Parameters) == Parameters(
        label="a=b", rounds=8, rate=0.001, columns=("a", "b"), inner=Inner(depth=4), stop=None, mode="exact"
    )
    assert read_assignments(["label=no"], Parameters).fill(Parameters).label == "no"


def test_wrong_assignments_are_refused(subtests):
    for texts, message in [
        (["rounds"], "--set rounds has no name or no '='"),
        (["=3"], "--set =3 has no name"),
        (["rounds=1", "rounds=2"], "--set rounds=2: 'rounds' is given twice"),
        (["rate=nan"], "--set rate=nan: nan is not finite"),
        (["rounds=x"], "--set rounds=x: rounds is read as 'x' (text), expected a valid integer"),
        (["round=3"], "--set round=3: 'round' is not known. Did you mean 'rounds'?"),
        (["columns=[a"], "--set columns=[a, line 1"),
    ]:
        with subtests.test(texts=texts):
            with pytest.raises(ConfigError) as found:
                read_assignments(texts, Parameters).fill(Parameters)
            assert message in found.value.message


def test_a_missing_parameter_is_named():
    class Needs(BaseModel, extra="forbid"):
        label: str

    with pytest.raises(ConfigError, match="label is not given, and has no default") as found:
        Settings().fill(Needs)
    assert found.value.hint == "--set label=..."
