"""Rules in YAML, and the command that checks by them."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import rules
from penstock.cli.commands import main
from penstock.errors import ConfigError
from penstock.rules.rule_file import read_rules, rule_kinds

ROOT = Path(__file__).parents[2]
FILE = """
rules:
  - unique: id
  - unique: [id, age]
  - null_share: {column: age, most: 0.5, severity: warn}
  - between: {column: age, least: 0, most: 120}
  - row_count: {least: 1}
"""


def _read(folder: Path, text: str) -> list[rules.DatasetRule]:
    path = folder / "rules.yaml"
    path.write_text(text)
    return read_rules(path)


def test_entries_are_rules(tmp_path: Path) -> None:
    assert _read(tmp_path, FILE) == [
        rules.Unique("id"),
        rules.Unique(["id", "age"]),
        rules.NullShare("age", most=0.5, severity="warn"),
        rules.Between("age", least=0, most=120),
        rules.RowCount(least=1),
    ]


def test_every_rule_has_a_name_in_files() -> None:
    kinds = {each for each in map(rules.__dict__.get, rules.__all__) if isinstance(each, type)}
    named = set(rule_kinds().values())
    assert {each for each in kinds if issubclass(each, rules.DatasetRule)} - named <= {rules.DatasetRule}
    assert {"row_count", "null_share", "in_set", "unique", "condition"} <= set(rule_kinds())


def test_rules_of_the_repository_are_read() -> None:
    for path in (ROOT / "conf" / "rules").glob("*.yaml"):
        assert read_rules(path)


def test_a_wrong_entry_is_told_with_its_place(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for entry, told in (
        ("- uniqe: id", "rules.yaml, line 3, column 3: rule 2: 'uniqe' is no rule. Did you mean 'unique'?"),
        ("- unique", "line 3, column 3: rule 2: found 'unique', expected one rule and what it takes"),
        ("- {unique: id, row_count: {least: 1}}", "rule 2: found {'unique': 'id', "),
        ("- null_share: {column: age, mots: 0.1}", "rule 2: null_share has no 'mots'. Did you mean 'most'?"),
        ("- null_share: {most: 0.1}", "rule 2: null_share lacks column"),
        ("- row_count: 5", "rule 2: row_count is 5, expected a mapping"),
        ("- null_share: {column: age, most: 5}", "rule 2: most of NullShare is 5, expected a share from 0 to 1"),
        ("- matches: {column: c, regex: '('}", "rule 2: regex of Matches is '('"),
        ("- condition: 'x >'", "rule 2: condition 'x >' cannot be read"),
    ):
        with subtests.test(entry=entry, told=told):
            with pytest.raises(ConfigError) as caught:
                _read(tmp_path, f"rules:\n- unique: id\n{entry}\n")
            assert told in str(caught.value)
            assert caught.value.path == str(tmp_path / "rules.yaml")


def test_a_file_without_a_list_of_rules_is_refused(tmp_path: Path) -> None:
    for text, told in (
        ("", "rules.yaml has no list of rules"),
        ("rules: []", "rules.yaml has no list of rules"),
        ("rules: {unique: id}", "rules.yaml has no list of rules"),
        ("rule:\n- unique: id", "rules.yaml has 'rule', expected 'rules:' and a list"),
        ("- unique: id", "expected names and values"),
    ):
        with pytest.raises(ConfigError, match=told):
            _read(tmp_path, text)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "conf" / "rules").mkdir(parents=True)
    (tmp_path / "conf" / "rules" / "people.yaml").write_text(FILE)
    pq.write_table(pa.table({"id": [1, 2, 3], "age": [31, 58, None]}), tmp_path / "good.parquet")
    pq.write_table(pa.table({"id": [1, 2, 2], "age": [31, 200, 58]}), tmp_path / "bad.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.thorough
def test_rows_that_keep_the_rules_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for named in ("people", "conf/rules/people.yaml"):
        assert main(["check", "good.parquet", "--rules", named, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["passed"], told["rows"], len(told["outcomes"])) == (True, 3, 5)


@pytest.mark.thorough
def test_broken_rules_are_an_exit_code_of_input(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "bad.parquet", "--rules", "people", "--json"]) == 3
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert [each["status"] for each in told["outcomes"]] == ["failed", "passed", "passed", "failed", "passed"]
    assert (told["outcomes"][3]["path"], told["outcomes"][3]["row"]) == (str(project / "bad.parquet"), 1)
    assert "failed" in err


@pytest.mark.thorough
def test_people_see_a_table(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "bad.parquet", "good.parquet", "--rules", "people"]) == 3
    out = capsys.readouterr().out
    for text in ("failed", "passed", "Unique(['id'])", "rows", "people"):
        assert text in out


def test_a_warning_alone_is_no_exit_code(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("conf/rules/soft.yaml").write_text("rules:\n- unique: {columns: id, severity: warn}\n")
    assert main(["check", "bad.parquet", "--rules", "soft", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"][0]["status"] == "warned"


def test_rules_that_are_not_there_are_refused_before_reading(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "nothing.parquet", "--rules", "peopel"]) == 2
    assert "rules is 'peopel', expected one of people. Did you mean 'people'?" in capsys.readouterr().err
