"""`penstock runs`: which runs there are by any field, one of them, two side by side."""

import json
import os

import fsspec
import pytest
import run_samples as samples

from penstock.cli.commands import main
from penstock.runs import Run, RunStore

IDS = ("20250101T000000000000-aaaaaaaa", "20250102T000000000000-bbbbbbbb", "20250103T000000000000-cccccccc")


def save(folder: str) -> None:
    for place, (run_id, kind) in enumerate(zip(IDS, ("fit", "score", "fit"), strict=True)):
        made = samples.full()
        own = {"run_id": run_id, "kind": kind, "metrics": {"areaUnderROC": 0.5 + place / 10}, "rows": place}
        Run(made.info | own, made.tasks).save(f"{folder}/{run_id}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    made = str(tmp_path_factory.mktemp("records") / "runs")
    save(made)
    return made


@pytest.fixture
def call(capsys, monkeypatch):
    """A command; returns its exit code and what it printed as JSON."""
    monkeypatch.delenv("PENSTOCK_RUNS", raising=False)

    def run(*arguments: str):
        code = main(["runs", *map(str, arguments), "--json"])
        return code, json.loads(capsys.readouterr().out.splitlines()[-1])

    return run


def ids(result) -> list[str]:
    return [each["run_id"] for each in result["runs"]]


def test_runs_are_listed_the_newest_first_or_sorted_by_fields_at_any_depth_and_cut_at_a_limit(call, folder) -> None:
    code, result = call("list", "--runs", folder)
    assert (code, ids(result), result["left_out"]) == (0, list(reversed(IDS)), 0)
    assert "spans" not in result["runs"][0]
    _, result = call("list", "--runs", folder, "--where", "kind=fit", "--where", "metrics.areaUnderROC<0.65")
    assert ids(result) == [IDS[0]]
    assert "metrics.areaUnderROC" in result["columns"]
    for sort, first in (("metrics.areaUnderROC", IDS[0]), ("-rows", IDS[2])):
        _, result = call("list", "--runs", folder, "--sort", sort, "--limit", "1")
        assert (ids(result), result["left_out"]) == ([first], 2)


def test_a_field_a_folder_and_a_run_that_are_not_there_are_refused_with_what_is(call, folder, tmp_path) -> None:
    code, result = call("list", "--runs", folder, "--where", "metrics.areaUnderRUC>0")
    assert code == 2
    assert "metrics.areaUnderROC" in result["error"]["hint"]
    code, result = call("list", "--runs", tmp_path / "none")
    assert (code, result["error"]["type"]) == (3, "MissingInputError")
    code, result = call("show", "1999", "--runs", folder)
    assert (code, IDS[2] in result["error"]["hint"]) == (3, True)


def test_a_damaged_record_is_listed_and_the_others_too(call, tmp_path) -> None:
    save(str(tmp_path))
    (tmp_path / IDS[1] / "run.json").write_text("{")
    _, result = call("list", "--runs", tmp_path)
    states = {each["run_id"]: each["status"] for each in result["runs"]}
    assert states == {IDS[0]: "done", IDS[1]: "unreadable", IDS[2]: "done"}


def test_the_folder_is_that_of_the_environment_unless_it_is_named(call, folder, monkeypatch) -> None:
    monkeypatch.setenv("PENSTOCK_RUNS", folder)
    assert len(ids(call("list")[1])) == 3


def test_a_run_is_found_by_its_id_by_how_it_begins_and_by_its_directory(call, folder) -> None:
    for named in ("last", IDS[2], IDS[2][:8]):
        code, result = call("show", named, "--runs", folder)
        assert (code, result["run"]["run_id"], result["tasks"]) == (0, IDS[2], 23)
    assert call("show", f"{folder}/{IDS[1]}")[1]["run"]["kind"] == "score"


def test_a_run_has_its_numbers_as_json(call, folder) -> None:
    _, result = call("show", "last", "--runs", folder)
    assert result["phases"]["train"] == 6.0
    assert result["process"]["steps"] == pytest.approx({"plan": 0.5, "save": 1.0})
    assert [each["explained"] for each in result["slots"]] == pytest.approx([1.0] * 4, abs=0.2)
    assert result["slowest"][0]["kind"] == "task"


def test_a_page_and_a_trace_are_written(call, folder, tmp_path) -> None:
    page, trace = tmp_path / "page.html", tmp_path / "trace.json"
    code, result = call("show", "last", "--runs", folder, "--report", page, "--trace", trace)
    assert (code, result["report"], result["trace"]) == (0, str(page), str(trace))
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert json.loads(trace.read_text())["otherData"]["run_id"] == IDS[2]


def test_what_a_run_cost_goes_by_the_price_of_its_hosts_and_the_electricity_that_is_named(
    call, folder, tmp_path
) -> None:
    machines, page = tmp_path / "machines.yaml", tmp_path / "page.html"
    machines.write_text("machines:\n  mine: {cores: 4, memory: 16GiB, price: 7200}\n")
    arguments = ("--machines", machines, "--machine", "mine", "--report", page)
    _, result = call("show", "last", "--runs", folder, *arguments)
    hosts = len(set(samples.full().tasks["host"].to_pylist()))
    assert result["cost"]["cost"] == pytest.approx(2 * hosts * samples.full().seconds)
    assert f"of {hosts} x mine" in page.read_text(encoding="utf-8")
    _, result = call("show", "last", "--runs", folder, "--intensity", "36")
    energy = result["run"]["energy"]
    assert energy["co2_grams"] == pytest.approx(energy["joules"] / 3.6e6 * 36)


def test_two_runs_are_compared(call, folder) -> None:
    _, result = call("compare", IDS[0], "last", "--runs", folder)
    differences = {each["field"]: (each["one"], each["other"]) for each in result["differences"]}
    assert differences == {"metrics.areaUnderROC": (0.5, 0.7), "rows": (0, 2)}
    assert all(each["ratio"] == 1.0 for each in result["phases"])


def test_people_get_tables(capsys, folder, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for arguments, words in (
        (["list"], ["run_id", IDS[0], "score", "dask"]),
        (["show", "last"], ["scan 1 of 1", "communicate", "is explained"]),
        (["compare", IDS[0], IDS[1]], ["metrics.areaUnderROC", "seconds of tasks", "decode", "kind"]),
    ):
        assert main(["runs", *arguments, "--runs", folder]) == 0
        shown = capsys.readouterr().out
        assert [word for word in words if word not in shown] == []


def test_a_store_may_be_a_url(call) -> None:
    save("memory://records/runs")
    try:
        assert ids(call("list", "--runs", "memory://records/runs")[1]) == list(reversed(IDS))
        assert call("show", f"memory://records/runs/{IDS[0]}")[1]["run"]["run_id"] == IDS[0]
        assert RunStore("memory://records/runs").get("last").id == IDS[2]
    finally:
        fsspec.filesystem("memory").rm("/records", recursive=True)


DAMAGED = {
    "an empty object": "{}",
    "a list": "[]",
    "null": "null",
    "too deep": "[" * 100_000,
    "a text for spans": json.dumps(samples.full().info | {"spans": "x"}),
    "a year that is none": json.dumps(samples.full().info | {"started": 1e300}),
    "another format": json.dumps(samples.full().info | {"format": 2}),
}


@pytest.mark.thorough
def test_whatever_is_in_a_record_it_is_listed_as_damaged_and_left_out_of_what_reads_all(
    call, tmp_path, subtests, caplog
) -> None:
    save(str(tmp_path))
    for name, content in DAMAGED.items():
        (tmp_path / IDS[1] / "run.json").write_text(content)
        with subtests.test(name):
            code, result = call("list", "--runs", tmp_path)
            states = {each["run_id"]: each["status"] for each in result["runs"]}
            assert (code, states) == (0, {IDS[0]: "done", IDS[1]: "unreadable", IDS[2]: "done"})
            assert call("show", IDS[1], "--runs", tmp_path)[1]["error"]["type"] == "CorruptFileError"
            caplog.clear()
            assert [run.id for run in RunStore(tmp_path)] == [IDS[0], IDS[2]]
            assert IDS[1] in caplog.text


def test_a_pipe_in_the_place_of_a_record_is_not_waited_for(tmp_path) -> None:
    save(str(tmp_path))
    (tmp_path / IDS[1] / "run.json").unlink()
    os.mkfifo(tmp_path / IDS[1] / "run.json")
    assert [info["status"] for info in RunStore(tmp_path).infos()] == ["done", "unreadable", "done"]
    assert [run.id for run in RunStore(tmp_path)] == [IDS[0], IDS[2]]


@pytest.mark.parametrize("name", ["team[1]", "a*", "what?", "{x}"])
def test_a_folder_of_any_name_has_its_records(name, tmp_path) -> None:
    for location in (f"{tmp_path}/{name}", f"memory://{tmp_path.name}/{name}"):
        save(location)
        assert [info["run_id"] for info in RunStore(location).infos()] == list(IDS)
