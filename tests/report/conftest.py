"""A headless Chromium of the machine, where there is one, driven by Playwright."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser; the tests that ask for it are skipped where there is none."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install 'penstock[dev]'")
    pytest.importorskip("PIL", reason="needs Pillow: pip install 'penstock[dev]'")
    chromium = next(filter(None, map(shutil.which, _NAMES)), None)
    if chromium is None:
        pytest.skip("needs Chromium: tools/chromium.sh, or apt-get install chromium")
    with driver.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=list(_QUIET))
        yield opened
        opened.close()
