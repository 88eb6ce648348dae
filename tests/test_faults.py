"""What a careful user sees when something goes wrong: the error, its words, its exit code, and what is on disk.

Faults that one module answers for are tested beside it; here are those that cross modules, engines or processes.
"""

import hashlib
import importlib
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_projects import pipeline_module

import penstock as ps
from penstock import frames
from penstock import stages as st
from penstock.cli import jobs
from penstock.cli.commands import main
from penstock.cli.requests import FitRequest
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import (
    CommitConflictError,
    CorruptFileError,
    DataValueError,
    IncompleteInputError,
    SchemaDriftError,
    UnsupportedStepError,
    UserCodeError,
)

ROOT = Path(__file__).resolve().parents[1]
NAN = float("nan")


def write(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def contents(folder: Path) -> dict[str, str]:
    """Return every name below a folder, also of what is left over, with a digest of what files hold."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def numbers(engine: Engine, rows: int = 1000) -> Dataset:
    """Return ten fragments of the column x."""
    return engine.from_arrow(pa.table({"x": np.arange(float(rows))}), fragment_bytes=rows * 8 // 10)


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    """Return the exit code of a command and what it printed last."""
    code = main([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


# Files


def test_a_flipped_bit_is_found_by_page_checksums_when_asked(local, tmp_path):
    path, x = tmp_path / "a.parquet", np.arange(1000.0)
    pq.write_table(
        pa.table({"i": range(1000), "x": x}), path, compression=None, use_dictionary=False, write_page_checksum=True
    )
    content = bytearray(path.read_bytes())
    content[content.index(x.tobytes()) + 800] ^= 1  # a value, so that the page still decodes
    path.write_bytes(content)
    assert local.read_parquet(path, page_checksum_verification=False).to_arrow()["x"].to_pylist() != x.tolist()
    with pytest.raises(CorruptFileError, match=r"a\.parquet: column 'x', rows 0 to 1000") as caught:
        local.read_parquet(path, page_checksum_verification=True).to_arrow()
    assert caught.value.column == "x"


def test_a_file_that_changes_while_it_is_read_is_not_taken_for_a_damaged_one(local, tmp_path, monkeypatch):
    read = frames.read_parquet
    for content in (b"no Parquet at all", None):
        path = write(tmp_path / "in" / "a.parquet", x=[1, 2])
        data = local.read_parquet(path)

        def changed(*arguments: Any, path: Path = path, content: bytes | None = content) -> Any:
            path.unlink()
            if content is not None:
                path.write_bytes(content)
            return read(*arguments)

        monkeypatch.setattr(frames, "read_parquet", changed)
        with pytest.raises(IncompleteInputError) as caught:
            data.write_parquet(tmp_path / "out")
        assert caught.value.path == str(path)
        assert os.listdir(tmp_path) == ["in"]
        monkeypatch.undo()


def test_rows_read_from_a_file_that_was_replaced_meanwhile_do_not_count(local, tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", x=[1, 2])
    data, read = local.read_parquet(path), frames.read_parquet

    def changed(*arguments: Any) -> Any:
        made = read(*arguments)
        write(path, x=[3, 4, 5])
        return made

    monkeypatch.setattr(frames, "read_parquet", changed)
    with pytest.raises(IncompleteInputError, match="changed while it was being read"):
        data.to_arrow()


def test_a_file_that_changed_without_changing_its_size_is_told_by_its_dates(local, tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    data = local.read_csv(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("x\n2\n")
    os.utime(tmp_path / "a.csv", (0, 86400))
    with pytest.raises(IncompleteInputError, match=r"4 bytes now; modified .* and 1970-01-02T00:00:00\.000000Z"):
        data.to_arrow()


# Outputs and inputs of jobs

PIPELINE = pipeline_module(
    'st.Imputer("x"), st.XGBoostRegressor("y", num_boost_round=2)', '[st.RegressionEvaluator(label="y")]'
)


@pytest.fixture
def project(local: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a pipeline, and data that this library wrote."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "small.py").write_text(PIPELINE)
    x = np.arange(100.0)
    local.from_arrow(pa.table({"x": x, "y": 2 * x}), fragment_bytes=400).write_parquet(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


FIT = ("fit", "small", "--data", "data", "--engine", "local", "--device", "cpu")


@pytest.fixture
def model(project: Path) -> Path:
    jobs.fit(FitRequest(pipeline="small", data=["data"], out="model", engine="local", device="cpu"))
    return project / "model"


@pytest.mark.thorough
def test_a_fit_over_its_own_data_is_refused_before_anything_is_learned(project, monkeypatch, capsys):
    monkeypatch.setattr(ps.Pipeline, "fit", None)
    (project / "_manifest.json").write_text("{}")  # the folder around may be replaced too
    before = contents(project)
    for outputs in (["data"], ["data/sub"], ["."], ["model", "--score", "data"]):
        code, told = command(capsys, *FIT, "--out", *outputs, "--overwrite")
        assert (code, told["error"]["type"]) == (2, "ConfigError")
        assert "its own input" in told["error"]["message"]
        assert contents(project) == before


# Columns


def test_a_column_that_files_lack_is_told_with_how_many_they_are(local, tmp_path):
    write(tmp_path / "a.parquet", x=[1], y=[1])
    for name in "bcd":
        write(tmp_path / f"{name}.parquet", x=[1])
    with pytest.raises(SchemaDriftError, match=r"column 'y' of .*a\.parquet is not in .*b\.parquet\. 3 file\(s\) lack"):
        local.read_parquet(str(tmp_path / "*.parquet"))


@pytest.mark.thorough
def test_data_without_a_feature_is_told_with_the_file_and_the_model(model, capsys):
    write(model.parent / "bad.parquet", X=[1.0])
    code, told = command(capsys, "score", "model", "--data", "bad.parquet", "--out", "out")
    assert (code, told["error"]["type"]) == (3, "SchemaDriftError")
    assert told["error"]["path"] == str(model.parent / "bad.parquet")
    for text in ("lacks 1 column(s)", "Did you mean 'X'?", ps.PipelineModel.load(model).preprocessing_digest):
        assert text in told["error"]["message"]
    assert sorted(os.listdir(model.parent)) == ["bad.parquet", "data", "model", "pipelines"]


# Values

FOUR = [1.0, NAN, None, 4.0]


def _gives(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    values = {"x": np.array([1.0, NAN, NAN, 4.0])}
    return lambda frame: make(values)


def _mapped(local: Engine, form: str, make: Callable[[Any], Any]) -> Dataset:
    return local.from_arrow(pa.table({"i": [1]})).map_partitions(_gives(make), {"x": "float64"}, frame=form)


WAYS: dict[str, Callable[[Engine, Path], Dataset]] = {
    "parquet": lambda engine, folder: engine.read_parquet(write(folder / "a.parquet", x=pa.array(FOUR))),
    "csv": lambda engine, folder: engine.read_csv(folder / "a.csv"),
    "json lines": lambda engine, folder: engine.read_json_lines(folder / "a.jsonl"),
    "arrow": lambda engine, folder: engine.from_arrow(pa.table({"x": pa.array(FOUR)})),
    "pandas": lambda engine, folder: engine.from_pandas(pd.DataFrame({"x": FOUR})),
    "polars": lambda engine, folder: engine.from_polars(pl.DataFrame({"x": FOUR})),
    "function to narwhals": lambda engine, folder: _mapped(
        engine, "narwhals", lambda values: nw.from_native(pl.DataFrame(values), eager_only=True)
    ),
    "function to polars": lambda engine, folder: _mapped(engine, "polars", pl.DataFrame),
    "function to pandas": lambda engine, folder: _mapped(engine, "pandas", pd.DataFrame),
    "function to arrow": lambda engine, folder: _mapped(engine, "arrow", pa.table),
}


def test_nan_is_null_whatever_way_it_comes(local, tmp_path, subtests):
    (tmp_path / "a.csv").write_text('x\n1.0\nNaN\n""\n4.0\n')
    (tmp_path / "a.jsonl").write_text('{"x": 1.0}\n{"x": NaN}\n{"x": null}\n{"x": 4.0}\n')
    for way, make in WAYS.items():
        with subtests.test(way=way):
            data = make(local, tmp_path)
            assert data.to_arrow()["x"].to_pylist() == [1.0, None, None, 4.0]
            model = ps.Pipeline(st.Imputer("x")).fit(data)
            assert model.transform(data).to_arrow()["x"].to_pylist() == [1.0, 2.5, 2.5, 4.0]


def test_an_infinity_in_scored_data_is_told_on_every_engine_and_nothing_is_written(engine, tmp_path):
    for name in "abc":
        write(tmp_path / f"{name}.parquet", x=np.arange(50.0), label=[0, 1] * 25)
    good = engine.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=1)
    model = ps.Pipeline(st.XGBoostClassifier("label", num_boost_round=2)).fit(good)
    write(tmp_path / "b.parquet", x=np.where(np.arange(50) == 37, np.inf, 0.0), label=[0, 1] * 25)
    bad = engine.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=1)
    with pytest.raises(DataValueError, match=r"column 'x': 1 value\(s\) infinite") as caught:
        model.transform(bad).write_parquet(tmp_path / "out")
    place = (caught.value.path, caught.value.row, caught.value.stage)
    assert place == (str(tmp_path / "b.parquet"), 37, "XGBoostClassifier")
    assert sorted(os.listdir(tmp_path)) == ["a.parquet", "b.parquet", "c.parquet"]


def _fails(frame: Any) -> Any:
    raise ZeroDivisionError("of the user")


def test_an_error_of_the_user_keeps_its_place_and_traceback_on_every_engine(engine, tmp_path):
    path = write(tmp_path / "a.parquet", x=[1])
    with pytest.raises(UserCodeError, match="raised ZeroDivisionError: of the user") as caught:
        engine.read_parquet(path).map_partitions(_fails, {"x": "int64"}).count()
    assert (caught.value.path, caught.value.stage) == (str(path), "map_partitions(_fails)")
    assert ", in _fails\n" in "".join(traceback.format_exception(caught.value))  # the line of the user's code


# Outputs


FULL = """
import resource, sys
import numpy as np, pyarrow as pa
import penstock as ps
from penstock import stages as st
local = ps.LocalEngine(device="cpu")
model = ps.Pipeline(st.StringIndexer("c")).fit(local.from_arrow(pa.table({"c": list(map(str, range(5000)))})))
noise = local.from_arrow(pa.table({"x": np.random.rand(20000)}), fragment_bytes=40000)
sys.dont_write_bytecode = True  # Python leaves the half of a file that fits where other processes import it
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
for write in (noise.write_parquet, model.save):
    try:
        write(sys.argv[1], overwrite=True)
    except ps.errors.DiskFullError as error:
        print(error.message)
"""


@pytest.mark.thorough
def test_a_disk_that_is_full_leaves_the_old_output_and_nothing_else(local, tmp_path):
    numbers(local).write_parquet(tmp_path / "out")
    before, environ = contents(tmp_path), {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", FULL, str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "EFBIG (File too large); needed" in line
        assert "bytes on the file system /" in line
    assert contents(tmp_path) == before


@pytest.mark.thorough
def test_a_model_that_another_run_saved_meanwhile_is_kept(local, tmp_path, monkeypatch):
    slow, quick = (ps.Pipeline(st.Imputer("x")).fit(numbers(local, rows)) for rows in (1000, 500))
    saving = importlib.import_module("penstock.artefact.save")  # the package has a function of that name
    write_files = saving._write

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.undo()
        quick.save(tmp_path / "model")
        return write_files(*arguments)

    monkeypatch.setattr(saving, "_write", overtaken)
    with pytest.raises(CommitConflictError, match="cannot commit"):
        slow.save(tmp_path / "model")
    assert ps.PipelineModel.load(tmp_path / "model").digest == quick.digest
    assert os.listdir(tmp_path) == ["model"]


# Artefacts


def test_a_damaged_model_exits_with_6_and_names_the_file(model, capsys):
    (booster,) = (model / "booster").iterdir()
    content = bytearray(booster.read_bytes())
    content[len(content) // 2] ^= 1
    booster.write_bytes(content)
    code, told = command(capsys, "score", "model", "--data", "data", "--out", "out")
    assert (code, told["error"]["type"]) == (6, "ArtifactIntegrityError")
    assert told["error"]["path"] == str(booster)  # though the model was named by a relative path
    assert "has sha256" in told["error"]["message"]
    assert not (model.parent / "out").exists()


@pytest.mark.thorough
def test_a_pipeline_that_could_not_be_saved_is_refused_before_training(project, monkeypatch):
    source = PIPELINE.replace(
        "def build",
        "from dataclasses import dataclass\nfrom typing import Any\n\n"
        "@dataclass(frozen=True)\nclass Own(st.Imputer):\n    how: Any = None\n\n"
        "STAGES = {'Own': Own}\n\ndef build",
    ).replace('st.Imputer("x")', 'Own("x", how=lambda frame: frame)')
    (project / "pipelines" / "small.py").write_text(source)
    monkeypatch.setattr(ps.Pipeline, "fit", None)
    with pytest.raises(UnsupportedStepError, match="'how' of Own is <function"):
        jobs.fit(FitRequest(pipeline="small", data=["data"], out="model", engine="local", device="cpu"))
    assert not (project / "model").exists()
