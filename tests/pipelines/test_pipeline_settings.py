"""Settings of the pipelines of the repository."""

from pathlib import Path

import pytest

from penstock.cli.project import load_pipeline
from penstock.config.settings import read_yaml

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["clicks", "trips"])
def test_a_configuration_file_names_every_parameter_at_its_default(name):
    settings = read_yaml(ROOT / "conf" / "pipelines" / f"{name}.yaml").values
    defaults = load_pipeline(name, ROOT / "pipelines").parameters().model_dump()
    assert {key: value for key, value in settings.items() if key != "search"} == defaults
