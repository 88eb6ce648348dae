"""Studies in a storage: they go on where a process ended, and are refused where they are another one's."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, MissingExtraError, OutputError
from penstock.search.logged_study import LoggedStudy
from penstock.search.study import Outcome
from tests.search.toy_studies import LISTS, SPACES, run, table

pytestmark = pytest.mark.thorough

TESTS = Path(__file__).parents[1]
FILES = ("study.db", "study.journal")


def of_optuna(path):
    """Return a storage of Optuna's own for a file, which leaves no connection open."""
    from optuna.storages import RDBStorage
    from sqlalchemy.pool import NullPool

    return RDBStorage(f"sqlite:///{path}", {"poolclass": NullPool})


def start(name, path, **fingerprint):
    return SPACES[name]().start({"data": "toy", **fingerprint}, "minimize", os.fspath(path))


@pytest.mark.parametrize("name", SPACES)
def test_a_study_in_a_storage_is_the_one_in_memory(name, tmp_path):
    study = run(SPACES[name]().start({}, "minimize"))
    expected, states = table(study), {outcome.state for outcome in study.outcomes.values()}
    assert states == {"complete", "failed"} | ({"pruned"} if "median" in name else set())  # none is missing here
    for file in FILES[name == "grid" :]:
        study = run(start(name, tmp_path / file))
        assert table(study) == expected
        study.close()
        again = start(name, tmp_path / file)
        assert table(again) == expected
        assert again.ask() == []


class Killed(BaseException):
    pass


def is_killed(name, path):
    study = None
    try:
        study = start(name, path)
        run(study)
    except Killed:
        return True
    finally:
        if study is not None:
            study.close()
    return False


STRIDES = {"grid": 29, "random": 37, "tpe": 43, "tpe and median": 53}


@pytest.mark.parametrize("name", SPACES)
def test_a_study_that_ends_before_a_write_goes_on_as_if_it_had_not(name, tmp_path, monkeypatch):
    """Writes of the storage all through a study are the last one of a process, in turn; with a stride of 1 all pass."""
    from optuna.storages import JournalStorage

    expected = table(run(SPACES[name]().start({}, "minimize")))
    left = 0

    def counted(write):
        def call(*arguments, **options):
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed
            return write(*arguments, **options)

        return call

    for write in [each for each in vars(JournalStorage) if each.startswith(("set_", "create_"))]:
        monkeypatch.setattr(JournalStorage, write, counted(getattr(JournalStorage, write)))
    for last in range(1, 1000, STRIDES[name]):
        path, left = tmp_path / f"{last}.journal", last
        if not is_killed(name, path):
            break
        assert table(run(start(name, path))) == expected, f"killed at write {last}"
    assert last > 40


@pytest.mark.faults
def test_a_study_that_is_killed_at_random_has_the_table_of_an_undisturbed_one(tmp_path, subtests):
    kills, studies = 6, {"tpe and median": tmp_path / "study.db", "random": tmp_path / "study.journal"}
    places = [each for study in studies.items() for each in study]
    command = [sys.executable, TESTS / "search" / "killed_study.py", str(kills), *places]
    environment = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    for name, path in studies.items():
        with subtests.test(name):
            assert Path(f"{path}.runs.table").read_text() == table(run(SPACES[name]().start({}, "minimize")))
            lines = [line.split() for line in Path(f"{path}.runs").read_text().splitlines()]
            told = set()
            for what, number in lines:
                assert number not in told, f"trial {number} was run again"
                told |= {number} if what == "told" else set()
            begun = sum(what == "start" for what, _ in lines)
            assert begun >= len(told) + kills // 3  # of whom a third were killed at once


def test_a_list_is_gone_through_in_parts_where_a_kill_would_lose_what_runs(tmp_path):
    space = ps.grid({"x": range(20)})
    assert [len(space.start({}).ask()), len(space.start({}, "minimize", str(tmp_path / "study.db")).ask())] == [20, 16]


def test_trials_that_were_not_told_are_handed_out_again_by_the_next_process(tmp_path):
    study = start("tpe", tmp_path / "study.db")
    first, second, third = study.ask()
    study.tell(second, Outcome("failed", reason="no rows"))
    study.close()
    again = start("tpe", tmp_path / "study.db")
    assert again.ask() == [first, third]
    assert again.outcomes == {1: Outcome("failed", reason="no rows")}


def test_a_search_that_is_over_goes_on_with_more_trials(tmp_path):
    space = {"x": range(20), "depth": [1], "rate": [1], "kind": [None]}
    for n in (6, 9):
        study = run(ps.random(space, n=n).start({}, "minimize", str(tmp_path / "study.db")))
        study.close()
    assert len(study.outcomes) == 9


def test_another_study_is_refused_and_what_differs_is_told(tmp_path, subtests):
    path = tmp_path / "study.db"
    start("tpe", path).close()
    for other, message in (
        (lambda: start("tpe", path, data="other"), r"what differs: data \(toy there, other here\)"),
        (lambda: start("tpe", path, folds="5"), r"what differs: folds \(None there, 5 here\)"),
        (lambda: start("tpe and median", path), "what differs: pruner"),
        (lambda: start("grid", path), r"what differs: space.*, strategy \(optuna there, grid here\)"),
        (lambda: SPACES["tpe"]().start({"data": "toy"}, "maximize", str(path)), r"direction \(minimize there"),
        (lambda: ps.optuna_search({"x": [1]}, n_trials=1).start({}, "minimize", str(path)), r"None here\), space"),
    ):
        with subtests.test(message), pytest.raises(ConfigError, match=message):
            other()
    assert start("tpe", path).ask()  # a refusal lets go of the lock
    ps.grid(LISTS).start({}, "minimize", str(tmp_path / "lists.db")).close()
    with pytest.raises(ConfigError, match="what differs: space"):
        ps.grid({**LISTS, "depth": [1, 5]}).start({}, "minimize", str(tmp_path / "lists.db"))


def test_a_study_or_a_trial_that_is_none_of_penstock_is_refused(tmp_path):
    import optuna

    study = optuna.create_study(storage=of_optuna(tmp_path / "other.db"), study_name="penstock")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(ConfigError, match="is none of Penstock's"):
        start("tpe", tmp_path / "other.db")
    study = start("tpe", tmp_path / "study.db")
    study.ask()
    study.close()
    optuna.load_study(storage=of_optuna(tmp_path / "study.db"), study_name="penstock").ask()
    with pytest.raises(ConfigError, match="has a trial that Penstock did not write"):
        start("tpe", tmp_path / "study.db")


def test_a_second_process_at_a_study_is_refused_until_it_is_closed_or_nobody_has_it(tmp_path):
    for file in FILES:
        study = start("grid", tmp_path / file)
        with pytest.raises(OutputError, match="another process is at the study"):
            start("grid", tmp_path / file)
        (trial, *_) = study.ask()
        study.close()
        with pytest.raises(OutputError, match="is closed"):
            study.tell(trial, Outcome("complete", 1.0))
        assert start("grid", tmp_path / file).ask()
    start("grid", tmp_path / "left.db").ask()
    assert start("grid", tmp_path / "left.db").ask()


def test_in_a_database_the_last_process_to_open_a_study_owns_it(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.io.sinks.locks.FileLock.acquire", lambda path: object())
    first = start("grid", tmp_path / "study.db")
    trial = first.ask()[0]
    second = start("grid", tmp_path / "study.db")
    with pytest.raises(OutputError, match="another process has taken over the study"):
        first.tell(trial, Outcome("complete", 1.0))
    assert second.ask()[0] == trial
    monkeypatch.undo()


def test_a_folder_that_is_not_there_and_a_file_that_is_no_study_are_refused_and_left_alone(tmp_path):
    for file in FILES:
        with pytest.raises(OutputError, match="No such file or directory"):
            start("grid", tmp_path / "absent" / file)
    path = tmp_path / "table.db"
    path.write_bytes(b"a,b\n1,2\n" * 100)
    with pytest.raises(OutputError, match="file is not a database"):
        start("grid", path)
    assert path.read_bytes() == b"a,b\n1,2\n" * 100


def test_a_place_that_is_none_is_refused_without_its_secrets_and_passwords_are_never_shown(
    tmp_path, monkeypatch, hide_modules, subtests
):
    monkeypatch.chdir(tmp_path)
    hide_modules("psycopg2", "psycopg")
    for storage, error, message in (
        ("", ConfigError, "study is ''"),
        ("a?b.db", ConfigError, "no database has a '[?]'"),
        ("s3://me:hunter2@bucket/study", OutputError, "cannot read s3:"),
        ("mysql+nosuchdriver://me:hunter2@host/db", ConfigError, "cannot be opened|cannot be used"),
        ("postgresql://me:hunter2@host/db", MissingExtraError, "needs psycopg2?, which is not installed"),
    ):
        with subtests.test(storage=storage):
            with pytest.raises((error, OutputError), match=message) as caught:
                start("grid", storage)
            shown = [str(caught.value), repr(caught.value), str(caught.value.__cause__)]
            assert not any("hunter2" in text for text in shown)
    from penstock.search.with_optuna.backends import Backend

    backend = Backend("postgresql://me:hunter2@host/db#churn")
    assert (backend.shown, backend.study_name) == ("postgresql://me:***@host/db#churn", "churn")


def test_a_url_of_sqlite_is_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = start("grid", "sqlite:///study.db")
    (trial, *_) = study.ask()
    study.close()
    assert start("grid", tmp_path / "study.db").ask()[0] == trial


def test_the_end_of_a_journal_that_was_being_written_is_left(tmp_path):
    from penstock.search.with_optuna import backends

    path = tmp_path / "study.journal"
    study = start("grid", path)
    study.tell(study.ask()[0], Outcome("complete", 1.0))
    study.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"op_code":6,"worker')
    again = start("grid", path)
    assert again.outcomes == {0: Outcome("complete", 1.0)}
    assert path.read_bytes().startswith(whole)
    backends.cut_torn_line(tmp_path / "absent.journal")
    assert not (tmp_path / "absent.journal").exists()


def test_a_line_of_a_journal_that_is_no_entry_is_refused_with_its_number(tmp_path, subtests):
    path = tmp_path / "study.journal"
    start("grid", path).close()
    whole = path.read_bytes()
    for line in (b"{not json", b"5", b"{}", b"", b"\xff\xfe", b'{"op_code": 0}'):
        with subtests.test(line=line), pytest.raises(ConfigError) as caught:
            path.write_bytes(line + b"\n" + whole)
            start("grid", path)
        assert "study.journal, line 1: " in str(caught.value), line
    path.write_bytes(whole)
    assert start("grid", path).ask()


def test_optuna_reads_what_is_stored(tmp_path):
    import optuna

    study = run(start("tpe", tmp_path / "study.db"))
    study.close()
    loaded = optuna.load_study(storage=of_optuna(tmp_path / "study.db"), study_name="penstock")
    assert loaded.best_trial.number == study.best().number
    assert loaded.best_value == study.outcomes[study.best().number].value
    for trial, stored in zip(study.trials, loaded.trials, strict=True):
        assert (stored.params["x"], stored.params["kind"]) == (trial.params["x"], trial.params["kind"])


def test_settings_of_the_process_are_left_as_they_are(tmp_path, caplog):
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.enable_propagation()
    try:
        run(start("tpe", tmp_path / "study.db"))
    finally:
        optuna.logging.disable_propagation()
    assert optuna.logging.get_verbosity() == verbosity
    assert caplog.records == []


def test_storage_needs_optuna_and_says_how_to_get_it(hide_modules, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("penstock.search.with_optuna")]:
        monkeypatch.delitem(sys.modules, name)
    hide_modules("optuna")
    space = ps.grid({"a": [1]})
    assert len(space.start({}).ask()) == 1
    for search, storage in ((space, ["minimize", "a.db"]), (ps.optuna_search({"a": [1]}, n_trials=1), [])):
        with pytest.raises(MissingExtraError, match="Optuna cannot be imported") as caught:
            search.start({}, *storage)
        assert "optuna]" in (caught.value.hint or "")


def test_an_outcome_is_stored_whole(tmp_path):
    metrics = [{"a": 0.1 + 0.2, "b": None}, {"a": 1e-300, "b": 2.0}]
    outcome = Outcome("complete", float("inf"), metrics, 1.5, "odd\n one")
    study = start("grid", tmp_path / "study.db")
    study.tell(study.ask()[0], outcome)
    study.close()
    assert start("grid", tmp_path / "study.db").outcomes == {0: outcome}


def test_a_search_that_was_stopped_goes_on_while_its_error_is_still_looked_at(tmp_path, local, monkeypatch):
    data = local.from_arrow(pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]}))
    pipeline = ps.Pipeline(("model", st.LinearRegression("y")))
    space = ps.grid({"model.reg_param": [0.0, 1.0, 10.0]}, batch_size=1)
    evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
    search = ps.CrossValidator(pipeline, space, evaluator, folds=3, study=tmp_path / "study.db")
    told = LoggedStudy.tell

    def stop_at_the_second(study, trial, outcome):
        if trial.number == 1:
            raise KeyboardInterrupt
        told(study, trial, outcome)

    monkeypatch.setattr(LoggedStudy, "tell", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt) as stopped:
        search.fit(data)
    monkeypatch.undo()
    result = search.fit(data)
    assert stopped.tb is not None  # a notebook keeps the error, and with it all that it had open
    undisturbed = ps.CrossValidator(pipeline, space, evaluator, folds=3).fit(data)
    seconds = ["train_seconds"]
    assert result.table.drop_columns(seconds) == undisturbed.table.drop_columns(seconds)
