"""What is saved is what is loaded, in any process."""

import ast
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import narwhals as nw
import pyarrow as pa
import pytest

import penstock.artefact
from penstock.artefact import save
from penstock.artefact.folder import manifest_digest
from penstock.artefact.tables import write_table
from penstock.errors import ArtifactVersionError, ConfigError, UnsupportedStepError
from penstock.io.sinks import MANIFEST_NAME
from penstock.pipeline import PipelineModel
from penstock.stages.base import Blob, ColumnStage, Fitted
from penstock.stages.evaluation import Evaluation

SCHEMA = pa.schema({"x": pa.float64()})


@dataclass(frozen=True)
class Keep(ColumnStage):
    """Learns what a test gives it."""

    option: object = None

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame


def keeping(fitted: Fitted, schema: pa.Schema = SCHEMA, **options: object) -> PipelineModel:
    return PipelineModel((Keep(("x",), **options),), (fitted,), schema)


def reloaded(model: PipelineModel, path: Path) -> PipelineModel:
    save(model, path)
    return PipelineModel.load(path, stages={"Keep": Keep})


def test_a_loaded_model_equals_the_saved_one(model, saved):
    copy = PipelineModel.load(saved)
    assert copy == model
    assert copy.digest == model.digest
    assert copy.report is None


def test_save_returns_the_digest_of_the_manifest(saved, printed):
    assert manifest_digest((saved / MANIFEST_NAME).read_bytes()) == printed
    assert PipelineModel.load(saved, expect=printed).stages


def test_numbers_and_texts_come_back_exactly(tmp_path):
    values = [0.1 + 0.2, -0.0, 5e-324, 2**70, True, None, "é\n\u2028", math.inf, -math.inf]
    found = reloaded(keeping({f"v{place}": value for place, value in enumerate(values)}), tmp_path / "m").fitted[0]
    assert [(type(each), repr(each)) for each in found.values()] == [(type(each), repr(each)) for each in values]


def test_keys_that_look_like_marks_come_back(tmp_path):
    fitted = {"$table": "state/0.0.parquet", "$$float": {"$blob": [1]}, "": 0}
    assert reloaded(keeping(fitted), tmp_path / "m").fitted == (fitted,)


def test_tables_come_back_in_their_types(tmp_path):
    kinds = [
        pa.null(), pa.bool_(), pa.int8(), pa.uint64(), pa.float32(), pa.string(), pa.binary(), pa.date32(),
        pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.decimal128(9, 2), pa.list_(pa.float64()),
    ]  # fmt: skip
    tables = {str(kind): pa.table({"value": pa.array([None, None], kind)}) for kind in kinds}
    found = reloaded(keeping(tables), tmp_path / "m").fitted[0]
    assert {name: table.schema for name, table in found.items()} == {n: t.schema for n, t in tables.items()}


def test_a_table_comes_back_in_its_order_and_an_empty_one_too(tmp_path):
    table = pa.table({"value": ["b", None, "", "a\0b"], "count": [3, 2, 2, 1]})
    empty = pa.table({"value": pa.array([], pa.string())})
    found = reloaded(keeping({"t": table, "empty": empty}), tmp_path / "m").fitted[0]
    assert found["t"].equals(table)
    assert found["empty"].equals(empty)


def test_the_schema_comes_back(tmp_path):
    nested = pa.list_(pa.struct({"a": pa.decimal128(5, 1)}))
    kinds = [pa.timestamp("us", "Europe/Berlin"), nested, pa.int16(), pa.null()]
    schema = pa.schema([*SCHEMA, *((f"c{place}", kind) for place, kind in enumerate(kinds))])
    assert reloaded(keeping({}, schema), tmp_path / "m").schema.equals(schema)


def test_parameters_come_back_as_they_were(tmp_path):
    option = ((-math.inf, 0.5), None, "mean")
    assert reloaded(keeping({}, option=option), tmp_path / "m").stages == (Keep(("x",), option=option),)


def test_the_report_has_metrics_versions_and_the_fit(model, tmp_path):
    save(model, tmp_path / "m", metrics=Evaluation({"rmse": 0.5, "r2": None}, {"r2": "why"}))
    report = json.loads((tmp_path / "m" / "report.json").read_text())
    assert report["metrics"] == {"rmse": 0.5, "r2": None}
    assert report["undefined"] == {"r2": "why"}
    assert report["versions"]["pyarrow"] == pa.__version__
    assert report["fit"]["rows"]["read"] == 120
    assert report["fit"]["scans"] == model.report.scans


def test_the_report_is_not_needed_to_load(saved, reseal):
    (saved / "report.json").write_bytes(b"{ no JSON")
    reseal(saved)
    assert PipelineModel.load(saved).stages


def test_what_would_need_code_is_refused_at_saving(tmp_path, subtests):
    for value in (len, object(), {1: 2}, b"bytes", Blob("pickle", b"x"), Keep):
        with subtests.test(value=value):
            with pytest.raises(UnsupportedStepError, match=r"fitted\['a'\]\[1\] of Keep"):
                save(keeping({"a": [0, value]}), tmp_path / "m")
            assert not list(tmp_path.iterdir())


def test_a_function_as_parameter_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UnsupportedStepError, match="'option' of Keep is <function"):
        save(keeping({}, option=lambda frame: frame), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_table_that_would_change_is_refused_at_saving(tmp_path):
    for kind in (pa.timestamp("us", "Europe/Berlin"), pa.timestamp("s"), pa.struct({"a": pa.int8()})):
        with pytest.raises(UnsupportedStepError, match="'value'"):
            save(keeping({"t": pa.table({"value": pa.array([None], kind)})}), tmp_path / "m")
        assert not list(tmp_path.iterdir())


def test_a_booster_that_could_not_be_loaded_is_refused_at_saving(tmp_path):
    with pytest.raises(UnsupportedStepError, match="not an XGBoost model"):
        save(keeping({"booster": Blob("xgboost-ubj", b"{L")}), tmp_path / "m")


def test_a_save_that_fails_keeps_the_old_model(saved, printed, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys.modules["penstock.artefact.save"], "write_table", full)
    with pytest.raises(Exception, match="ENOSPC"):
        save(keeping({"t": pa.table({"value": [1]})}), saved, overwrite=True)
    assert PipelineModel.load(saved, expect=printed).stages
    assert [path.name for path in saved.parent.iterdir() if "staging" in path.name] == []


def test_an_expectation_that_is_no_digest_is_refused(saved):
    for expect in ("", "abc", "sha256:12", "sha256:" + "A" * 64):
        with pytest.raises(ConfigError, match="sha256"):
            PipelineModel.load(saved, expect=expect)


def test_an_unknown_stage_names_those_known(tmp_path):
    save(keeping({}), tmp_path / "m")
    with pytest.raises(UnsupportedStepError, match=r"'Keep' is not known.*StandardScaler") as caught:
        PipelineModel.load(tmp_path / "m", stages={})
    assert caught.value.stage == "Keep"


def test_a_stage_of_another_version_is_refused(tmp_path):
    save(keeping({}), tmp_path / "m")
    newer = type("Keep", (Keep,), {"version": 2})
    with pytest.raises(ArtifactVersionError, match="version 1, and this library has version 2"):
        PipelineModel.load(tmp_path / "m", stages={"Keep": newer})


@pytest.mark.thorough
def test_loading_needs_no_engine(saved):
    script = """
import sys
for name in ("dask", "distributed", "pyspark", "py4j"):
    sys.modules[name] = None
from penstock import PipelineModel
stages = PipelineModel.load(sys.argv[1]).stages
print(len(stages), [name for name in sys.modules if name.startswith("penstock.engines")], flush=True)
"""
    environment = {**os.environ, "PATH": "", "JAVA_HOME": ""}
    found = subprocess.run([sys.executable, "-c", script, saved], capture_output=True, text=True, env=environment)
    assert found.stdout.split("\n")[0] == "4 []", found.stderr


def test_no_module_of_the_load_path_can_unpickle_or_import_by_name():
    forbidden = {"pickle", "cloudpickle", "joblib", "dill", "marshal", "shelve", "yaml", "importlib", "runpy", "torch",
                 "eval", "exec", "compile", "__import__", "import_module"}  # fmt: skip
    used = {}
    for path in Path(penstock.artefact.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text())
        imported = {part.name for node in ast.walk(tree) if isinstance(node, ast.Import) for part in node.names}
        imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        called = {function.id for function in calls if isinstance(function, ast.Name)}
        called |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        used[path.name] = (imported | called) & forbidden
    assert {name: found for name, found in used.items() if found} == {}


@pytest.mark.thorough
def test_loading_opens_nothing_outside_and_runs_nothing(saved, tmp_path):
    script = """
import sys
from penstock import PipelineModel
PipelineModel.load(sys.argv[1])  # whatever the libraries import late, they have now
seen, watching = [], True
def hook(event, args):
    if watching and (event in ("exec", "compile", "import", "pickle.find_class", "os.system")
                     or event.startswith(("socket.", "subprocess.", "ctypes.dlopen"))):
        seen.append((event, str(args[:1])))
    if watching and event == "open":
        seen.append(("open", str(args[0])))
sys.addaudithook(hook)
PipelineModel.load(sys.argv[1])
watching = False
print(sorted(set(seen)))
"""
    found = subprocess.run([sys.executable, "-c", script, saved], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    events = ast.literal_eval(found.stdout)
    inside = {str(saved), MANIFEST_NAME, "state", "booster"} | {path.name for path in saved.rglob("*")}
    unexpected = [event for event in events if event[0] != "open" or not (event[1] in inside or event[1].isdigit())]
    assert unexpected == []
    assert ("open", MANIFEST_NAME) in events


@pytest.mark.thorough
def test_reading_a_table_leaves_no_thread_that_could_outlive_python(tmp_path):
    write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "t.parquet")
    code = """
import sys
import psutil
from penstock.artefact.tables import read_table
data, process = open(sys.argv[1], "rb").read(), psutil.Process()
before = process.num_threads()
read_table(data, 2, "t.parquet")
print(process.num_threads() - before)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "t.parquet")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "0"
