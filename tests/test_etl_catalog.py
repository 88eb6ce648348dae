"""The catalog of an ETL job: what is refused, and where the message says that it stands."""

from datetime import datetime
from pathlib import Path

import pytest

from penstock.cli.etl.catalog import Catalog, read_catalog
from penstock.cli.etl.job import logical_dates
from penstock.cli.etl.outputs import staged_run_id
from penstock.config.settings import read_yaml
from penstock.errors import ConfigError

KNOWN = ["date", "run_id", "region"]


def catalog(tmp_path: Path, text: str, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> Catalog:
    (tmp_path / "job.yaml").write_text(text)
    return read_catalog([read_yaml(tmp_path / "job.yaml")], inputs, outputs, KNOWN)


def test_what_is_wrong_in_a_catalog_is_refused_with_its_place(tmp_path, subtests):
    for text, place, message in [
        ("inputs:\n  a: in/{dat}.csv", "line 2, column 6", r"\{dat\} in 'in/\{dat\}.csv' is not known. Did you mean"),
        ("inputs:\n  a: [x.csv, 'in/{}.csv']", "line 2, column 6", r"\{\} in 'in/\{\}.csv' is not known"),
        ("outputs:\n  a: out/{date", "line 2, column 6", "cannot be read: expected '}' before end of string"),
        ("outputs:\n  a: out/{date!r}", "line 2, column 6", "has more than a name and a format"),
        ("outputs:\n  a: [x, y]", "line 2, column 6", r"path of 'a' is \['x', 'y'\], expected a path"),
        ("outputs:\n  a:\n    path: 3", "line 3, column 11", "path of 'a' is 3, expected a path"),
        ("outputs:\n  a: {overwrite: true}", "line 2, column 6", "'a' has no path"),
        ("outputs:\n  a: 7", "line 2, column 6", "'a' is 7, expected a mapping"),
        ("inputs:\n  a: {path: x, delimeter: ;}", "line 2, column 27", "'delimeter' is not known. Did you mean 'delim"),
        ("outputs:\n  a: {path: x, over: true}", "line 2, column 22", "'over' is not known"),
        ("outputs:\n  a: {path: x, run_id: b}", "line 2, column 24", "'run_id' is not known"),
        ("outputs:\n  a: {path: x, null_value: b, format: parquet}", "line 2, column 28", "'null_value' is not known"),
        ("outputs:\n  a: {path: x, format: cvs}", "line 2, column 24", "format is 'cvs', expected"),
        ("output:\n  a: x", "line 2, column 3", "'output' is not known. Did you mean 'outputs'"),
    ]:  # fmt: skip
        with subtests.test(text=text):
            with pytest.raises(ConfigError, match=message) as caught:
                catalog(tmp_path, text)
            assert caught.value.message.startswith(f"{tmp_path}/job.yaml, {place}: ")


def test_a_path_of_an_option_wins_and_the_other_settings_stay(tmp_path):
    made = catalog(tmp_path, "inputs:\n  a: {path: x, format: csv}", inputs=("a=y", "b=[p.csv, q.csv]"))
    assert (made.inputs["a"].paths, dict(made.inputs["a"].options)) == (("y",), {"format": "csv"})
    assert made.inputs["b"].paths == ("p.csv", "q.csv")
    with pytest.raises(ConfigError, match=r"^--out a=out/\{dat\}: \{dat\} in 'out/\{dat\}' is not known"):
        catalog(tmp_path, "", outputs=("a=out/{dat}",))


def test_an_entry_of_the_first_section_wins_and_others_stay(tmp_path):
    for name, text in (("job", "inputs: {a: new}"), ("own", "inputs: {a: old, b: old}\noutputs: {c: old}")):
        (tmp_path / f"{name}.yaml").write_text(text)
    made = read_catalog([read_yaml(tmp_path / f"{name}.yaml") for name in ("job", "own")], [], [], KNOWN)
    assert {name: entry.paths for name, entry in made.inputs.items()} == {"a": ("new",), "b": ("old",)}
    assert made.outputs["c"].path == "old"


def test_placeholders_are_filled_by_date_run_and_parameters(tmp_path):
    made = catalog(tmp_path, "inputs:\n  a: ['{region}/{date}', '{{x}}']\noutputs:\n  b: out/{date:%Y/%m}/{run_id}")
    filled = made.fill({"date": datetime(2024, 2, 29, 6), "run_id": "r1", "region": "eu"})
    assert filled.inputs["a"].paths == ("eu/2024-02-29", "{x}")
    assert filled.outputs["b"].path == "out/2024/02/r1"


def test_a_placeholder_without_a_value_is_refused_with_its_place(tmp_path, subtests):
    for path, message, hint in [
        ("out/{date}", r"\{date\} is used, and date is not given", "--date 2024"),
        ("out/{region}", r"\{region\} is used, and region is not given", "--set region="),
        ("out/{run_id:d}", r"\{run_id:d\} does not go with 'r1'", None),
    ]:
        with subtests.test(path=path):
            made = catalog(tmp_path, f"outputs:\n  a: {path}")
            with pytest.raises(ConfigError, match=rf"job.yaml, line 2, column 6: {message}") as caught:
                made.fill({"date": None, "run_id": "r1", "region": None})
            assert hint is None or hint in str(caught.value.hint)


def test_a_backfill_has_every_date_from_the_first_to_the_last(subtests):
    for start, end, every, dates in [
        ("2024-02-28", "2024-03-01", "day", ["2024-02-28", "2024-02-29", "2024-03-01"]),
        ("2024-01-01", "2024-01-20", "week", ["2024-01-01", "2024-01-08", "2024-01-15"]),
        ("2023-11-28", "2024-02-28", "month", ["2023-11-28", "2023-12-28", "2024-01-28", "2024-02-28"]),
        ("2024-01-05T22:00", "2024-01-06", "hour", ["2024-01-05T22:00", "2024-01-05T23:00", "2024-01-06T00:00"]),
        ("2024-01-05", "2024-01-05", "day", ["2024-01-05"]),
    ]:
        with subtests.test(start=start):
            assert logical_dates(start, end, every) == [datetime.fromisoformat(date) for date in dates]


def test_a_range_that_makes_no_dates_is_refused():
    for start, end, every, message in [
        ("2024-13-01", "2024-01-01", "day", "--from is '2024-13-01', expected a date"),
        ("2024-01-02", "2024-01-01", "day", "--from is '2024-01-02', which is after --to, '2024-01-01'"),
        ("2024-01-31", "2024-03-01", "month", "not every month has a day 31"),
        ("2024-01-01T00:00+01:00", "2024-01-02", "day", "one has a time zone, and the other has none"),
        ("2024-01-01", "2024-01-02", "days", "--every is 'days', expected one of hour, day, week, month"),
    ]:
        with pytest.raises(ConfigError, match=message):
            logical_dates(start, end, every)


def test_run_ids_of_a_scheduler_become_names_that_files_can_have_and_stay_apart():
    airflow = [f"scheduled__2024-01-05T00:00:0{second}+00:00" for second in range(3)]
    names = [staged_run_id(each) for each in airflow]
    assert len(set(names)) == 3
    assert all(len(name) <= 64 and set(name) <= set("abcdefghijklmnopqrstuvwxyzT0123456789_-") for name in names)
    assert names == [staged_run_id(each) for each in airflow]
    assert staged_run_id("nightly_7") == "nightly_7"
