"""Types of machines come from a file, whose mistakes are named with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core.errors import ConfigError
from penstock.runs.placement import read_machines

EXAMPLE = Path(__file__).parents[3] / "conf" / "machines.yaml"


def test_the_example_is_read() -> None:
    machines = read_machines(EXAMPLE)
    assert machines["large"].cores == 16
    assert machines["gpu"].speed_gpu is not None


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("cores: 4, memory: 16GiB, price: 1, colour: red", "line 2, .*'colour' is not known"),
        ("cores: 4, price: 1", "line 2, .*memory is not given"),
        ("cores: 4, memory: 16 gigs, price: 1", "line 2, .*no size"),
        ("cores: 0, memory: 16GiB, price: 1", "line 2, .*greater than or equal to 1"),
        ("cores: 4, memory: 16GiB, price: cheap", "line 2, .*price is read as 'cheap'"),
    ],
)
def test_a_type_that_is_wrong_is_refused_with_its_place(tmp_path, line, match) -> None:
    path = tmp_path / "machines.yaml"
    path.write_text(f"machines:\n  small: {{{line}}}\n")
    with pytest.raises(ConfigError, match=match):
        read_machines(path)


def test_a_file_without_machines_is_refused(tmp_path) -> None:
    path = tmp_path / "machines.yaml"
    path.write_text("machines:\n")
    with pytest.raises(ConfigError, match="has no machines"):
        read_machines(path)
