"""Rules that are judged as rows are written: what is put in place, what is set aside, and that rows are read once."""

import json
from pathlib import Path

import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest
from rules.dirty import ROWS as MOST
from rules.dirty import dirty_dataset, oracle_rows
from rules.test_check import Scans

import penstock as ps
from penstock import rules
from penstock import stages as st
from penstock.cli.commands import main
from penstock.dataset import Dataset
from penstock.dataset.gather_step import GatherStep
from penstock.engines.base import Engine
from penstock.errors import BrokenRulesError, ConfigError, DataValueError, SchemaError
from penstock.rules._row_count import RowHistory
from penstock.statistics import Counts, Moments

ROWS = oracle_rows().with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
AGE, ZIP = (pl.col("age") < 0) | (pl.col("age") > 120), pl.col("zip").str.contains(r"^\d{4}$").not_()
ASIDE = (
    rules.Between("age", least=0, most=120, severity="quarantine"),
    rules.Matches("zip", r"\d{4}", severity="quarantine"),
)


@pytest.fixture
def dataset(engine: Engine, tmp_path: Path) -> Dataset:
    (tmp_path / "rows").mkdir()
    return dirty_dataset(engine, tmp_path / "rows")


@pytest.fixture
def dirty(local: Engine, tmp_path: Path) -> Dataset:
    (tmp_path / "rows").mkdir()
    return dirty_dataset(local, tmp_path / "rows")


def _read(engine: Engine, path: Path) -> pl.DataFrame:
    return engine.read_parquet(path).to_polars()


def test_rows_that_break_a_rule_are_set_aside_with_the_first_rule_as_reason(dataset, engine, tmp_path):
    result = dataset.write_parquet(tmp_path / "out", rules=[*ASIDE, rules.Bounds("age", "max", most=120)])
    broken = ROWS.filter((AGE | ZIP).fill_null(False))
    reasons = broken.select("row", reason=pl.when(AGE).then(pl.lit(ASIDE[0].title)).otherwise(pl.lit(ASIDE[1].title)))
    aside = _read(engine, tmp_path / "out.quarantine").sort("row")
    assert aside.select("row", "reason").equals(reasons)
    assert aside.drop("row", "reason").equals(broken.drop("row"))
    kept = ROWS.join(broken, on="row", how="anti").drop("row")
    assert _read(engine, tmp_path / "out").equals(kept)
    assert [each.status for each in result.check.outcomes] == ["quarantined", "quarantined", "passed"]
    assert [each.broken for each in result.check.outcomes[:2]] == [ROWS.filter(AGE).height, ROWS.filter(ZIP).height]
    assert (result.check.rows, result.rows) == (kept.height, kept.height)


def test_other_rules_see_the_rows_that_are_left(dirty, tmp_path):
    alone = [rules.Unique("id", severity="warn"), rules.NullShare("age", severity="warn"), rules.RowCount(most=MOST)]
    report = dirty.write_parquet(tmp_path / "out", rules=[*alone, *ASIDE]).check
    left = ROWS.filter((AGE | ZIP).fill_null(False).not_())
    repeated = left.drop_nulls("id").filter(pl.col("id").is_duplicated()).height
    assert [each.broken for each in report.outcomes[:2]] == [repeated, left["age"].null_count()]


def test_nothing_is_put_in_place_where_a_rule_fails(dataset, tmp_path):
    with pytest.raises(BrokenRulesError, match="1 of 2 rules are broken: NullShare"):
        dataset.write_parquet(tmp_path / "out", rules=[ASIDE[0], rules.NullShare("empty")])
    assert [each.name for each in tmp_path.iterdir()] == ["rows"]


@pytest.mark.thorough
def test_what_was_there_stays_where_a_rule_fails(dirty, tmp_path):
    one_each = dirty.filter(nw.col("id").is_between(9, 249)).select("id")
    before = one_each.write_parquet(tmp_path / "out")
    for options in ({"overwrite": True}, {"mode": "append"}, {"mode": "merge", "keys": "id"}):
        with pytest.raises(BrokenRulesError):
            one_each.write_parquet(tmp_path / "out", rules=[rules.RowCount(most=1)], **options)
    assert _read(dirty.engine, tmp_path / "out").height == before.rows


def test_a_report_is_that_of_a_check(dirty, tmp_path):
    asked = [
        rules.Unique(["shop", "seen"], severity="warn"), rules.Bounds("age", "mean", most=1, severity="warn"),
        rules.Bounds("age", "std", least=0), rules.Bounds("shop", "distinct", most=5),
        rules.Fresh("day", "1 day", severity="warn"), rules.Condition("age > 3", severity="warn"),
    ]  # fmt: skip
    written = dirty.write_parquet(tmp_path / "out", rules=asked).check
    assert written.to_dict()["rows"] == MOST
    pairs = zip(written.outcomes, dirty.check(*asked).outcomes, strict=True)
    assert [one for one, other in pairs if one != other and "Fresh" not in one.rule] == []


def test_rows_are_read_once(dirty, tmp_path, monkeypatch):
    scans = Scans(dirty.engine, monkeypatch)
    asked = [*ASIDE, rules.Unique(["shop", "seen", "id"]), rules.Bounds("age", "median", least=0)]
    dirty.write_parquet(tmp_path / "out", rules=asked)
    assert scans.labels == ["write"]


def test_many_values_are_counted_in_a_scan_of_their_own(dirty, tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.rules.in_pass.is_ample", lambda dataset, probes, options: False)
    scans = Scans(dirty.engine, monkeypatch)
    report = dirty.write_parquet(tmp_path / "out", rules=[rules.Unique("id", severity="warn"), *ASIDE]).check
    assert scans.labels == ["write", "check", "locate"]
    left = ROWS.filter((AGE | ZIP).fill_null(False).not_()).drop_nulls("id")
    assert report.outcomes[0].broken == left.filter(pl.col("id").is_duplicated()).height


def test_keys_in_another_dataset_are_looked_for_among_the_rows_that_are_left(dirty, tmp_path):
    shops = dirty.engine.from_arrow(pa.table({"shop": ["s0", "s1"]}))
    asked = [rules.InSet("shop", ["s0", "s1"], severity="quarantine"), rules.ForeignKey("shop", shops)]
    assert dirty.write_parquet(tmp_path / "out", rules=asked).check.outcomes[1].passed


def test_rows_whose_key_is_in_no_other_dataset_are_set_aside(dirty, local, tmp_path):
    for columns in (["shop"], ["shop", "day"]):
        out = tmp_path / "_".join(columns)
        known = ROWS.filter(pl.col("shop").is_in(["s0", "s1"]) & (pl.col("day").dt.day() < 20)).select(columns)
        rule = rules.ForeignKey(columns, local.from_arrow(known.to_arrow()), severity="quarantine")
        result = dirty.write_parquet(out, rules=[rule])
        broken = ROWS.drop_nulls(columns).join(known, on=columns, how="anti")
        assert _read(local, Path(f"{out}.quarantine"))["row"].sort().to_list() == broken["row"].sort().to_list()
        assert (result.rows, result.check.outcomes[0].broken) == (MOST - broken.height, broken.height)


def test_too_many_keys_without_a_match_are_refused(dirty, tmp_path, monkeypatch):
    for module in ("foreign_key", "unique", "key_column"):
        monkeypatch.setattr(f"penstock.rules.{module}.MOST_KEYS", 3)
    shops = dirty.engine.from_arrow(pa.table({"shop": ["s9"]}))
    with pytest.raises(DataValueError, match="more than 3 keys of ForeignKey"):
        dirty.write_parquet(tmp_path / "out", rules=[rules.ForeignKey("shop", shops, severity="quarantine")])
    with pytest.raises(DataValueError, match="more than 3 keys of Unique"):
        dirty.write_parquet(tmp_path / "out", rules=[rules.Unique("shop", severity="quarantine")])


@pytest.mark.thorough
def test_rows_that_are_not_the_first_with_their_key_are_set_aside(dataset, engine, tmp_path, subtests):
    for columns in (["id"], ["shop", "day"], ["age"], ["day"], ["seen"]):
        with subtests.test(columns=columns):
            out = tmp_path / "_".join(columns)
            result = dataset.write_parquet(out, rules=[rules.Unique(columns, severity="quarantine")])
            later = ROWS.drop_nulls(columns).filter(~pl.struct(columns).is_first_distinct())
            assert (result.rows, sum(result.quarantined.values())) == (MOST - later.height, later.height)
            if later.height:
                aside = _read(engine, Path(f"{out}.quarantine"))
                assert aside["row"].sort().to_list() == later["row"].to_list()
            assert engine.read_parquet(out).check(rules.Unique(columns)).passed


def test_of_rows_without_numbers_none_is_the_first(local, tmp_path):
    made = local.from_arrow(pa.table({"x": [1, 1]})).map_partitions(lambda frame: frame, {"x": "int64"})
    with pytest.raises(ConfigError, match="rows have no numbers after"):
        made.write_parquet(tmp_path / "out", rules=[rules.Unique("x", severity="quarantine")])


def test_rows_that_a_step_has_made_are_set_aside_without_a_number(local, tmp_path):
    made = local.from_arrow(pa.table({"x": [1, -1]})).map_partitions(lambda frame: frame, {"x": "int64"})
    made.write_parquet(tmp_path / "out", rules=[rules.Between("x", least=0, severity="quarantine")])
    assert _read(local, tmp_path / "out.quarantine").select("row", "x").rows() == [(None, -1)]


def test_tables_with_a_log_are_written_by_rules(dirty, tmp_path):
    with pytest.raises(BrokenRulesError):
        dirty.select("id").write(tmp_path / "table", format="delta", rules=[rules.RowCount(most=1)])
    result = dirty.select("id", "zip").write(tmp_path / "table", format="delta", rules=[ASIDE[1]])
    broken = ROWS.filter(ZIP).height
    assert (result.rows, result.check.quarantined[0].broken) == (MOST - broken, broken)


def test_tables_of_databases_are_written_by_rules(dirty, tmp_path):
    uri = f"sqlite:///{tmp_path}/base.db"
    with pytest.raises(BrokenRulesError):
        dirty.select("id").write_sql("ids", uri, rules=[rules.RowCount(most=1)])
    assert dirty.select("id").write_sql("ids", uri, rules=[rules.RowCount(least=1)]).check.passed


def test_folders_are_written_by_rules(dirty, tmp_path):
    rows = dirty.filter(~nw.col("shop").is_null()).select("shop", "age")
    result = rows.write_parquet(tmp_path / "out", partition_by="shop", rules=[ASIDE[0]])
    expected = ROWS.drop_nulls("shop")
    assert result.check.outcomes[0].broken == expected.filter(AGE).height
    assert result.rows == expected.filter(AGE.fill_null(False).not_()).height


def test_what_cannot_be_set_aside_or_compared_is_refused():
    for make, told in (
        (lambda: rules.RowCount(least=1, severity="quarantine"), "severity of RowCount is 'quarantine', and it is not"),
        (lambda: rules.NullShare("x", most=0.5, severity="quarantine"), "NullShare has most=0.5, and severity"),
        (lambda: rules.Condition("x > 1", most_broken=2, severity="quarantine"), "Condition has most_broken=2, and"),
        (lambda: rules.RowCount(severity="drop"), "severity is 'drop', expected one of error, quarantine, warn"),
        (lambda: rules.RowCount(change=0.1), "change of RowCount is 0.1, and history None, expected both or none"),
        (lambda: rules.RowCount(change=-1, history="h"), "change of RowCount is -1, expected a share of 0 or more"),
    ):
        with pytest.raises(ConfigError, match=told):
            make()


def test_rules_that_do_not_suit_the_columns_are_refused_before_rows_are_read(dirty, tmp_path):
    with pytest.raises(SchemaError, match="Did you mean 'zip'"):
        dirty.write_parquet(tmp_path / "out", rules=[rules.Matches("zipp", "a")])
    with pytest.raises(ConfigError, match="check takes rules, found int"):
        dirty.write_parquet(tmp_path / "out", rules=[1])


def test_a_check_reports_what_a_write_would_set_aside_and_fails_nothing(dirty):
    report = dirty.check(*ASIDE)
    assert report.passed
    assert [each.status for each in report.quarantined] == ["quarantined"] * 2
    assert report.summary == f"0 of 2 rules passed, 0 warned, 0 failed, 2 quarantined; {MOST} rows"


def test_statistics_are_those_of_a_scan_to_the_bit(dataset, tmp_path):
    wanted = (Moments(("age",)), Counts(("age", "id")))
    step = GatherStep("monitor", wanted, lambda gathered: gathered["monitor"])
    states = dataset.with_step(step).write_parquet(tmp_path / "out").reports["monitor"]
    assert states == dataset.gather(wanted)[0]


def _counted(folder: Path, local: Engine, rows: int, **limits: float) -> rules.RuleOutcome:
    rule = rules.RowCount(change=0.2, history=folder / "history.jsonl", **limits)
    return local.from_arrow(pa.table({"x": range(rows)})).check(rule).outcomes[0]


def test_rows_are_compared_with_those_of_the_last_run_that_passed(local, tmp_path):
    outcomes = [_counted(tmp_path, local, rows) for rows in (100, 81, 97, 98, 60, 117, 118)]
    assert [each.passed for each in outcomes] == [True, True, True, True, False, True, True]
    assert outcomes[0].message == "there are 100 rows, and no earlier run to compare with"
    assert outcomes[4].message == "there are 60 rows, and 98 last time"
    assert outcomes[5].message == "there are 117 rows, and 98 last time"
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [(each["rows"], each["passed"]) for each in lines[3:5]] == [(98, True), (60, False)]


def test_a_line_that_another_run_adds_meanwhile_stays(tmp_path, monkeypatch):
    history, other = (RowHistory(tmp_path / "history.jsonl") for _ in range(2))
    read, runs = RowHistory._read, [7]

    def overtaken(self: RowHistory) -> bytes:
        before = read(self)
        if self is history and runs:
            other.append(runs.pop(), passed=True)
        return before

    monkeypatch.setattr(RowHistory, "_read", overtaken)
    history.append(8, passed=True)
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["rows"] for line in lines] == [7, 8]


def test_a_change_and_limits_hold_together(local, tmp_path):
    assert [_counted(tmp_path, local, rows, least=90).passed for rows in (100, 89, 100)] == [True, False, True]


def test_a_history_that_is_none_is_told_with_its_line(local, tmp_path):
    (tmp_path / "history.jsonl").write_text('{"rows": 3, "passed": true}\n{"rows": "3"}\n')
    with pytest.raises(ConfigError, match="line 2 of the history"):
        _counted(tmp_path, local, 3)


def test_a_history_may_lie_in_a_store(local):
    rule = rules.RowCount(change=0.2, history="memory://histories/rows.jsonl")
    data = local.from_arrow(pa.table({"x": [1]}))
    assert [data.check(rule).outcomes[0].message for _ in range(2)][1] == "there are 1 rows, and 1 last time"


@pytest.fixture
def project(local: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved model, rows of which one is out of range, and rules that set it aside."""
    monkeypatch.chdir(tmp_path)
    Path("conf/rules").mkdir(parents=True)
    Path("pipelines").mkdir()
    entry = "between: {column: x, most: 10, severity: quarantine}"
    Path("conf/rules/near.yaml").write_text(f"rules:\n- {entry}\n- row_count: {{least: 3}}\n")
    data = local.from_arrow(pa.table({"x": [1.0, 2.0, 3.0, 99.0]}))
    data.write_parquet("rows")
    ps.Pipeline(st.Log1p("x", output_columns=["y"])).fit(data).save("model")
    return tmp_path


@pytest.mark.thorough
def test_scores_are_written_by_rules(project, capsys):
    assert main(["score", "model", "--data", "rows", "--out", "out", "--rules", "near", "--json"]) == 0
    scored = json.loads(capsys.readouterr().out.splitlines()[-1])["scored"]
    assert (scored["rows"], scored["quarantined"]) == (3, {"Between('x', most=10)": 1})
    assert [each["status"] for each in scored["check"]["outcomes"]] == ["quarantined", "passed"]


@pytest.mark.thorough
def test_scores_that_break_a_rule_are_not_written(project, capsys):
    Path("conf/rules/near.yaml").write_text("rules:\n- between: {column: x, most: 10}\n")
    assert main(["score", "model", "--data", "rows", "--out", "out", "--rules", "near"]) == 3
    assert "BrokenRulesError: 1 of 1 rules are broken" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.thorough
def test_people_see_the_outcomes_of_scores(project, capsys):
    assert main(["score", "model", "--data", "rows", "--out", "out", "--rules", "near"]) == 0
    assert "quarantined" in capsys.readouterr().out


@pytest.mark.thorough
def test_outputs_of_a_job_are_written_by_rules(project, capsys):
    Path("pipelines/copy.py").write_text("def run(inputs, parameters):\n    return {'copied': inputs['rows']}\n")
    Path("conf/pipelines").mkdir()
    catalog = "inputs: {rows: rows}, outputs: {copied: {path: copied, rules: conf/rules/near.yaml}}"
    Path("conf/pipelines/copy.yaml").write_text(f"catalog: {{{catalog}}}\n")
    assert main(["run", "copy", "--dry-run", "--json"]) == 0
    assert main(["run", "copy", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])["runs"][0]["outputs"]["copied"]
    assert (told["rows"], [each["status"] for each in told["check"]["outcomes"]]) == (3, ["quarantined", "passed"])
    assert main(["run", "copy", "--overwrite"]) == 0
    assert "rules: quarantined: 1, passed: 1" in capsys.readouterr().out
