"""One file, such as a page, as an output of a run."""

from __future__ import annotations

import errno
import os

from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.os_errors import translate_os_error
from penstock.io.sinks.staged import Staged


class StagedFile(Staged):
    """A file that appears at its target whole, or not at all; one that is there is replaced.

    Parameters
    ----------
    target : str or PathLike
        A local path. A symbolic link is followed: what it points to is replaced, the link stays.
    run_id : str
        The run, as ``new_run_id`` makes one.

    Raises
    ------
    OutputError, DiskFullError, CommitConflictError
        As for `JointCommit`. A target that is no regular file is refused.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from penstock.io.sinks import JointCommit
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with JointCommit(staged := StagedFile(f"{folder}/report.html", run_id="r1")) as joint:
    ...         staged.seal(b"<!doctype html>")
    ...         joint.commit()
    ...     Path(folder, "report.html").read_text()
    '<!doctype html>'
    """

    def seal(self, content: bytes) -> None:
        """Stage the whole content, on the device, for `JointCommit.commit`."""
        try:
            with open(self.path, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), self._mode)
                os.fsync(file.fileno())
        except OSError as error:
            raise translate_os_error(error, self.target, needed=len(content)) from error
        failpoint("file-synced")
        self._seal()

    def _check_target(self) -> None:
        if self.target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self.target))
        if os.path.lexists(self.target) and not self.target.is_file():
            raise OSError(errno.EINVAL, "not a regular file", str(self.target))

    def _make(self) -> None:
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def _final_mode(self) -> int:
        known = self.target if self._before is not None else self.names.record  # created under the umask
        return os.stat(known).st_mode & 0o777
