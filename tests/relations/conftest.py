"""Sales and shops as datasets of the local engine, in some fragments."""

from __future__ import annotations

import pytest
from duck_tables import SALES, SHOPS


@pytest.fixture
def sales(local):
    return local.from_arrow(SALES, fragment_bytes=200)


@pytest.fixture
def shops(local):
    return local.from_arrow(SHOPS, fragment_bytes=100)
