"""The trace of a run: fields as the Trace Event Format has them, slices that nest, times of the record."""

import gzip
import json

import pytest
from run_samples import full, hostile, run, span, task

from penstock.core.recording import PHASES
from penstock.runs.trace_events import chrome_trace, write_chrome_trace


def slices(trace) -> list[dict]:
    return [each for each in trace["traceEvents"] if each["ph"] == "X"]


def test_events_have_the_fields_that_the_format_asks_for() -> None:
    for made in (full(), hostile()):
        trace = json.loads(json.dumps(chrome_trace(made), allow_nan=False))
        assert trace["displayTimeUnit"] in ("ms", "ns")
        for event in trace["traceEvents"]:
            assert [type(event[name]) for name in ("name", "pid", "tid", "args")] == [str, int, int, dict]
            assert event["ph"] in ("X", "M")
            if event["ph"] == "X":
                assert min(event["ts"], event["dur"]) >= 0
                assert isinstance(event["cat"], str)
            else:
                assert event["name"] in ("process_name", "process_sort_index", "thread_name")


def test_slices_of_a_thread_are_apart_or_within_one_another() -> None:
    by_thread: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in slices(chrome_trace(full())):
        by_thread.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(by_thread) == 6  # the steps and the scans of the driver, and four slots
    for intervals in by_thread.values():
        open_ends: list[float] = []
        for start, end in sorted(intervals, key=lambda each: (each[0], -each[1])):
            while open_ends and open_ends[-1] <= start + 1:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1] + 1
            open_ends.append(end)


def test_scans_of_the_driver_that_overlap_are_on_threads_of_their_own() -> None:
    trace = chrome_trace(run([span("fit", 0.0, 9.0, "step"), span("one", 0.0, 5.0), span("two", 4.0, 6.0)], []))
    assert {each["name"]: each["tid"] for each in slices(trace)} == {"fit": 0, "one": 1, "two": 2}


def test_a_task_is_a_slice_with_its_phases_in_their_order_and_what_it_read() -> None:
    made = task(2.0, {"compute": 0.5, "read": 1.5}, worker="node:7", slot=3, fragment=11, energy=None)
    found = slices(chrome_trace(run([span("scan", 1.0, 9.0)], [made])))
    parent, *phases = found[1:]
    assert (parent["name"], parent["ts"], parent["dur"], parent["tid"]) == ("scan", 2e6, 2e6, 3)
    assert {"fragment": 11, "rows_in": 10, "bytes_in": 100}.items() <= parent["args"].items()
    assert "energy" not in parent["args"]
    assert [(each["name"], each["ts"], each["dur"]) for each in phases] == [
        ("read", 2e6, 1.5e6),
        ("compute", 3.5e6, 0.5e6),
    ]


def test_phases_add_up_to_their_tasks_and_each_worker_is_a_process_of_its_name() -> None:
    found = slices(chrome_trace(full()))
    phases = sum(each["dur"] for each in found if each["name"] in PHASES)
    assert phases == pytest.approx(sum(each["dur"] for each in found if each["cat"] in ("task", "merge", "rank")))
    events = chrome_trace(full())["traceEvents"]
    names = {each["pid"]: each["args"]["name"] for each in events if each["name"] == "process_name"}
    assert names == {0: "driver: fit clicks", 1: "node-0:0", 2: "node-1:1"}


def test_a_file_is_json_and_compressed_where_its_name_says_so(tmp_path) -> None:
    plain, packed = write_chrome_trace(full(), tmp_path / "t.json"), write_chrome_trace(full(), tmp_path / "t.json.gz")
    assert json.loads(plain.read_bytes()) == json.loads(gzip.decompress(packed.read_bytes()))
