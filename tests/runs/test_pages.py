"""The page of a run and its display: marks where the record says, however many tasks; names that cannot act."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import run_samples as samples
from displays import Page

from penstock.core.recording import PHASES
from penstock.report.runs.coverage import coverage
from penstock.report.runs.timeline import timeline

RECTANGLE = re.compile(r"M(\S+) (\S+)h(\S+)v(\S+)h\S+z")


def drawing(run) -> ET.Element:
    return ET.fromstring(str(timeline(run).drawn))


def marks(drawn: ET.Element, phase: str) -> list[tuple[float, ...]]:
    """Return x, y, width and height of the rectangles of a phase."""
    paths = [each for each in drawn.iter("path") if each.get("class") == f"phase {phase}"]
    return [tuple(map(float, found)) for path in paths for found in RECTANGLE.findall(path.get("d", ""))]


def seconds_to_x(drawn: ET.Element, second: float) -> float:
    ticks = {each.text: float(each.get("x", "")) for each in drawn.iter("text") if each.get("class") == "tick"}
    return ticks["0"] + (ticks["10"] - ticks["0"]) * second / 10


def test_phases_are_drawn_where_and_as_long_as_they_were() -> None:
    tasks = [samples.task(2.0, {"read": 1.0, "compute": 3.0})]
    drawn = drawing(samples.run([samples.span("scan", 1.0, 9.0)], tasks))
    for phase, start, end in (("read", 2.0, 3.0), ("compute", 3.0, 6.0), ("waiting", 1.0, 9.0)):
        found = marks(drawn, phase)
        assert min(x for x, *_ in found) == pytest.approx(seconds_to_x(drawn, start), abs=1)
        assert max(x + width for x, _, width, _ in found) == pytest.approx(seconds_to_x(drawn, end), abs=1)


def test_a_moment_that_tasks_fill_in_part_has_a_lower_bar() -> None:
    tasks = [samples.task(place / 1000, {"compute": 0.00025}) for place in range(10_000)]
    drawn = drawing(samples.run([samples.span("scan", 0.0, 10.0)], tasks))
    heights = {height for _, _, _, height in marks(drawn, "compute")}
    (full,) = {height for _, _, _, height in marks(drawn, "waiting")}
    assert heights == {full / 4} or heights == {full / 4, full / 2}


def test_each_slot_has_a_line_and_each_worker_one_name() -> None:
    drawn = drawing(samples.full())
    assert len({y for _, y, _, _ in marks(drawn, "waiting")}) == 4
    labels = [each.text for each in drawn.iter("text") if each.get("class") == "label"]
    assert labels == ["driver", "engine", "node-0:0", "node-1:1"]


def test_a_task_that_is_pointed_at_says_what_it_did() -> None:
    tips = [each.text for each in drawing(samples.full()).iter("title")]
    assert "scan, task 0: 0.450 s (read 0.100, decode 0.200, compute 0.150)" in tips
    assert "scan, rank 1: 4.000 s (train 3.000, communicate 1.000)" in tips


def test_very_many_tasks_are_some_thousand_marks() -> None:
    figure = timeline(samples.many())
    drawn = ET.fromstring(str(figure.drawn))
    assert 40 < sum(len(marks(drawn, phase)) for phase in PHASES) < 30_000
    assert len(str(figure.drawn)) < 1_000_000
    assert "40 of 100 slots are drawn" in figure.caption


def test_coverage_is_the_sum_of_overlaps_with_each_bin() -> None:
    drawn = np.random.default_rng(3)
    starts = drawn.uniform(-2, 12, 50)
    ends, groups, weights = starts + drawn.exponential(2.0, 50), drawn.integers(0, 3, 50), drawn.uniform(0, 2, 50)
    expected = np.zeros((3, 10))
    for start, end, group, weight in zip(starts, ends, groups, weights, strict=True):
        for place in range(10):
            expected[group, place] += weight * max(0.0, min(end, place + 1) - max(start, place))
    assert coverage(starts, ends, groups, 3, 10, weights=weights) == pytest.approx(expected, abs=1e-9)


def test_a_page_is_whole_and_its_names_are_text() -> None:
    for made in (samples.full(), samples.hostile(), samples.empty()):
        page = made.to_html()
        for drawn in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
            ET.fromstring(drawn)
        assert "<script" not in page
        assert "default-src 'none'" in page
    assert "ValueError: no" in page  # why the last one failed


def test_a_page_has_a_section_for_each_question_and_is_written_whole(tmp_path) -> None:
    details = {"Note": "a friday"}
    page = samples.full().to_html(title="Friday", details=details)
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert titles == ["Summary", "Timeline", "Phases", "Workers", "Tasks", "Lineage", "Facts"]
    assert "a friday" in page
    for fact in ("XGBoostClassifier.num_boost_round", "XGBoostClassifier has not converged", "areaUnderROC"):
        assert fact in page
    written = samples.full().write_report(tmp_path / "made" / "run.html", title="Friday", details=details)
    assert written.read_text(encoding="utf-8") == page


def test_a_page_says_what_the_run_cost() -> None:
    page = samples.full().to_html()
    costs = dict(re.findall(r'<th scope="row">(.*?)</th><td class="number">(.*?)</td>', page))
    assert costs["Energy, measured"] == "7,200 J, 2.000 Wh"
    assert (costs["Slots"], costs["Rows in"], costs["Bytes in"]) == ("4", "230", "2.2 KiB")


def test_lineage_leads_from_the_files_to_the_outputs() -> None:
    (drawn,) = [each for each in re.findall(r"<svg.*?</svg>", samples.full().to_html(), re.DOTALL) if "link" in each]
    tree = ET.fromstring(drawn)
    labels = [each.text for each in tree.iter("text") if each.get("class") == "label"]
    assert labels[0].endswith("day=0/part.parquet")
    assert labels[-2:] == ["and 4 more inputs", "models/clicks"]
    assert len([each for each in tree.iter("path") if each.get("class") == "link"]) == 12


def test_a_notebook_shows_facts_what_stands_out_and_the_page_and_hostile_names_as_text() -> None:
    page = Page(samples.full()._repr_html_())
    assert {"kind fit", "status done", "tasks 23"} <= set(page.of("span"))
    assert "scan 1 of 1" in page.of("th")
    (frame,) = [attributes for tag, attributes in page.tags if tag == "iframe"]
    assert frame["sandbox"] == ""
    assert frame["srcdoc"] == samples.full().to_html()
    assert samples.HOSTILE in " ".join(Page(samples.hostile()._repr_html_()).of("td"))
    assert repr(samples.full()) == "Run(20231114T221320000000-00000000, fit clicks: done, 10.00 s, 23 tasks)"
