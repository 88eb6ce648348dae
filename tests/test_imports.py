"""Light use stays light: what a fresh interpreter imports, and what scoring needs."""

from __future__ import annotations

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
    "cudf",
    "dask",
    "distributed",
    "onnx",
    "onnxruntime",
    "optuna",
    "pandas",
    "PIL",
    "plotly",
    "polars",
    "pyspark",
    "sklearn",
    "skops",
    "torch",
    "xgboost",
)


def python(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_penstock_imports_nothing_heavy() -> None:
    code = f"import sys, penstock; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python(code).strip() == "[]"


def test_importing_penstock_sets_no_environment_variable() -> None:
    assert (
        python("import os; before = dict(os.environ); import penstock; print(before == dict(os.environ))").strip()
        == "True"
    )


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


@pytest.mark.thorough
@pytest.mark.parametrize("module", sorted(ps._MODULES))
def test_a_public_module_is_there_without_importing_it(module: str) -> None:
    assert python(f"import penstock as ps; print(ps.{module}.__name__)").strip() == f"penstock.{module}"


@pytest.mark.thorough
def test_a_local_pipeline_needs_no_cluster_library() -> None:
    code = """
import sys, penstock as ps, pyarrow as pa
from penstock import stages as st
data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, None, 3.0], "c": ["a", "b", "a"]}))
ps.Pipeline(st.Imputer("x"), st.StandardScaler("x"), st.StringIndexer("c")).fit(data).transform(data).to_arrow()
print([name for name in ("cudf", "dask", "distributed", "pyspark", "torch") if name in sys.modules])
"""
    assert python(code).strip() == "[]"


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
def test_a_model_scores_where_no_cluster_library_is_installed(engine: Engine, tmp_path: Path) -> None:
    table = pa.table(
        {"x": [float(i) for i in range(60)], "c": ["a", "b", None] * 20, "y": [2.0 * i for i in range(60)]}
    )
    data = engine.from_arrow(table)
    pipeline = ps.Pipeline(
        st.Imputer("x"), st.StringIndexer("c"), st.XGBoostRegressor("y", num_boost_round=5, min_child_weight=0)
    )
    model = pipeline.fit(data)
    model.save(tmp_path / "model")
    rows = engine.from_arrow(pa.table({"x": [1.0, None, 30.0], "c": ["a", "z", None]}))
    here = model.transform(rows).to_arrow()["prediction"].to_pylist()
    assert json.loads(python(SCORE, str(tmp_path / "model"))) == here


@pytest.mark.thorough
def test_a_model_without_boosting_is_loaded_without_xgboost(local: Engine, tmp_path: Path) -> None:
    data = local.from_arrow(pa.table({"x": [1.0, None, 3.0]}))
    ps.Pipeline(st.Imputer("x"), st.StandardScaler("x")).fit(data).save(tmp_path / "model")
    code = """
import sys
sys.modules["xgboost"] = None
import penstock as ps
print(len(ps.PipelineModel.load(sys.argv[1]).stages))
"""
    assert python(code, str(tmp_path / "model")).strip() == "2"


@pytest.mark.parametrize(("engine_class", "extra"), [("DaskEngine", "dask"), ("SparkEngine", "spark")])
def test_a_missing_extra_says_how_to_install_it(engine_class: str, extra: str) -> None:
    code = f"""
import sys
sys.modules["dask"] = sys.modules["distributed"] = sys.modules["pyspark"] = None
import penstock as ps
try:
    ps.{engine_class}
except ImportError as error:
    print(error)
"""
    assert how_to_install(extra) in python(code)


@pytest.mark.parametrize("package", [ps, st], ids=["penstock", "penstock.stages"])
def test_type_checkers_see_what_is_imported_on_use(package):
    tree = ast.parse(Path(package.__file__).read_text())
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {name.name: node.module for node in branch.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert sorted(seen) == [name for name in package.__all__ if name != "__version__"]
    for name, module in seen.items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)
