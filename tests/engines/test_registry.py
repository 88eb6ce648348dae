"""Engines of other packages: found by their entry points, and as good as ours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from timed_subtests import run_checks
from toy_engine import ToyEngine, ToySettings

from penstock import stages as st
from penstock.config.settings import Settings
from penstock.engines.settings import engine_names, engine_settings, settings_class
from penstock.errors import ConfigError, ExecutionError
from penstock.stages.base import Stage
from penstock.statistics.counts import Counts
from penstock.testing import checks_for

STAGES: tuple[Stage, ...] = (
    st.StandardScaler("n1"),
    st.StringIndexer("s1"),
    st.TargetEncoder("s1"),
    st.DropNulls("n1"),
    st.LinearRegression("y", features=("n3", "label", "w")),
)


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch, value: str, package: str = "toy") -> None:
    """Make it seem that a package is installed which offers the engine `toy`."""
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[penstock.engines]\ntoy = {value}\n")
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def toy() -> Iterator[ToyEngine]:
    with ToyEngine(device="cpu") as engine:
        yield engine


def test_our_engines_need_no_metadata():
    assert engine_names()[:3] == ["local", "dask", "spark"]
    assert [settings_class(name).__name__ for name in ("local", "dask", "spark")] == [
        "LocalSettings",
        "DaskSettings",
        "SparkSettings",
    ]


def test_an_engine_of_another_package_is_started_by_its_name(tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, "toy_engine:ToySettings")
    settings = engine_settings("toy", "cpu", Settings(), Path("nowhere"), {})
    assert settings == ToySettings(device="cpu")
    with settings.start(None) as engine:
        assert (engine.name, engine.slots) == ("toy", 2)


def test_a_name_that_two_packages_offer_is_refused(tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, "toy_engine:ToySettings")
    offer(tmp_path, monkeypatch, "another_toy:Settings", "another")
    with pytest.raises(ConfigError, match=r"'toy' is offered twice, by .*another_toy:Settings"):
        settings_class("toy")


@pytest.mark.parametrize(
    ("value", "message"),
    [("no_such_package:Settings", "No module named"), ("toy_engine:ToyEngine", "a class of EngineSett")],
)
def test_an_offer_that_is_no_engine_is_refused(tmp_path, monkeypatch, value, message):
    offer(tmp_path, monkeypatch, value)
    with pytest.raises(ConfigError, match=f"'toy'.*{message}"):
        settings_class("toy")


@pytest.mark.thorough
def test_an_engine_of_another_package_passes_the_core_of_the_suite(toy, subtests):
    run_checks((check for stage in STAGES for check in checks_for(stage) if check.scheduled), toy, subtests)


def test_what_needs_queries_says_so_where_an_engine_has_none(toy):
    data = toy.from_arrow(pa.table({"t": [1, 2], "x": [1.0, 2.0]}))
    with pytest.raises(ConfigError, match=r"lag.* needs an engine with a query engine, and 'toy' has none"):
        data.lag("x", by=(), order_by="t")
    with pytest.raises(ConfigError, match=r"sort needs an engine with a query engine, and 'toy' has none"):
        data.sort("x")


class LosesTheLast(ToyEngine):
    def map(self, task: Any, items: Any, *, label: str = "map") -> Any:
        yield from list(super().map(task, items))[:-1]


def test_a_result_that_an_engine_loses_is_an_error(tmp_path):
    with LosesTheLast(device="cpu") as engine:
        data = engine.from_arrow(pa.table({"x": range(10)}), fragment_bytes=24)
        for use in (
            lambda: data.write(tmp_path / "out", format="csv"),
            data.to_arrow,
            lambda: data.gather([Counts(("x",))]),
        ):
            with pytest.raises(ExecutionError, match="the engine 'toy' gave 3 results for 4 tasks"):
                use()
    assert not (tmp_path / "out").exists()
