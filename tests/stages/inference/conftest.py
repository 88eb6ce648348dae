"""A network that is trained once for all tests of inference."""

from typing import Any

import pytest


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from digits_network import bring

    return bring(tmp_path_factory.mktemp("digits"))
