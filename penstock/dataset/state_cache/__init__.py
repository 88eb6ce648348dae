"""States of statistics that are kept by fragment, so that a scan of a directory that has grown reads what is new.

An entry is known by all that its state follows from: file, size and times, the rows of it, the steps before, the
statistic, and the code of each (`fingerprints`). It is one file, checked by its hash (`state_files`), in a folder or a
store (`state_cache`); the task of a scan asks for it before it reads (`caching`).
"""

from penstock.dataset.state_cache.caching import CachedSummaries
from penstock.dataset.state_cache.state_cache import StateCache

__all__ = ["CachedSummaries", "StateCache"]
