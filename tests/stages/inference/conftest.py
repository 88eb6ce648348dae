"""A network that is trained once for all tests of inference."""

from __future__ import annotations

import pytest
from digits_network import Digits, bring


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Digits:
    return bring(tmp_path_factory.mktemp("digits"))
