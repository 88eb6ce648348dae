"""What the tests of stragglers run on workers, which import it by name."""

import time
from dataclasses import dataclass
from pathlib import Path

from penstock.io.fragments import Fragment

_PATIENCE = 120.0


@dataclass(frozen=True)
class WaitsFor:
    """Gives the number of a fragment, of one only when a file is there, or after two minutes."""

    marker: Path
    at: int

    def __call__(self, fragment: Fragment) -> int:
        deadline = time.monotonic() + _PATIENCE
        while fragment.index == self.at and not self.marker.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return fragment.index
