"""Engines by name, by file and by section."""

from pathlib import Path

import pyarrow as pa
import pytest

from penstock.config.settings import Settings, read_yaml
from penstock.engines.dask.settings import DaskSettings
from penstock.engines.local import LocalEngine
from penstock.engines.local.settings import LocalSettings
from penstock.engines.settings import engine_settings
from penstock.engines.spark.settings import SparkSettings
from penstock.errors import ConfigError

CONF = Path(__file__).parents[2] / "conf" / "engines"
SUBMITTED = {"PYSPARK_GATEWAY_PORT": "1"}


def _settings(name=None, device=None, conf=None, folder=Path("nowhere"), environ=None):
    return engine_settings(name, device, conf or Settings(), folder, environ or {})


def test_a_name_without_a_file_is_an_engine_as_it_is_by_default_and_local_without_a_name():
    for name, expected in (
        ("local", LocalSettings()),
        ("dask", DaskSettings()),
        ("spark", SparkSettings()),
        (None, LocalSettings()),
    ):
        assert _settings(name) == expected


def test_a_file_of_the_name_wins(tmp_path):
    (tmp_path / "local.yaml").write_text("engine: local\nin_flight: 5")
    assert _settings("local", folder=tmp_path) == LocalSettings(in_flight=5)


def test_a_path_is_read(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("engine: dask\ncluster: tls://host:8786")
    assert _settings(str(path)) == DaskSettings(cluster="tls://host:8786")


def test_a_section_is_used_where_there_is_no_name(tmp_path):
    section = Settings({"engine": "spark", "conf": {"spark.master": "local[2]"}})
    assert _settings(conf=section) == SparkSettings(conf={"spark.master": "local[2]"})
    assert _settings("dask", conf=section) == DaskSettings()


def test_the_device_option_wins(tmp_path):
    (tmp_path / "mine.yaml").write_text("engine: dask\ndevice: gpu")
    assert _settings("mine", "cpu", folder=tmp_path) == DaskSettings(device="cpu")


def test_the_staging_dir_option_wins_and_holds_for_a_submitted_session_too(tmp_path):
    (tmp_path / "mine.yaml").write_text("engine: dask\nstaging_dir: /there")
    for name, environ, expected in (
        ("mine", {}, DaskSettings(staging_dir="/shared")),
        (None, {}, LocalSettings(staging_dir="/shared")),
        (None, SUBMITTED, SparkSettings(staging_dir="/shared")),
    ):
        assert engine_settings(name, None, Settings(), tmp_path, environ, staging_dir="/shared") == expected


def test_an_engine_whose_workers_share_no_disk_says_which_options_name_one(monkeypatch):
    monkeypatch.setattr(LocalEngine, "unshared", lambda self: "the workers are elsewhere")
    rows = LocalEngine(device="cpu").from_arrow(pa.table({"x": [1]}))
    with pytest.raises(ConfigError, match="group_by needs staging_dir: the workers are elsewhere") as caught:
        rows.group_by("x").agg(n="len").to_arrow()
    for option in ("--staging-dir", "staging_dir in the file of --engine", "LocalEngine(staging_dir=...)"):
        assert option in caught.value.hint


def test_an_unknown_name_is_refused_with_the_nearest(tmp_path):
    (tmp_path / "mine.yaml").write_text("engine: dask")
    with pytest.raises(
        ConfigError, match=r"engine is 'sparc', expected one of dask, local, mine, spark. Did you mean 'spark'"
    ):
        _settings("sparc", folder=tmp_path)


def test_a_file_without_a_known_engine_is_refused_where_it_says_so(tmp_path):
    (tmp_path / "mine.yaml").write_text("device: cpu\nengine: sparc")
    with pytest.raises(ConfigError, match=r"mine.yaml, line 2, column 9: engine is 'sparc'.* Did you mean 'spark'"):
        _settings("mine", folder=tmp_path)


def test_an_argument_that_the_engine_lacks_is_refused_with_the_nearest(tmp_path):
    (tmp_path / "mine.yaml").write_text("engine: local\nin_fligth: 3")
    with pytest.raises(ConfigError, match=r"line 2, column 12: 'in_fligth' is not known. Did you mean 'in_flight'"):
        _settings("mine", folder=tmp_path)


def test_an_unknown_device_is_refused():
    with pytest.raises(ConfigError, match=r"device is read as 'tpu' .* expected 'auto', 'cpu' or 'gpu'"):
        _settings("local", "tpu")


def test_under_spark_submit_it_is_the_session_that_was_submitted_unless_another_engine_is_named(tmp_path):
    (tmp_path / "spark.yaml").write_text("engine: spark\nconf: {spark.master: elsewhere}")
    for name in (None, "spark"):
        assert _settings(name, folder=tmp_path, environ=SUBMITTED) == SparkSettings()
    assert _settings("local", environ=SUBMITTED) == LocalSettings()


def test_the_files_that_come_with_it_say_what_their_engine_knows():
    paths = list(CONF.glob("*.yaml"))
    assert len(paths) >= 3
    for path in paths:
        assert _settings(path.stem, folder=CONF).engine == read_yaml(path).values["engine"]


def test_a_local_engine_starts():
    with LocalSettings(device="cpu").start(None) as engine:
        assert (engine.name, engine.kind) == ("local", "cpu")
