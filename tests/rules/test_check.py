"""A check as a whole: what it reads, refuses and reports."""

import json
import pickle
from datetime import date
from pathlib import Path

import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest
from displays import Page
from rules.dirty import dirty_dataset

import penstock as ps
from penstock import rules
from penstock.engines.base import Engine
from penstock.errors import BrokenRulesError, ConfigError, SchemaError

TABLE = pa.table({"id": [1, 2, 2], "age": [31, 200, None], "day": [date(2024, 1, 5)] * 3})
RULES = (
    rules.Unique("id"),
    rules.Between("age", least=0, most=120, severity="warn"),
    rules.RowCount(least=1),
    rules.Bounds("age", "mean", least=0),
    rules.Fresh("day", "9999999 days"),
)


class Scans:
    """Counts what an engine reduces and maps."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.labels: list[str] = []
        self.inside = 0
        for name in ("reduce", "reduce_partitioned", "map"):
            monkeypatch.setattr(engine, name, self._noting(getattr(engine, name)))

    def _noting(self, work):
        def run(*arguments, label, **options):
            if not self.inside:
                self.labels.append(label)
            self.inside += 1
            try:
                return work(*arguments, label=label, **options)
            finally:
                self.inside -= 1

        return run


@pytest.fixture
def report(local: Engine) -> rules.CheckReport:
    return local.from_arrow(TABLE).check(*RULES)


def test_all_rules_are_judged_from_one_scan(local, tmp_path, monkeypatch):
    dataset = dirty_dataset(local, tmp_path)
    scans = Scans(local, monkeypatch)
    dataset.check(
        rules.Unique(["shop", "seen", "id"]), rules.NullShare("age"), rules.Between("age", most=3),
        rules.RowCount(most=1), rules.Bounds("age", "median", least=0), rules.Fresh("day", "1 day"),
        rules.Condition("age > 3"),
    )  # fmt: skip
    assert scans.labels == ["check"]


def test_only_columns_of_rules_are_read(local, tmp_path):
    dataset = dirty_dataset(local, tmp_path)
    read: list[str] = []

    def note(frame):
        read.extend(frame.columns)
        return frame

    narrowed = dataset.select("id", "age").map_partitions(note, dataset.select("id", "age").schema)
    report = narrowed.check(rules.NullShare("age"))
    assert (report.outcomes[0].path, report.rows) == (None, 400)
    assert set(read) == {"id", "age"}


def test_rows_after_steps_are_named_by_their_file(local, tmp_path):
    dataset = dirty_dataset(local, tmp_path).filter(nw.col("age") > 100)
    outcome = dataset.check(rules.Between("age", most=120)).outcomes[0]
    assert (Path(outcome.path or "").name, outcome.row) == ("1.parquet", 333 - 170)
    assert "rows breaks the rule, the first with age = 130 in " in outcome.message


def test_a_broken_rule_raises_with_all_that_are_broken(report):
    with pytest.raises(BrokenRulesError) as caught:
        report.raise_if_failed()
    assert "1 of 5 rules are broken: Unique(['id']): 2 rows have values" in str(caught.value)
    assert "Between" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).row == 1


def test_a_warning_fails_nothing(local):
    report = local.from_arrow(TABLE).check(rules.Unique("id", severity="warn"))
    assert (report.passed, len(report.warned), report.raise_if_failed()) == (True, 1, report)


def test_a_report_is_plain_values(report):
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (told["passed"], told["rows"]) == (False, 3)
    assert [each["status"] for each in told["outcomes"]] == ["failed", "warned", "passed", "passed", "passed"]
    assert told["outcomes"][1]["observed"] == {"min": 31, "max": 200}
    assert told["outcomes"][4]["observed"] == "2024-01-05"


def test_a_report_is_a_frame(report):
    frame = report.to_polars()
    assert frame.height == 5
    assert frame.filter(pl.col("status") != "passed")["broken"].to_list() == [2, 1]
    assert frame["columns"].to_list() == [["id"], ["age"], [], ["age"], ["day"]]


def test_a_report_shows_itself_in_a_notebook_broken_rules_first(report):
    page = Page(report._repr_html_())
    assert page.of("th")[4:6] == ["Unique(['id'])", "Between('age', least=0, most=120)"]
    assert page.of("span") == [report.summary]


def test_a_report_prints_a_line_for_each_rule(report):
    lines = repr(report).splitlines()
    assert lines[0] == "3 of 5 rules passed, 1 warned, 1 failed; 3 rows"
    told = "warned  Between('age', least=0, most=120): 1 of 3 rows breaks the rule, the first with age = 200"
    assert lines[2].startswith(told)


def test_a_wrong_parameter_is_refused_when_the_rule_is_made(subtests):
    for wrong, told in (
        (lambda: rules.RowCount(), "RowCount has neither least nor most"),
        (lambda: rules.RowCount(least=-1), "least of RowCount is -1"),
        (lambda: rules.NullShare("x", most=5), "most of NullShare is 5, expected a share from 0 to 1"),
        (lambda: rules.NullShare("x", most=None), "most of NullShare is None"),
        (lambda: rules.NullShare(["x"]), "column of NullShare is list"),
        (lambda: rules.Unique([]), "columns of Unique are []"),
        (lambda: rules.Unique(["a", "a"]), "each once"),
        (lambda: rules.InSet("x", []), "values of InSet are []"),
        (lambda: rules.InSet("x", "ab"), "values of InSet are 'ab', expected a list"),
        (lambda: rules.Between("x", least=1, most="a"), "a least of int and a most of str"),
        (lambda: rules.Between("x", least=2, most=1), "least=2 and most=1"),
        (lambda: rules.Bounds("x", "meen", least=1), "Did you mean 'mean'?"),
        (lambda: rules.Bounds("x", "q1.5", least=1), "measure of Bounds is 'q1.5'"),
        (lambda: rules.Bounds("x", "mean", least="a"), "least of Bounds is 'a', expected a number"),
        (lambda: rules.Matches("x", "(a"), "regex of Matches is '(a'"),
        (lambda: rules.Matches("x", "a)|(b"), "regex of Matches is 'a)|(b'"),
        (lambda: rules.Fresh("x", "2 fortnights"), "within of Fresh is '2 fortnights'"),
        (lambda: rules.Fresh("x", "2 days", now="soon"), "now of Fresh is 'soon'"),
        (lambda: rules.Condition("x >"), "condition 'x >' cannot be read"),
        (lambda: rules.Condition("x > 1", most_broken=-1), "most_broken of Condition is -1"),
        (lambda: rules.Unique("x", severity="fatal"), "severity is 'fatal', expected one of error, quarantine, warn"),
    ):
        with subtests.test(wrong=wrong, told=told):
            with pytest.raises(ConfigError) as caught:
                wrong()
            assert told in str(caught.value)


def test_a_rule_that_does_not_suit_the_columns_is_refused_before_reading(local, subtests):
    for rule, told in (
        (rules.Unique("idd"), "column 'idd' is not in the data. Did you mean 'id'?"),
        (rules.Between("age", least="a"), "compares column 'age', int64, with 'a'"),
        (rules.Between("day", least="soon"), "compares column 'day'"),
        (rules.InSet("age", [31.5]), "compares column 'age', int64, with 31.5"),
        (rules.InSet("age", ["31"]), "compares column 'age', int64, with '31'"),
        (rules.Matches("age", "3.*"), "column 'age' is int64, and Matches"),
        (rules.Fresh("age", "1 day"), "needs dates or timestamps"),
        (rules.Bounds("day", "mean", least=0), "needs numbers"),
        (rules.Condition("agee > 1"), "Did you mean 'age'?"),
    ):
        with subtests.test(rule=rule, told=told):
            with pytest.raises(SchemaError) as caught:
                local.from_arrow(TABLE).map_partitions(unread, TABLE.schema).check(rule)
            assert told in str(caught.value)


def unread(frame: nw.DataFrame) -> nw.DataFrame:
    raise AssertionError("rows are read")


def test_lists_have_no_key(local):
    with pytest.raises(SchemaError, match=r"whose values Unique\(\['x'\]\) cannot compare"):
        local.from_arrow(pa.table({"x": [[1], [1]]})).check(rules.Unique("x"))


def test_what_is_no_rule_is_refused(local):
    for given, told in (((), "check has no rule"), (("id",), "check takes rules, found str")):
        with pytest.raises(ConfigError, match=told):
            local.from_arrow(TABLE).check(*given)


def test_counting_over_its_memory_is_refused(local):
    data = local.from_arrow(pa.table({"x": list(range(100_000))}))
    with pytest.raises(ConfigError, match=r"the budget is 1\.0 KiB"):
        data.check(rules.Unique("x"), memory_budget="1KiB")


def test_very_many_values_are_counted_in_parts(distributed_engine, tmp_path):
    rows = pl.DataFrame({"k": [f"key {each % 299_999}" for each in range(300_000)]})
    rows.write_parquet(tmp_path / "k.parquet", row_group_size=50_000)
    data = distributed_engine.read_parquet(tmp_path / "k.parquet", fragment_bytes=2**21)
    outcome = data.check(rules.Unique("k"), memory_budget="60MiB").outcomes[0]
    assert (outcome.broken, outcome.row) == (2, 0)


def test_rules_are_there_without_importing_them():
    assert ps.rules.Unique is rules.Unique
    assert {"Unique", "CheckReport", "RowCount"} <= set(rules.__all__)
