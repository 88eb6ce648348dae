"""When a run is an alarm."""

from pathlib import Path
from typing import Any

import pytest
from alarm_runs import run_of
from run_samples import timed

from penstock.errors import ConfigError
from penstock.runs.alarms import Alarm, check_alarms, read_alarms, runs_before
from penstock.runs.alarms.values import VALUES
from penstock.runs.run_store import RunStore

ROOT = Path(__file__).parents[3]
BEFORE = [run_of(seconds=seconds) for seconds in (3.0, 100.0, 5.0)]


def raised(*history: Any, run: Any = None, **parameters: Any) -> list[bool]:
    alarm = Alarm(**{"name": "it", "value": "seconds"} | parameters)
    return [result.raised for result in check_alarms(run or run_of(), [alarm], list(history))]


def test_a_value_beyond_a_limit_is_an_alarm():
    assert raised(above=9.9) == raised(below=10.1) == [True]
    assert raised(above=10.0) == raised(below=10.0) == [False]


def test_a_limit_may_be_a_multiple_of_the_median_of_the_last_runs_before():
    found = [raised(*BEFORE, above=times, relative_to="history") for times in (1.9, 2.0)]
    assert found == [[True], [False]]
    assert raised(*BEFORE, *[run_of(seconds=0.1)] * 9, above=1.9, relative_to="history", last=3) == [True]
    [result] = check_alarms(run_of(), [Alarm(name="it", value="seconds", above=0.1, relative_to="history")], BEFORE[:2])
    assert not result.raised
    assert result.message == "seconds is 10; 2 runs before have it, and 3 make a history"


def test_a_limit_may_be_a_multiple_of_the_prediction_of_the_record_or_else_of_runs_before():
    runs = [run_of(prediction={"seconds": predicted}) for predicted in (4.0, 6.0)]
    assert [raised(run=run, above=2, relative_to="prediction") for run in runs] == [[True], [False]]
    history = [timed(rows, seconds=2 + rows / 1_000) for rows in (4_000, 8_000, 12_000)]
    for taken, expected in ((30.0, True), (25.0, False)):
        run = timed(16_000, seconds=taken)  # 18 seconds by these
        assert raised(*history, run=run, above=1.5, relative_to="prediction") == [expected]


def test_what_is_not_known_is_no_alarm():
    assert raised(above=0, value="metric:auc") == raised(above=0, relative_to="prediction") == [False]


def test_an_alarm_may_be_about_some_runs_only():
    assert raised(above=1, kind="fit", of="clicks") == [True]
    assert raised(above=1, kind="score") == raised(above=1, of="trips") == []


def test_runs_before_are_those_of_the_same_kind_and_name_that_were_done(tmp_path):
    others = {"2": {"kind": "score"}, "3": {"name": "trips"}, "4": {"status": "failed"}, "5": {}, "1": {}, "7": {}}
    for run_id, info in others.items():
        run_of(run_id=run_id, format=1, **info).save(tmp_path / run_id)
    assert [run.id for run in runs_before(RunStore(tmp_path), run_of(run_id="6"))] == ["5", "1"]


def _read(folder: Path, text: str) -> list[Alarm]:
    path = folder / "alarms.yaml"
    path.write_text(text)
    return read_alarms(path)


def test_a_file_has_all_parameters_and_that_of_the_repository_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("HOOK", "https://host/hook")
    entry = "{name: a, value: skew, above: 2, severity: warn, last: 5, webhook: 'env:HOOK', command: [./page, --x]}"
    (alarm,) = _read(tmp_path, f"alarms:\n- {entry}\n")
    assert (alarm.severity, alarm.last) == ("warn", 5)
    assert (alarm.webhook, alarm.command) == ("https://host/hook", ["./page", "--x"])
    assert read_alarms(ROOT / "conf" / "alarms.yaml")


WRONG = {
    "name: a, value: second, above: 1": r"line 2, column 3: alarm 1: value is 'second'.*Did you mean 'seconds'\?",
    "name: a, value: seconds": "above and below are None and None, expected a finite number for one of them",
    "name: a, value: seconds, above: yes": "above and below are True and None",
    "name: a, above: 1": "it lacks value",
    "name: a, value: seconds, abov: 1": r"an alarm has no 'abov'. Did you mean 'above'\?",
    "name: a, value: seconds, above: 1, relative_to: past": "relative_to is 'past', expected one of history",
    "name: a, value: seconds, above: 1, severity: bad": "severity is 'bad', expected one of error, warn",
    "name: a, value: seconds, above: 1, command: ls -l": "command is 'ls -l', expected a list of texts",
    "name: a, value: seconds, above: 1, webhook: host/hook": "webhook is no URL",
    "name: a, value: seconds, above: 1, last: 0": "last is 0, expected a number of runs",
    f"name: a, value: seconds, above: 1, last: {'9' * 30}": "last is 9{30}, expected a number of runs",
    "name: a, value: seconds, above: 1, last: yes": "last is True, expected a number of runs",
    f"name: a, value: seconds, above: {'9' * 400}": "above and below are 9{50} and None, expected a finite number",
    "name: a, value: seconds, above: .inf": "is not a finite number",
    "name: a, value: seconds, above: .nan": "is not a finite number",
    "name: a, value: seconds, above: 1, command: 5": "command is 5, expected a list of texts",
    "name: a, value: seconds, above: 1, kind: 5": "kind is 5, expected a text",
}


def test_what_is_no_alarm_is_refused_with_its_place_and_so_is_a_file_without_any(tmp_path, subtests):
    for entry, told in WRONG.items():
        with subtests.test(entry), pytest.raises(ConfigError, match=told):
            _read(tmp_path, f"alarms:\n- {{{entry}}}\n")
    with pytest.raises(ConfigError, match="found 'slow', expected a mapping"):
        _read(tmp_path, "alarms:\n- slow\n")
    for text in ("", "alarms: []", "alarm:\n- {name: a}"):
        with pytest.raises(ConfigError, match="expected 'alarms:' and a list"):
            _read(tmp_path, text)


def test_a_record_that_is_damaged_inside_counts_as_one_without_the_value():
    odd = [run_of(metrics="x", result=[5], energy={"measured": 5}, machine={"memory": "x"}, inputs=[5])]
    for value in [*VALUES, "metric:auc"]:
        assert raised(*odd, *BEFORE, value=value, above=1e9, relative_to="history") == [False], value
