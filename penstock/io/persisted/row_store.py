"""What one process holds of persisted rows: columns of fragments, within a budget, the least recently used let go."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw

from penstock import frames
from penstock.core.errors import PenstockError
from penstock.core.notices import get_logger
from penstock.core.scheduler import Usage
from penstock.frames import Kind, coded
from penstock.frames.columns import assemble, byte_size, read_ipc, write_ipc
from penstock.io.fragments import Fragment
from penstock.io.persisted.persistence import Persistence
from penstock.io.sinks.temporary import TemporaryFolder

logger = get_logger(__name__)


@dataclass(frozen=True)
class SpilledColumn:
    """A column in a file, and the bytes that it takes there."""

    path: Path
    size: int


class SpillFolder:
    """Columns in files of a temporary folder, made with the first of them.

    A disk that is full, or a folder that cannot be written, is logged once, and nothing more is put there.

    Parameters
    ----------
    parent : str, optional
    budget : int
        Bytes of all files together.
    """

    def __init__(self, parent: str | None, budget: int) -> None:
        self._parent, self._budget = parent, budget
        self._folder: TemporaryFolder | None = None
        self._numbers, self._lock = itertools.count(), threading.RLock()
        self.used = 0

    def write(self, column: nw.Series, size: int) -> SpilledColumn | None:
        """Return the column as it was put on disk; None where there is no room for it."""
        with self._lock:
            if self.used + size > self._budget:
                return None
            self.used += size
        try:
            path = self._new_path()
            write_ipc(column, path)
            spilled = SpilledColumn(path, path.stat().st_size)
        except (PenstockError, *frames.ERRORS) as error:
            self._give_up(size, error)
            return None
        with self._lock:
            self.used += spilled.size - size
        if self.used > self._budget:  # a file has a head and a foot
            self.remove(spilled)
            return None
        return spilled

    def _give_up(self, size: int, error: BaseException) -> None:
        with self._lock:
            self.used -= size
            is_first, self._budget = self._budget > 0, 0
        if is_first:  # of the threads that write at the same time
            logger.warning("no more rows are put on disk: %s", error)

    def _new_path(self) -> Path:
        with self._lock:
            self._folder = self._folder or TemporaryFolder(self._parent)
            return self._folder.path / f"{next(self._numbers)}.arrow"

    def read(self, spilled: SpilledColumn, kind: Kind) -> nw.Series | None:
        """Return a column; None where its file is gone, or no longer what was written."""
        try:
            return read_ipc(spilled.path, kind)
        except frames.ERRORS as error:
            logger.warning("rows put on disk cannot be read, and are made again: %s", error)
            return None

    def remove(self, spilled: SpilledColumn) -> None:
        """Remove the file of a column."""
        with self._lock:
            self.used -= spilled.size
        with suppress(OSError):
            spilled.path.unlink()

    def close(self) -> None:
        """Remove all."""
        with self._lock:
            self._budget = 0
            if self._folder is not None:
                self._folder.remove()


_SCANS = 2


class FragmentRows(NamedTuple):
    """Columns of the rows of a fragment.

    Attributes
    ----------
    note : object
        What there is to say of these rows, if anything.
    is_whole : bool
        Whether the note is of these columns, so that it is another one where others are made.
    """

    frame: nw.DataFrame
    note: Any = None
    is_whole: bool = False


@dataclass(eq=False)
class StoredColumn:
    """A column in memory or on disk, its bytes of memory, and when it was used last."""

    data: nw.Series | SpilledColumn
    size: int
    used: int


@dataclass(eq=False)
class StoredFragment:
    """What is held of a fragment, by column, and what changes with its files."""

    key: tuple[Hashable, ...]
    fragment: Fragment
    version: Hashable
    rows: int | None = None
    note: Any = None
    columns: dict[str, StoredColumn] = field(default_factory=dict)
    is_live: bool = True
    is_whole: bool = False

    def serves(self, fragment: Fragment) -> bool:
        """Return whether the rows of `fragment` are these, or can be told from these by where they are."""
        divisible = self.note is None and self.rows == self.fragment.rows
        return _bounds(fragment) == _bounds(self.fragment) or (divisible and _covers(self.fragment, fragment))


def _bounds(fragment: Fragment) -> tuple[int, int]:
    return fragment.start, fragment.start + fragment.rows


def _covers(outer: Fragment, inner: Fragment) -> bool:
    (begin, end), (first, last) = _bounds(outer), _bounds(inner)
    return begin <= first and last <= end


class RowStore:
    """Columns of fragments that one process holds for one dataset; for any number of threads.

    What was not used in the last two scans gives way to what comes, the least recently used first; otherwise what comes
    goes to disk, or is not held. So of rows that do not all fit, the same are held from scan to scan.

    Parameters
    ----------
    persistence : Persistence
    kind : {"cpu", "gpu"}

    Attributes
    ----------
    memory : int
        Bytes that are held.
    """

    def __init__(self, persistence: Persistence, kind: Kind) -> None:
        self._only, self._kind = persistence.columns, kind
        self._budget, self.memory = persistence.budget(kind), 0
        self._disk = SpillFolder(persistence.spill_dir, persistence.disk)
        self._fragments: dict[Hashable, list[StoredFragment]] = {}
        self._recent: OrderedDict[StoredColumn, tuple[StoredFragment, str]] = OrderedDict()
        self._clock, self._lock = 0, threading.RLock()

    @property
    def disk(self) -> int:
        """Bytes on disk."""
        return self._disk.used

    @property
    def held(self) -> int:
        """How many columns of fragments are held, in memory and on disk."""
        with self._lock:
            return sum(len(stored.columns) for entries in self._fragments.values() for stored in entries)

    def read(
        self,
        fragment: Fragment,
        columns: Sequence[str],
        version: Hashable,
        make: Callable[[Sequence[str]], FragmentRows],
        *,
        variant: Hashable = None,
        mixes: bool = True,
    ) -> FragmentRows:
        """Return columns of a fragment; those that are not held are made, and then held as there is room.

        Parameters
        ----------
        version : hashable
            Of its files; what was made of others is let go.
        make : callable
            Gives columns.
        variant : hashable
            Tells apart what is made of one fragment in several ways.
        mixes : bool
            Whether columns that are made one after the other are of the same rows.
        """
        key = variant, fragment.index
        stored = self._find(key, fragment, version)
        if stored.is_whole:
            stored, mixes = self._find((*key, frozenset(columns)), fragment, version), False
        known = self._load(stored, columns)
        missing = [name for name in columns if name not in known]
        if _bounds(stored.fragment) != _bounds(fragment):
            return make(columns) if missing else FragmentRows(_part(known, stored.fragment, fragment))
        if not missing:
            return FragmentRows(assemble([known[name] for name in columns]), stored.note)
        made = make(missing if mixes else list(dict.fromkeys([*columns, *stored.columns])))
        if not mixes or stored.rows not in (None, len(made.frame)):
            self._empty(stored)
            made, known = make(columns) if mixes and known else made, {}
        if made.is_whole and not stored.is_whole and stored.key == key:
            stored.is_whole = True
            stored = self._find((*key, frozenset(columns)), fragment, version)
        self._hold(stored, made)
        known |= {series.name: series for series in made.frame.iter_columns()}
        return FragmentRows(assemble([known[name] for name in columns]), made.note)

    def close(self) -> None:
        """Let go of all."""
        with self._lock:
            self._budget = 0
            for stored in [stored for entries in self._fragments.values() for stored in entries]:
                self._remove(stored)
            self._disk.close()

    def _find(self, key: tuple[Hashable, ...], fragment: Fragment, version: Hashable) -> StoredFragment:
        """Return where the rows of a fragment are held, or are to be."""
        with self._lock:
            self._clock += 1
            for stored in list(self._fragments.get(key, ())):
                if stored.version != version:
                    self._remove(stored)
                elif stored.serves(fragment):
                    return stored
                elif _covers(fragment, stored.fragment):
                    self._remove(stored)
            new = StoredFragment(key, fragment, version)
            self._fragments.setdefault(key, []).append(new)
            return new

    def _load(self, stored: StoredFragment, columns: Sequence[str]) -> dict[str, nw.Series]:
        """Return those of the columns that are held."""
        with self._lock:
            held = {name: stored.columns[name] for name in columns if name in stored.columns}
            for column in held.values():
                column.used = self._clock
                if column in self._recent:
                    self._recent.move_to_end(column)
        loaded: dict[str, nw.Series] = {}
        for name, column in held.items():
            series = self._disk.read(column.data, self._kind) if isinstance(column.data, SpilledColumn) else column.data
            if series is None:
                self._let_go(stored, name)
            else:
                loaded[name] = series
        return loaded

    def _hold(self, stored: StoredFragment, made: FragmentRows) -> None:
        stored.rows, stored.note = len(made.frame), made.note
        for name in made.frame.columns:
            if self._only is None or name in self._only:
                self._hold_column(stored, name, made.frame[name])

    def _hold_column(self, stored: StoredFragment, name: str, series: nw.Series) -> None:
        size = byte_size(series)
        with self._lock:
            leaving = self._make_room(size)
            if leaving is not None:
                self._put(stored, name, StoredColumn(series, size, self._clock))
        for owner, other, column in [(stored, name, series)] if leaving is None else leaving:
            self._spill(owner, other, column)

    def _spill(self, stored: StoredFragment, name: str, series: nw.Series) -> None:
        spilled = self._disk.write(series, byte_size(series))
        if spilled is not None:
            with self._lock:
                self._put(stored, name, StoredColumn(spilled, 0, self._clock))

    def _make_room(self, size: int) -> list[tuple[StoredFragment, str, nw.Series]] | None:
        """Let go of as much as so many bytes need, and return what left; None where there is not so much to let go."""
        stale, excess = [], self.memory + size - self._budget
        fragments = sum(map(len, self._fragments.values()))
        for column, (owner, name) in self._recent.items():
            if excess <= 0 or self._clock - column.used <= _SCANS * fragments:
                break
            stale.append((owner, name, column.data))
            excess -= column.size
        if excess > 0:
            return None
        for owner, name, _ in stale:
            self._let_go(owner, name)
        return stale  # type: ignore[return-value]

    def _put(self, stored: StoredFragment, name: str, column: StoredColumn) -> None:
        if name in stored.columns or not stored.is_live:  # by another thread
            self._discard(column)
            return
        stored.columns[name] = column
        if isinstance(column.data, SpilledColumn):
            return
        self._recent[column] = stored, name
        self.memory += column.size
        coded.hold(nw.to_native(column.data))

    def _empty(self, stored: StoredFragment) -> None:
        with self._lock:
            for name in list(stored.columns):
                self._let_go(stored, name)

    def _remove(self, stored: StoredFragment) -> None:
        self._empty(stored)
        stored.is_live = False
        self._fragments[stored.key].remove(stored)

    def _let_go(self, stored: StoredFragment, name: str) -> None:
        with self._lock:
            column = stored.columns.pop(name, None)
            if column is not None:
                self._discard(column)

    def _discard(self, column: StoredColumn) -> None:
        if isinstance(column.data, SpilledColumn):
            self._disk.remove(column.data)
        elif self._recent.pop(column, None) is not None:
            self.memory -= column.size
            coded.let_go(nw.to_native(column.data))


def _part(columns: dict[str, nw.Series], whole: Fragment, part: Fragment) -> nw.DataFrame:
    """Return the rows of a part of a fragment."""
    first = part.start - whole.start
    return assemble(list(columns.values()))[first : first + part.rows]


_stores: dict[str, RowStore] = {}
_lock = threading.RLock()


def store_of(persistence: Persistence, kind: Kind) -> RowStore:
    """Return what this process holds of the rows of a dataset."""
    with _lock:
        if persistence.name not in _stores:
            _stores[persistence.name] = RowStore(persistence, kind)
        return _stores[persistence.name]


def forget(prefix: str) -> None:
    """Let go of the rows of all datasets whose names begin so."""
    with _lock:
        stores = [_stores.pop(name) for name in list(_stores) if name.startswith(prefix)]
    for store in stores:
        store.close()


def usage_of(name: str) -> Usage:
    """Return what this process holds under a name."""
    with _lock:
        store = _stores.get(name)
    return Usage(0, 0, 0) if store is None else Usage(store.held, store.memory, store.disk)
