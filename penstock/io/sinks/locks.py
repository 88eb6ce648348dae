"""Who owns a staging directory or a temporary folder, whether it still lives, and whose turn it is to commit.

Both answers rest on ``flock``, which the kernel releases however a process ends. An owner is also looked up by host,
process id and start time, for file systems whose locks do not reach other processes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.core.errors import CommitConflictError, CorruptFileError
from penstock.io.sinks.staging import Siblings
from penstock.io.sinks.strict_json import encode_json, read_json

_RECORD_LIMIT = 2**16
_PAUSE = 0.02
_UNWRITTEN_SECONDS = 60.0

# The locks of this process. One that a forked child has inherited, of a pool, say, would outlive the owner.
_claims: set[int] = set()


@dataclass(frozen=True)
class Owner:
    """The process that a directory belongs to.

    Parameters
    ----------
    host : str
        Its host's name.
    pid : int
        Its process id there.
    started : int or None
        Its start in clock ticks since the host booted, None where the system does not tell.
    targets : sequence of str
        All that its run writes together, as `penstock.io.sinks.journal.encode_path` stores them; sorted.
    """

    host: str
    pid: int
    started: int | None
    targets: Sequence[str] = ()

    @classmethod
    def here(cls, targets: Sequence[str] = ()) -> Owner:
        """Return this process."""
        return cls(socket.gethostname(), os.getpid(), _started(os.getpid()), targets)

    def encode(self, **more: str) -> bytes:
        """Return it as the bytes of a record, with more that makes it the only one of its kind."""
        return encode_json({**asdict(self), **more}, _RECORD_LIMIT, path="owner record")

    @classmethod
    def decode(cls, data: bytes) -> Owner | None:
        """Return the owner that a record names; None for one that is damaged."""
        try:
            document = read_json(data, _RECORD_LIMIT)
        except CorruptFileError:
            return None
        match document:
            case {"host": str(host), "pid": int(pid), "started": int() | None as started, **rest}:
                return cls(host, pid, started, _texts(rest.get("targets")))
        return None

    def is_here(self) -> bool:
        """Return whether it runs, or ran, on this host."""
        return self.host == socket.gethostname()

    def is_alive(self) -> bool:
        """Return whether it still runs; a process that got the same id later does not count."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return self.started is None or _started(self.pid) == self.started


def is_dead(record: Path, owner: Owner | None) -> bool:
    """Return whether the owner of a record that nobody has locked died on this host; of another host nobody can tell.

    Without an owner the record was never written: it is empty only for the moment between its creation and that.
    """
    if owner is None:
        return time.time() - record.stat().st_mtime > _UNWRITTEN_SECONDS
    return owner.is_here() and not owner.is_alive()


def claim(record: Path, targets: Sequence[str] = ()) -> int:
    """Create an owner record for this process and lock it; return the descriptor that holds the lock.

    What it says is on the device when this returns: without it nobody could tell what a journal speaks of.

    Raises
    ------
    FileExistsError
        The record exists: another run of the same name is at work, or its host died.
    OSError
        It cannot be written.
    """
    descriptor = os.open(record, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, Owner.here(targets).encode())
        os.fsync(descriptor)
    except BaseException:
        record.unlink()
        os.close(descriptor)
        raise
    _claims.add(descriptor)
    return descriptor


def is_claimed(descriptor: int) -> bool:
    """Return whether this process holds a claim; a child that it forked does not, and leaves what is claimed alone."""
    return descriptor in _claims


def release(descriptor: int) -> None:
    """Let go of a claim."""
    _claims.remove(descriptor)
    os.close(descriptor)


class FileLock:
    """A lock that this process has on a file, which is there while somebody has it; children do not inherit it.

    It ends with `release`, with the last reference to it, and with the process.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        _claims.add(descriptor)
        self.release = weakref.finalize(self, _unlock, path, descriptor)

    @classmethod
    def acquire(cls, path: Path) -> FileLock | None:
        """Return the lock, or None while another has it.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        descriptor = _open_locked(path)
        return None if descriptor is None else cls(path, descriptor)


def _unlock(path: Path, descriptor: int) -> None:
    if is_claimed(descriptor):
        with suppress(OSError):
            path.unlink()
        release(descriptor)


def _leave_to_parent() -> None:
    for descriptor in _claims:
        os.close(descriptor)
    _claims.clear()


os.register_at_fork(after_in_child=_leave_to_parent)


@contextmanager
def unlocked(record: Path) -> Iterator[Owner | None]:
    """Hold the lock of an owner record that nobody else holds, and give its owner (None: the record is damaged).

    Raises
    ------
    BlockingIOError
        Somebody holds the lock, so the owner lives.
    OSError
        The record is gone, or may not be opened.
    """
    descriptor = os.open(record, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_still(record, descriptor):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(record))
        yield Owner.decode(os.pread(descriptor, _RECORD_LIMIT, 0))
    finally:
        os.close(descriptor)


def read_owner(record: Path) -> Owner | None:
    """Return the owner that a record names; None for one that is damaged, gone, or not for us to read."""
    try:
        return Owner.decode(record.read_bytes())
    except OSError:
        return None


@contextmanager
def commit_locks(group: Iterable[Siblings], patience: float) -> Iterator[None]:
    """Hold the locks under which several targets change.

    They are taken in the order of their paths, whoever asks, so that no two runs can each wait for the other.

    Raises
    ------
    CommitConflictError
        Another run held one for ``patience`` seconds.
    """
    with ExitStack() as stack:
        for names in sorted(group, key=lambda names: names.target):
            stack.enter_context(commit_lock(names.lock, names.run_id, patience))
        yield


@contextmanager
def commit_lock(path: Path, run_id: str, patience: float) -> Iterator[None]:
    """Hold the lock under which a target changes; the file exists only while somebody commits.

    Raises
    ------
    CommitConflictError
        Another run held it for ``patience`` seconds.
    """
    descriptor = _acquire(path, run_id, time.monotonic() + patience)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, run_id.encode(), 0)
        yield
    finally:
        # A file that cannot be removed is locked by nobody and serves the next run; no reason to fail this one.
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _acquire(path: Path, run_id: str, deadline: float) -> int:
    while (descriptor := _open_locked(path)) is None:
        if time.monotonic() > deadline:
            raise _refusal(path, run_id)
        time.sleep(_PAUSE)
    return descriptor


def _open_locked(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    is_current = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The last holder may have removed the file after it was opened here; then its lock guards nothing.
        is_current = _is_still(path, descriptor)
    except BlockingIOError:
        pass
    finally:
        if not is_current:
            os.close(descriptor)
    return descriptor if is_current else None


def _refusal(path: Path, run_id: str) -> CommitConflictError:
    try:
        holder = path.read_text(errors="replace")
    except FileNotFoundError:  # released since it was tried
        holder = "unknown"
    message = f"run {run_id!r} cannot commit: run {holder!r} has not released {path}"
    hint = "See whether that run hangs, then run again."
    return CommitConflictError(message, hint=hint, path=str(path), run_id=run_id)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _texts(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list) and all(isinstance(text, str) for text in value) else ()


def _started(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])
