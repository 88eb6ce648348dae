"""Where workers put the parts of an output in a store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock import frames
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.files import FileEntry
from penstock.io.sinks.os_errors import error_number, translate_os_error
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.stores.names import name_in_run
from penstock.io.sinks.stores.store import ObjectStore
from penstock.io.sinks.temporary import TemporaryFolder


@dataclass(frozen=True)
class StorePartFolder(PartFolder):
    """The folder of an output in a store: parts lie where they stay, under names that only this run has.

    Every attempt at a part has a name of its own, so that one that was given up cannot replace a part that a manifest
    lists.

    Parameters
    ----------
    store : ObjectStore
    path : str
        Of the output, within the store.
    run_id : str
    token : str
        In the names of files that are no parts, which the driver puts.
    """

    store: ObjectStore
    path: str
    run_id: str
    token: str

    def put(self, name: str, write: Callable[[str], None], *, rows: int | None, kind: str) -> FileEntry:
        """Write to a file of this machine, hash that, and upload it."""
        final = self.final(name)
        with TemporaryFolder() as folder:
            local = str(folder.path / os.path.basename(name))
            try:
                write(local)
                with open(local, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                    size = file.tell()
            except frames.ERRORS as error:
                if error_number(error) is None:
                    raise
                raise translate_os_error(error, local) from error
            self.store.upload(local, f"{self.path}/{final}")
        failpoint("part-uploaded")
        return FileEntry(path=final, bytes=size, sha256=digest, kind=kind, rows=rows)

    def final(self, name: str) -> str:
        """Return the name under which a part is put."""
        return name_in_run(name, self.run_id, self.token)

    def locate(self, name: str) -> str:
        """Return the URL of a part."""
        return self.store.show(f"{self.path}/{name}")

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """The options of the store."""
        return self.store.options
