"""Pipeline modules by name, and their parameters."""

import pickle
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

from penstock.cli.project import load_pipeline, pipeline_settings
from penstock.config.settings import Settings, read_yaml
from penstock.errors import ConfigError
from penstock.pipeline import Pipeline
from penstock.stages import Clip

SOURCE = """
from typing import Literal
import penstock as ps
from penstock import stages as st
from pydantic import BaseModel

class Parameters(BaseModel, extra="forbid"):
    lower: int = 0
    kind: Literal["a", "b"] = "a"

def build(parameters):
    return ps.Pipeline(st.Clip("x", lower=parameters.lower))

def evaluators(parameters):
    return []
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "small.py").write_text(SOURCE)
    return tmp_path / "pipelines"


def _write(folder: Path, source: str, name: str = "other") -> str:
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)  # may be of a source of this size
    (folder / f"{name}.py").write_text(source)
    return name


def test_a_module_is_found_by_name_and_by_path(folder):
    for name in ("small", str(folder / "small.py")):
        module = load_pipeline(name, folder)
        assert module.name == "small"
        assert module.build(module.parameters(lower=3)).stages[0].lower == 3
        assert (module.prepare, module.schema, module.stages) == (None, None, {})


def test_an_unknown_name_is_refused_with_the_nearest(folder):
    with pytest.raises(ConfigError, match=r"smal.py is no file. Did you mean 'small'\?") as found:
        load_pipeline("smal", folder)
    assert found.value.hint == "There are: small."


def test_a_schema_is_read_as_arrow(folder):
    name = _write(folder, SOURCE + '\nSCHEMA = {"x": "float64"}')
    assert load_pipeline(name, folder).schema == pa.schema({"x": pa.float64()})


def test_stages_of_its_own_are_found_and_imported_ones_are_not(folder):
    own = "\nfrom penstock.stages.preprocessing import Log1p\nclass Mine(Log1p): pass\n"
    assert list(load_pipeline(_write(folder, SOURCE + own), folder).stages) == ["Mine"]


def test_stages_of_an_installed_package_are_found(folder, monkeypatch):
    package = ModuleType("team_stages")
    exec("from penstock.stages import Log1p\nclass Mine(Log1p): pass", vars(package))
    monkeypatch.setitem(sys.modules, "team_stages", package)
    for code in ("from team_stages import Mine", "import team_stages", "from team_stages import *"):
        stages = load_pipeline(_write(folder, f"{SOURCE}\n{code}\n"), folder).stages
        assert {name: stage.__module__ for name, stage in stages.items()} == {"Mine": "team_stages"}, code


def test_a_function_of_a_pipeline_that_fails_or_returns_something_else_is_named(folder, subtests):
    for code, problem in [
        ("build(parameters): pass", r"build of .*other\.py returned .*NoneType, expected def build.* -> Pipeline"),
        ("build(parameters): return st.Log1p('x')", r"build of .* returned penstock\.Log1p, expected def build"),
        ("build(): pass", r"build of .* raised TypeError: build\(\) takes 0 positional arguments but 1 was given"),
        ("build(parameters): return parameters.lo", "build of .* raised AttributeError: .* no attribute 'lo'"),
        ("evaluators(parameters): pass", "evaluators of .* returned .*NoneType, expected .* -> list of Evaluator"),
        ("evaluators(parameters): return st.RegressionEvaluator()", "returned penstock.RegressionEvaluator, expect"),
        ("evaluators(parameters): return [st.RegressionEvaluator]", "evaluators of .* returned .*list, expected def"),
        ("prepare(dataset, parameters): dataset.filter(None)", "prepare of .* raised AttributeError"),
        ("prepare(dataset, parameters): pass", "prepare of .* returned .*NoneType, expected def prepare.* Dataset"),
    ]:
        with subtests.test(code):
            module = load_pipeline(_write(folder, f"{SOURCE}\ndef {code}\n"), folder)
            with pytest.raises(ConfigError, match=problem) as caught:
                if module.prepare:
                    module.prepare(None, module.parameters())
                else:
                    module.build(module.parameters()), module.evaluators(module.parameters())
            assert caught.value.path == str(folder / "other.py")


def test_an_error_of_penstock_in_a_function_of_a_pipeline_is_told_as_it_is(folder):
    module = load_pipeline(_write(folder, f"{SOURCE}\ndef build(parameters): return ps.Pipeline(1)\n"), folder)
    with pytest.raises(ConfigError, match=r"^a pipeline is made of stages, found 1") as caught:
        module.build(module.parameters())
    assert caught.value.__cause__ is None


def test_a_module_that_lacks_something_or_does_not_run_is_refused(folder):
    for missing in ("Parameters", "build", "evaluators"):
        name = _write(folder, SOURCE + f"\ndel {missing}")
        with pytest.raises(ConfigError, match=f"other.py defines no {missing}, expected (class|def) {missing}"):
            load_pipeline(name, folder)
    name = _write(folder, SOURCE.replace('extra="forbid"', 'extra="ignore"'))
    with pytest.raises(ConfigError, match=r'expected class Parameters.*extra="forbid"'):
        load_pipeline(name, folder)
    with pytest.raises(ConfigError, match=r"other.py, line 2 does not run: SyntaxError"):
        load_pipeline(_write(folder, "x = 1\ny = = 2"), folder)
    with pytest.raises(ConfigError, match="does not run: ZeroDivisionError: division by zero") as found:
        load_pipeline(_write(folder, "1 / 0"), folder)
    assert isinstance(found.value.__cause__, ZeroDivisionError)


@pytest.mark.thorough
def test_functions_of_a_module_travel_by_value(folder):
    cloudpickle = pytest.importorskip("cloudpickle")
    module = load_pipeline(_write(folder, SOURCE + "\nOFFSET = 2\ndef shifted(x):\n    return x + OFFSET"), folder)
    shifted = module.build.__wrapped__.__globals__["shifted"]
    (folder / "other.py").unlink()
    assert "pipelines.other" not in sys.modules
    assert pickle.loads(cloudpickle.dumps(shifted))(3) == 5


def test_parameters_come_from_the_nearest_source(folder, tmp_path):
    module = load_pipeline("small", folder)
    conf, job = tmp_path / "conf", tmp_path / "job.yaml"
    conf.mkdir()

    def lower(section: Settings | None = None, assignments: tuple[str, ...] = ()) -> int:
        return pipeline_settings(module, conf, section or Settings(), assignments).parameters.lower

    assert lower() == 0
    (conf / "small.yaml").write_text("lower: 1")
    assert lower() == 1
    job.write_text("lower: 2")
    assert lower(read_yaml(job)) == 2
    assert lower(read_yaml(job), ("lower=3",)) == 3


def test_a_wrong_parameter_is_told_with_its_file(folder, tmp_path):
    (tmp_path / "small.yaml").write_text("kind: no")
    with pytest.raises(ConfigError, match=r"small.yaml, line 1, column 7: kind is read as False .* 'a' or 'b'"):
        pipeline_settings(load_pipeline("small", folder), tmp_path, Settings())


@pytest.fixture
def stages_of(folder, tmp_path):
    """A function that returns the pipeline's parameters, given those of stages in a file and in options."""
    module = load_pipeline("small", folder)

    def build(text: str = "", *assignments: str) -> dict[str, object]:
        (tmp_path / "small.yaml").write_text(text)
        return pipeline_settings(module, tmp_path, Settings(), assignments).build(module).get_params()

    return build


def test_parameters_of_stages_are_the_same_from_a_file_an_option_and_python(stages_of):
    python = Pipeline(Clip("x", lower=0)).with_params({"Clip.columns": ["x", "y"], "Clip.upper": 2.5, "Clip.lower": -1})
    expected = python.get_params()
    assert stages_of("Clip.columns: [x, y]\nClip.upper: 2.5\nlower: -1") == expected
    assert stages_of("", "Clip.columns=[x, y]", "Clip.upper=2.5", "lower=-1") == expected
    assert [type(value) for value in stages_of("", "Clip.lower=-1").values()] == [tuple, type(None), int, type(None)]


def test_an_option_for_a_stage_wins_over_the_file_and_over_the_module(stages_of):
    assert stages_of("Clip.lower: 1\nlower: 5")["Clip.lower"] == 1
    assert stages_of("Clip.lower: 1\nlower: 5", "Clip.lower=2")["Clip.lower"] == 2
    assert stages_of("Clip: null") == stages_of("", "Clip=null") == {}


def test_a_wrong_parameter_of_a_stage_is_refused_in_pythons_words_with_its_place(stages_of, subtests):
    for name, value in [("Clip.uper", 3), ("Clp.upper", 3), ("Clip.upper", -1), ("Clip.upper.more", 3)]:
        with subtests.test(name):
            with pytest.raises(ConfigError) as python:
                Pipeline(Clip("x", lower=0)).with_params({name: value})
            for place, given in {
                f"small.yaml, line 1, column {len(name) + 3}: ": (f"{name}: {value}",),
                f"--set {name}={value}: ": ("", f"{name}={value}"),
            }.items():
                with pytest.raises(ConfigError) as found:
                    stages_of(*given)
                assert found.value.message.endswith(place + python.value.message)
                assert (found.value.hint, found.value.place) == (python.value.hint, python.value.place)


def test_a_parameter_that_is_neither_the_modules_nor_a_stages_is_refused_as_before(stages_of):
    with pytest.raises(ConfigError, match=r"--set lowr=3: 'lowr' is not known. Did you mean 'lower'\?"):
        stages_of("", "lowr=3")


def test_a_secret_is_no_parameter_of_a_stage(stages_of, monkeypatch):
    monkeypatch.setenv("BOUND", "hunter2")
    with pytest.raises(ConfigError, match=r"column 13: .* stored with the model, and cannot be a secret") as found:
        stages_of("Clip.lower: env:BOUND")
    assert "hunter2" not in str(found.value)
