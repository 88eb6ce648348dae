"""What a run is about to put where in a store, and how anybody who finds it brings it to an end.

An intent is an object beside the first target of a run. It is complete when it is written: what the heads of the
targets (a manifest, a page) are to be lies beside them, sealed. To carry it out

1. a lock is made at each target, in the order of their paths, which names the intent; who finds the lock of another
   intent carries that out first;
2. with all locks held, the heads are compared with what they were when the run began, and the intent is replaced by
   one that says whether it is committed or given up: the first to write that decides;
3. of one that is committed, each head is replaced, on the condition that it is what it was;
4. the locks are removed.

Every step is conditional on what it replaces, so that it can be done twice, or by several at once: nobody waits for a
run that has died, and nobody has to know whether one has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.core.errors import CorruptFileError
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.stores.names import StoreTarget
from penstock.io.sinks.stores.store import ObjectStore, logger
from penstock.io.sinks.strict_json import Json, encode_json, read_json

_LIMIT = 2**20
PENDING, COMMITTED, ABANDONED = "pending", "committed", "abandoned"


@dataclass(frozen=True)
class StoreChange:
    """What becomes of one target.

    Parameters
    ----------
    target : StoreTarget
    before : str or None
        The version of the head when the run began; None for none.
    removes : bool
        Whether the output is removed, and not replaced by what is sealed.
    """

    target: StoreTarget
    before: str | None
    removes: bool = False

    def make(self, store: ObjectStore, run_id: str) -> None:
        """Replace the head, unless that has been done."""
        if self.removes:
            if self.before is not None:
                store.remove(self.target.head, self.before)
        elif (sealed := store.read(self.target.sealed(run_id))) is not None:
            store.replace(self.target.head, sealed.content, self.before)
        failpoint("head-replaced")


@dataclass(frozen=True)
class Intent:
    """The changes of one run, and whether they are to be made.

    Parameters
    ----------
    run_id : str
    changes : sequence of StoreChange
        In the order of their targets.
    state : {"pending", "committed", "abandoned"}
    """

    run_id: str
    changes: Sequence[StoreChange]
    state: str = PENDING

    @property
    def path(self) -> str:
        """Where it lies."""
        return self.changes[0].target.intent(self.run_id)

    def encode(self) -> bytes:
        """Return its bytes."""
        changes: list[Json] = [
            {"target": change.target.encode(), "before": change.before, "removes": change.removes}
            for change in self.changes
        ]
        return encode_json({"run_id": self.run_id, "state": self.state, "changes": changes}, _LIMIT, path=self.path)

    def decide(self, store: ObjectStore, version: str) -> None:
        """Say whether the changes are to be made; nothing happens if somebody else has said it."""
        versions = [(change.before, store.read(change.target.head)) for change in self.changes]
        unchanged = all(before == (now.version if now else None) for before, now in versions)
        decided = replace(self, state=COMMITTED if unchanged else ABANDONED)
        store.replace(self.path, decided.encode(), version)
        failpoint("decided")


def carry_out(store: ObjectStore, path: str) -> bool | None:
    """Bring an intent to an end, whoever's it is; return whether it was committed, None where it is not there."""
    intent = _load(store, path)
    if intent is None or not _is_owned(store, intent[0]):
        return None
    try:
        if intent[0].state == PENDING:
            for change in intent[0].changes:
                _lock(store, change.target, path)
                failpoint("target-locked")
            if (locked := _load(store, path)) is None:
                return None
            if locked[0].state == PENDING:
                locked[0].decide(store, locked[1])
        decided = _load(store, path)
        if decided is None:
            return None
        if decided[0].state == COMMITTED:
            for change in decided[0].changes:
                change.make(store, decided[0].run_id)
        return decided[0].state == COMMITTED
    finally:
        for change in intent[0].changes:
            _unlock(store, change.target, path)


def give_up(store: ObjectStore, path: str) -> bool:
    """Say that an intent is not to be carried out; return whether it has been decided that it is."""
    intent = _load(store, path)
    if intent is not None and intent[0].state == PENDING:
        store.replace(path, replace(intent[0], state=ABANDONED).encode(), intent[1])
        intent = _load(store, path)
    return intent is not None and intent[0].state == COMMITTED


def settle(store: ObjectStore, target: StoreTarget) -> None:
    """Bring to an end the intent whose lock lies at a target, if one does."""
    while (lock := store.read(target.lock)) is not None:
        carry_out(store, lock.content.decode(errors="replace"))
        store.remove(target.lock, lock.version)


def _lock(store: ObjectStore, target: StoreTarget, path: str) -> None:
    while not store.replace(target.lock, path.encode(), None):
        settle(store, target)


def _unlock(store: ObjectStore, target: StoreTarget, path: str) -> None:
    lock = store.read(target.lock)
    if lock is not None and lock.content == path.encode():
        store.remove(target.lock, lock.version)


def _load(store: ObjectStore, path: str) -> tuple[Intent, str] | None:
    """Return an intent and the version of its object; None for one that is not there, or is none."""
    found = store.read(path)
    if found is None:
        return None
    try:
        intent = _decode(read_json(found.content, _LIMIT, path=path))
    except CorruptFileError:
        intent = None
    if intent is None or intent.path != path:
        logger.warning("%s is no intent of a run, and is left alone", store.show(path))
        return None
    return intent, found.version


def _is_owned(store: ObjectStore, intent: Intent) -> bool:
    """Return whether a run of that name is at work at every target, as who may write to all of them only can say."""
    return all(store.read(change.target.owner(intent.run_id)) is not None for change in intent.changes)


def _decode(document: Json) -> Intent | None:
    match document:
        case {"run_id": str(run_id), "state": str(state), "changes": [_, *_] as changes}:
            decoded = [change for change in map(_decode_change, changes) if change is not None]
            return Intent(run_id, decoded, state) if len(decoded) == len(changes) else None
    return None


def _decode_change(document: object) -> StoreChange | None:
    match document:
        case {"target": str(target), "before": str() | None as before, "removes": bool(removes)}:
            return StoreChange(StoreTarget.decode(target), before, removes)
    return None
