"""Studies in a store: they go on where a process ended, and of two searches one is refused."""

import json
import os
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.core.errors import PenstockError
from penstock.errors import ConfigError, OutputError
from penstock.io.sinks.locks import Owner
from penstock.search.study import Outcome, Study
from tests.search.toy_studies import SPACES, run, table
from tests.stores.conftest import Place
from tests.stores.shelf import Shelf

pytestmark = pytest.mark.xdist_group("s3")


def start(place: Place, name: str = "grid", **fingerprint: str) -> Study:
    study: Study = SPACES[name]().start(
        {"data": "toy", **fingerprint}, "minimize", place.at("toy.study"), storage_options=place.options
    )
    return study


def document(place: Place) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(place.read("toy.study"))
    return stored


@pytest.mark.thorough
def test_a_study_in_a_store_is_the_one_in_memory(memory, subtests):
    for name in SPACES:
        expected = table(run(SPACES[name]().start({}, "minimize")))
        place = Place(memory.at(name))
        with subtests.test(name=name):
            study = run(start(place, name))
            assert table(study) == expected
            study.close()
            again = start(place, name)
            assert table(again) == expected
            assert again.ask() == []
            again.close()
            assert list(place.files()) == ["toy.study"]


class Killed(BaseException):
    pass


@pytest.mark.thorough
def test_a_study_that_ends_before_a_write_goes_on_as_if_it_had_not(shelf, monkeypatch):
    expected = table(run(SPACES["tpe"]().start({}, "minimize")))
    ends = 0
    while True:
        Shelf.requests, Shelf.fail = 0, kill_at(13 + ends % 7)
        try:
            assert table(run(start(shelf, "tpe"))) == expected
            break
        except Killed:
            ends += 1
            Shelf.fail = None
            monkeypatch.setattr("penstock.search.storage._open", set())  # as the end of a process does
    assert ends > 5


def kill_at(request: int) -> Any:
    def fail(number: int, name: str) -> None:
        if number == request:
            raise Killed

    return fail


def test_a_second_search_is_refused_while_the_first_is_at_the_study(memory_or_s3):
    first = start(memory_or_s3)
    with pytest.raises(
        OutputError, match=f"another process is at the study {memory_or_s3.url.replace('://', ':///?')}"
    ):
        start(memory_or_s3)
    first.tell(first.ask()[0], Outcome("complete", 1.0))
    first.close()
    second = start(memory_or_s3)
    assert len(second.outcomes) == 1
    second.close()


def test_of_two_searches_on_two_hosts_the_first_is_refused_at_its_next_write(memory_or_s3, monkeypatch):
    first = start(memory_or_s3)
    trials = first.ask()
    with monkeypatch.context() as patch:
        patch.setattr(Owner, "is_here", lambda self: False)
        second = start(memory_or_s3)
    second.tell(second.ask()[0], Outcome("complete", 2.0))
    with pytest.raises(OutputError, match="another process has taken over the study"):
        first.tell(trials[0], Outcome("complete", 1.0))
    assert [record["outcome"]["value"] for record in document(memory_or_s3)["records"] if record["outcome"]] == [2.0]
    second.close()
    with pytest.raises(OutputError, match="taken over"):
        first.ask()
        first.tell(trials[0], Outcome("complete", 1.0))


@pytest.mark.thorough
def test_a_study_of_a_process_that_died_is_taken_over(shelf):
    child = os.fork()
    if child == 0:
        start(shelf).ask()
        os._exit(0)
    os.waitpid(child, 0)
    assert document(shelf)["owner"] is not None
    start(shelf).close()
    assert document(shelf)["owner"] is None


def test_another_search_is_refused_and_told_what_differs(memory):
    start(memory).close()
    with pytest.raises(ConfigError, match=r"what differs: data \(toy there, other here\)"):
        start(memory, data="other")


def test_what_is_no_study_is_refused_and_stays(memory):
    for content in (b"", b"rows", b"[1]", b'{"format": "other"}'):
        memory.put("toy.study", content)
        with pytest.raises(ConfigError, match="none of Penstock's"):
            start(memory)
        assert memory.read("toy.study") == content


def test_a_write_that_fails_leaves_the_study_as_it_was(shelf, monkeypatch):
    study = start(shelf)
    trials, before = study.ask(), document(shelf)
    monkeypatch.setattr(Shelf, "pipe_file", refuse)
    with pytest.raises(PenstockError, match="Permission denied"):
        study.tell(trials[0], Outcome("complete", 1.0))
    assert study.outcomes == {}
    monkeypatch.undo()
    assert document(shelf) == before
    study.tell(trials[0], Outcome("complete", 1.0))
    study.close()


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.mark.thorough
def test_a_search_goes_on_from_a_store(memory_or_s3):
    data = ps.LocalEngine(device="cpu").from_arrow(
        pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]})
    )

    def search(**options: Any) -> ps.CrossValidator:
        return ps.CrossValidator(
            ps.Pipeline(("model", st.LinearRegression("y"))), {"model.reg_param": [0.0, 1.0, 10.0]},
            st.RegressionEvaluator(label="y", metrics="rmse"), folds=3, **options,
        )  # fmt: skip

    kept = search(study=memory_or_s3.at("toy.study"), storage_options=memory_or_s3.options)
    first = kept.fit(data)
    written = document(memory_or_s3)["records"]
    again = kept.fit(data)
    assert document(memory_or_s3)["records"] == written
    assert (again.best_params, again.best_score) == (first.best_params, first.best_score)
    assert search().fit(data).best_score == first.best_score
