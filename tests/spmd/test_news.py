"""An engine's own news of a lost rank: it starts the restart, and every loss is in the log, the record and the page."""

import threading
from dataclasses import dataclass, field

import pytest
from spmd.rank_threads import Notes, Threads, run

import penstock as ps
from penstock.cli.runs.jobs import show_run
from penstock.cli.runs.requests import ShowRunRequest
from penstock.dataset import Dataset
from penstock.spmd import Rank
from penstock.spmd.gang import News


@dataclass
class Engine:
    """What an engine says, and how often it was asked; its seconds pass as told."""

    says: str | None = None
    asked: int = 0
    now: float = 0.0

    def problem(self) -> str | None:
        self.asked += 1
        return self.says

    def news(self) -> News:
        return News(self.problem, lambda: self.now)


def test_an_engine_is_asked_once_a_second():
    engine = Engine()
    news = engine.news()
    for tenth in range(31):
        engine.now = tenth / 10
        assert news.bad() is None
    assert engine.asked == 4


def test_bad_news_waits_a_second_for_what_the_ranks_say_of_it():
    for grace, seconds in ((1.0, [None, None, "gone", "gone"]), (0.0, ["gone"] * 4)):
        engine = Engine("gone")
        news = engine.news()
        found = []
        for engine.now in (0.0, 0.9, 1.0, 5.0):
            found.append(news.bad(grace))
        assert (found, engine.asked) == (seconds, 1)


@dataclass
class Knowing(Threads):
    """Knows at once of a rank of the first attempt that it is lost, though it still shows signs of life."""

    notes: Notes = field(default_factory=Notes)
    lost: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)
    said: list[int] = field(default_factory=list)

    def problem(self) -> str | None:
        return "executor 1 is gone" if self.lost.is_set() and not self.stopped.is_set() else None

    def stop(self) -> None:
        self.said.append(len(self.notes.notes))
        self.stopped.set()
        super().stop()


def lose(launch: Knowing, data: dict[str, Dataset]) -> None:
    def body(rank: Rank) -> None:
        if rank.checkpoint is None:
            rank.save(4, b"state")
            rank.report(4)
            rank.gather(None)
            launch.lost.set()
            launch.stopped.wait(300)

    run(launch, body, data)


LOSS = "train it: a rank was lost after round 4: executor 1 is gone; attempt 1 of 2 ended"
RESTART = "train it: begins again after round 4, on 2 rank(s)"


@pytest.mark.thorough
def test_news_of_a_loss_is_said_and_ends_the_attempt_then_the_restart_is_said(data, notes):
    launch = Knowing(notes=notes)
    lose(launch, data)
    assert (launch.started, launch.said, notes.notes) == (2, [1, 2], [LOSS, RESTART])


@pytest.mark.thorough
def test_loss_and_restart_are_in_the_record_in_runs_show_and_on_the_page(data, tmp_path):
    with ps.runs.record(tmp_path, kind="fit") as recording:
        lose(Knowing(), data)
    found = ps.runs.Run.load(recording.path)
    assert [each["text"] for each in found.info["events"]] == [LOSS, RESTART]
    shown = [each["text"] for each in show_run(ShowRunRequest(run=recording.path)).findings]
    assert shown[:2] == [LOSS, RESTART]
    page = found.to_html()
    assert LOSS in page
    assert RESTART in page


def test_a_run_that_loses_nothing_says_nothing_of_losses(data, tmp_path):
    with ps.runs.record(tmp_path, kind="fit") as recording:
        run(Threads(), lambda rank: rank.gather(None), data)
    assert ps.runs.Run.load(recording.path).info["events"] == []


@pytest.mark.spark
def test_what_spark_begins_again_is_news():
    from types import SimpleNamespace as Fake

    from pyspark import SparkStageInfo

    from penstock.engines.spark.classic.job import RddJob

    for attempt, failed, says in ((0, 0, ""), (1, 0, "begins the stage again"), (0, 2, "lost 2 task(s)")):
        info = SparkStageInfo(7, attempt, "ranks", 2, 2, 0, failed)
        tracker = Fake(
            getJobIdsForGroup=lambda name: [0],
            getJobInfo=lambda job: Fake(stageIds=[7]),
            getStageInfo=lambda stage, info=info: info,
        )
        context: object = Fake(getConf=dict, statusTracker=lambda tracker=tracker: tracker)
        said = RddJob(context, None, "train").setback()
        assert bool(said) == bool(says)
        assert says in (said or "")
