"""Light use stays light: what a fresh interpreter imports, and what scoring needs."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.core.extras import how_to_install
from penstock.engines.base import Engine

HEAVY = (
    "cudf", "dask", "distributed", "onnx", "onnxruntime", "optuna", "pandas", "PIL", "plotly", "polars", "pyspark",
    "sklearn", "skops", "torch", "xgboost",
)  # fmt: skip


def python(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_penstock_imports_nothing_heavy_and_sets_no_environment_variable() -> None:
    code = f"""
import os, sys
before = dict(os.environ)
import penstock
print([name for name in {HEAVY!r} if name in sys.modules], before == dict(os.environ))
"""
    assert python(code).strip() == "[] True"


FIRST = """
import importlib, pkgutil, sys
import narwhals, polars, pyarrow, fsspec, penstock.io.sources, penstock.io.tables
for package in (penstock.io.sources, penstock.io.tables):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        for name in [name for name in sys.modules if name.partition(".")[0] == "penstock"]:
            del sys.modules[name]
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            print(module.name, error)
"""


@pytest.mark.thorough
def test_what_travels_to_a_worker_is_imported_whichever_of_its_modules_comes_first() -> None:
    assert python(FIRST) == ""


def test_every_public_name_is_there() -> None:
    assert [name for name in ps.__all__ if not hasattr(ps, name)] == []
    assert ps.__all__ == sorted(ps.__all__)


PUBLIC = """
import importlib, sys
import narwhals, polars, pyarrow, fsspec, penstock
for name in sorted(penstock._MODULES):
    for module in [module for module in sys.modules if module.partition(".")[0] == "penstock"]:
        del sys.modules[module]
    print(getattr(importlib.import_module("penstock"), name).__name__)
"""


@pytest.mark.thorough
def test_public_modules_are_there_without_importing_them() -> None:
    assert python(PUBLIC).split() == [f"penstock.{name}" for name in sorted(ps._MODULES)]


@pytest.mark.thorough
def test_a_local_pipeline_and_its_model_need_no_cluster_library_no_scipy_and_no_xgboost(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["xgboost"] = None
import penstock as ps, pyarrow as pa
from penstock import stages as st
data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, None, 3.0], "c": ["a", "b", "a"]}))
model = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x"), st.StringIndexer("c")).fit(data)
model.save(sys.argv[1])
assert ps.PipelineModel.load(sys.argv[1]).transform(data).to_arrow() == model.transform(data).to_arrow()
print([name for name in ("cudf", "dask", "distributed", "pyspark", "scipy", "torch") if name in sys.modules])
"""
    assert python(code, str(tmp_path / "model")).strip() == "[]"


SCORE = """
import json
import sys
for name in ("dask", "distributed", "pyspark", "py4j", "cudf"):
    sys.modules[name] = None  # importing it is an error from here on
import penstock as ps, pyarrow as pa
model = ps.PipelineModel.load(sys.argv[1])
rows = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, None, 30.0], "c": ["a", "z", None]}))
print(json.dumps(model.transform(rows).to_arrow()["prediction"].to_pylist()))
"""


@pytest.mark.thorough
def test_a_model_scores_where_no_cluster_library_is_installed(local: Engine, tmp_path: Path) -> None:
    table = pa.table({"x": [1.0 * i for i in range(60)], "c": ["a", "b", None] * 20, "y": [2.0 * i for i in range(60)]})
    boosted = st.XGBoostRegressor("y", num_boost_round=5, min_child_weight=0)
    model = ps.Pipeline(st.Imputer("x"), st.StringIndexer("c"), boosted).fit(local.from_arrow(table))
    model.save(tmp_path / "model")
    rows = local.from_arrow(pa.table({"x": [1.0, None, 30.0], "c": ["a", "z", None]}))
    here = model.transform(rows).to_arrow()["prediction"].to_pylist()
    assert json.loads(python(SCORE, str(tmp_path / "model"))) == here


def test_a_missing_extra_says_how_to_install_it() -> None:
    code = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = sys.modules["pyspark"] = None
import penstock as ps
for name in ("DaskEngine", "SparkEngine"):
    try:
        getattr(ps, name)
    except ImportError as error:
        print(name, str(error).replace("\\n", " "))
"""
    told = python(code).splitlines()
    assert [line.split()[0] for line in told] == ["DaskEngine", "SparkEngine"]
    assert all(how_to_install(extra) in line for extra, line in zip(("dask", "spark"), told, strict=True))


@pytest.mark.parametrize("package", [ps, st], ids=["penstock", "penstock.stages"])
def test_type_checkers_see_what_is_imported_on_use(package):
    tree = ast.parse(Path(package.__file__).read_text())
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {name.name: node.module for node in branch.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert sorted(seen) == [name for name in package.__all__ if name != "__version__"]
    for name, module in seen.items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)
