"""One file, such as a page, as an output of a run in a store."""

from __future__ import annotations

from penstock.core.errors import OutputError
from penstock.io.sinks.stores.output import StoreOutput


class StoreFile(StoreOutput):
    """A file that appears at its URL whole, or not at all; one that is there is replaced.

    Examples
    --------
    >>> from penstock.io.sinks.stores.commit import StoreCommit
    >>> with StoreCommit(page := StoreFile("memory://doc/report.html", run_id="r1")) as joint:
    ...     page.seal(b"<!doctype html>")
    ...     joint.commit()
    >>> page.store.read("/doc/report.html").content
    b'<!doctype html>'
    """

    is_file = True

    def seal(self, content: bytes) -> None:
        """Stage the whole content for the commit."""
        self._seal(content)

    def _check_target(self) -> None:
        if self.store.list(self.place.path).keys() - {"."}:
            raise OutputError(f"cannot write {self.target}: it is a folder", path=self.target)

    def _discard_replaced(self) -> None:
        pass
