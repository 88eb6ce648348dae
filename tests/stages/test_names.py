"""The names of `penstock.stages`."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

from penstock import stages
from penstock.stages.base import Stage
from penstock.stages.evaluation import Evaluator


def test_every_name_is_a_stage_or_an_evaluator_of_that_name():
    for name in stages.__all__:
        found = getattr(stages, name)
        assert issubclass(found, Stage | Evaluator)
        assert found.__name__ == name


def test_every_stage_and_evaluator_of_a_public_module_has_its_name():
    modules = (module.name for module in pkgutil.walk_packages(stages.__path__, "penstock.stages."))
    public = [importlib.import_module(name) for name in modules if "._" not in name]
    classes = [value for module in public for _, value in inspect.getmembers(module, inspect.isclass)]
    made = [kind for kind in classes if issubclass(kind, Stage | Evaluator) and not inspect.isabstract(kind)]
    assert {kind.__name__ for kind in made if not kind.__name__.startswith("_")} == set(stages.__all__)


def test_names_are_sorted_and_listed():
    assert stages.__all__ == sorted(stages.__all__)
    assert dir(stages) == stages.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'penstock.stages' has no attribute 'StandardScalar'"):
        _ = stages.StandardScalar


def test_importing_the_names_imports_no_stage():
    code = "import sys, penstock.stages; print([m for m in sys.modules if m.startswith('penstock.stages.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
