"""The outputs of one job, model, scores with their quarantine, and page: they appear together or not at all."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_projects import pipeline_module

from penstock.cli import jobs
from penstock.cli.requests import EvaluateRequest, FitRequest, ScoreRequest
from penstock.dataset import Dataset
from penstock.dataset.writing import StagedDataset
from penstock.errors import CommitConflictError, ConfigError, OutputError
from penstock.io.sinks import read_manifest

PIPELINE = pipeline_module(
    'st.Expect(f"y < {parameters.limit}", action="quarantine", name="small"), st.Imputer("x")',
    '[st.RegressionEvaluator(label="y", prediction="x", metrics=["mae"])]',
    parameters="limit: float = 1.0",
)
pytestmark = pytest.mark.thorough

OUTPUTS = ["model", "page.html", "scores", "scores.quarantine"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a pipeline and its data: y is even in [0, 1), and a limit sets rows above it aside."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "small.py").write_text(PIPELINE)
    (tmp_path / "out").mkdir()
    y = np.linspace(0, 1, 400, endpoint=False)
    pq.write_table(pa.table({"x": y, "y": y}), tmp_path / "data.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(limit: float = 1.0, **options: Any) -> jobs.FitResult:
    common = {"data": ["data.parquet"], "engine": "local", "device": "cpu", "set": [f"limit={limit}"]}
    places = {"out": "out/model", "score": "out/scores", "report": "out/page.html", "overwrite": True}
    return jobs.fit(FitRequest(pipeline="small", **{**common, **places, **options}))


def runs() -> dict[str, str]:
    """Return the run of each output; whatever lies beside them fails the test."""
    found = {}
    for name in os.listdir("out"):
        if name == "page.html":
            found[name] = re.findall(r"\d{8}T\d{12}-[0-9a-f]{8}", Path("out", name).read_text())[0]
        else:
            manifest = read_manifest(Path("out", name))
            assert manifest is not None, name
            found[name] = manifest.run_id
    return found


def test_all_outputs_of_a_fit_name_its_run_and_a_quarantine_goes_with_its_scores(project):
    for limit, outputs in ((0.5, OUTPUTS), (1.0, OUTPUTS[:3])):
        fitted = fit(limit=limit)
        assert fitted.scored is not None
        assert runs() == dict.fromkeys(outputs, fitted.scored.run_id)
    assert fitted.scored.quarantine is None


def broken(*_: object, **__: object) -> Any:
    raise OutputError("broken")


def test_a_fit_that_fails_after_its_model_was_staged_leaves_all_as_it_was(project, subtests):
    places = {"page": (jobs, "seal_page"), "scores": (StagedDataset, "seal"), "count": (jobs, "row_log")}
    for earlier in (False, True):
        if earlier:
            fit(limit=0.5)
        before = runs()
        assert set(before) == (set(OUTPUTS) if earlier else set())
        for where, place in places.items():
            with subtests.test(where, earlier=earlier), pytest.MonkeyPatch.context() as patch:
                patch.setattr(*place, broken)
                with pytest.raises(OutputError, match="broken"):
                    fit()
                assert runs() == before


def overtaking(monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any]) -> list[Any]:
    """Let other work be done while the next fit trains; its results are in the list."""
    done: list[Any] = []
    rows = jobs.row_log

    def meanwhile(*arguments: Any) -> Any:
        monkeypatch.setattr(jobs, "row_log", rows)
        done.append(work())
        return rows(*arguments)

    monkeypatch.setattr(jobs, "row_log", meanwhile)
    return done


def test_of_two_fits_on_the_same_outputs_one_wins_whole(project, monkeypatch):
    fit(limit=0.5)
    quick = overtaking(monkeypatch, lambda: fit(limit=0.5, seed=8))
    with pytest.raises(CommitConflictError, match="now holds the output of run"):
        fit(limit=0.4)
    assert runs() == dict.fromkeys(OUTPUTS, quick[0].scored.run_id)


def test_a_fit_that_lost_its_page_to_another_leaves_the_model(project, monkeypatch):
    first = fit()
    overtaking(monkeypatch, lambda: Path("out/page.html").write_text("by hand"))
    with pytest.raises(CommitConflictError, match=r"page\.html now holds a file"):
        fit()
    assert first.scored is not None
    assert Path("out/page.html").read_text() == "by hand"
    Path("out/page.html").unlink()
    assert set(runs().values()) == {first.scored.run_id}


def test_scores_that_another_fit_replaced_meanwhile_are_not_written_with_the_old_model(project, monkeypatch):
    fit()
    seal = StagedDataset.seal

    def overtaken(staged: StagedDataset, dataset: Dataset) -> Any:
        monkeypatch.setattr(StagedDataset, "seal", seal)
        fit(limit=0.5)
        return seal(staged, dataset)

    monkeypatch.setattr(StagedDataset, "seal", overtaken)
    with pytest.raises(CommitConflictError):
        jobs.score(ScoreRequest(model="out/model", data=["data.parquet"], out="out/scores", overwrite=True))
    assert len(set(runs().values())) == 1


def test_a_page_inside_the_model_or_over_the_data_is_refused(project):
    data = Path("data.parquet").read_bytes()
    with pytest.raises(ConfigError, match="its own input"):
        fit(report="data.parquet")
    assert (Path("data.parquet").read_bytes(), runs()) == (data, {})
    fit()
    before = runs()
    with pytest.raises(ConfigError, match="lie in each other"):
        fit(report="out/model/page.html")
    request = {"pipeline": "small", "data": ["data.parquet"], "model": "out/model"}
    with pytest.raises(ConfigError, match="lie in each other"):
        jobs.evaluate(EvaluateRequest(**request, report="out/model/page.html"))
    assert runs() == before


def test_an_evaluation_that_fails_keeps_the_page_of_the_last(project, monkeypatch):
    fit()
    before = runs()
    monkeypatch.setattr(jobs, "seal_page", broken)
    with pytest.raises(OutputError, match="broken"):
        jobs.evaluate(
            EvaluateRequest(pipeline="small", data=["data.parquet"], model="out/model", report="out/page.html")
        )
    assert runs() == before
