"""What becomes of that which runs left at a target in a store: intents are carried out, the rest is removed.

Which objects nobody will list any more is seen from three looks, in this order: the parts that lie there, the records
of owners, the manifest. A run makes its record before its first part, and removes it after its commit. So a part of a
run that has no record, and is not in the manifest then, belongs to no run at work and to no output.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from penstock.core.errors import PenstockError
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.locks import Owner
from penstock.io.sinks.manifest import Manifest
from penstock.io.sinks.stores.intent import carry_out, settle
from penstock.io.sinks.stores.names import StoreTarget, run_of
from penstock.io.sinks.stores.store import ObjectInfo, ObjectStore, logger

ABANDONED_SECONDS = 86_400.0
"""A run of another host, of which nobody here can tell whether it lives, is taken for dead when it is older."""


def recover(store: ObjectStore, target: StoreTarget) -> None:
    """Bring to an end what other runs began at a target, and remove what dead ones left; the living are not touched."""
    settle(store, target)
    for run_id, info in owner_records(store, target.control).items():
        record = store.read(target.owner(run_id))
        if record is None:
            continue
        owner = Owner.decode(record.content)
        if is_dead(owner, info):
            _clean_up(store, run_id, _group(store, target, run_id, owner))
        elif owner is None or not owner.is_here():
            message = "%s belongs to host %s (%.0f s old); it is removed when it is a day old"
            logger.warning(message, store.show(target.path), owner.host if owner else "unknown", _age(info))
    if not target.is_file and (count := discard_orphans(store, target)):
        logger.warning("removed %d file(s) from %s that runs had left", count, store.show(target.path))


def discard_orphans(store: ObjectStore, target: StoreTarget) -> int:
    """Remove parts that no manifest lists and whose runs are over; return how many there were."""
    named = {name: run for name in store.list(target.path) if (run := run_of(name)) is not None}
    if not named:
        return 0
    at_work = owner_records(store, target.control).keys()
    listed = listed_files(store, target)
    if listed is None:
        return 0
    left = sorted(name for name, run in named.items() if run not in at_work and name not in listed)
    store.discard(f"{target.path}/{name}" for name in left)
    return len(left)


def listed_files(store: ObjectStore, target: StoreTarget) -> frozenset[str] | None:
    """Return the files of the manifest at a target, none where there is no manifest; None for one that is damaged."""
    head = store.read(target.head)
    if head is None:
        return frozenset()
    try:
        manifest = Manifest.decode(head.content, path=store.show(target.head))
    except PenstockError:
        return None
    return frozenset(entry.path for entry in manifest.files)


def discard_run(store: ObjectStore, target: StoreTarget, run_id: str) -> None:
    """Remove what a run that is over has at a target and no manifest lists; the record of its owner last."""
    gone = True
    if not target.is_file:
        own = [name for name in store.list(target.path) if run_of(name) == run_id]
        listed = listed_files(store, target) if own else frozenset()
        left = [] if listed is None else [name for name in own if name not in listed]
        gone = store.discard(f"{target.path}/{name}" for name in left)
    if store.discard([target.intent(run_id), target.sealed(run_id)]) and gone:
        failpoint("left-removed")
        store.discard([target.owner(run_id)])
        failpoint("finished")


def _clean_up(store: ObjectStore, run_id: str, group: list[StoreTarget]) -> None:
    if carry_out(store, group[0].intent(run_id)) is not None:
        logger.warning("run %s died while it put its outputs in place; that is brought to an end", run_id)
        failpoint("settled")
    for target in group:
        discard_run(store, target, run_id)
        if not target.is_file:
            discard_orphans(store, target)
        logger.warning("removed what run %s, which died, had left at %s", run_id, store.show(target.path))


def _group(store: ObjectStore, target: StoreTarget, run_id: str, owner: Owner | None) -> list[StoreTarget]:
    """Return all targets of a run at which a record says the same, the first of them first."""
    named = [StoreTarget.decode(text) for text in owner.targets] if owner else []
    group = [other for other in named if _says(store, other, run_id, owner)]
    return group or [target]


def _says(store: ObjectStore, target: StoreTarget, run_id: str, owner: Owner | None) -> bool:
    record = store.read(target.owner(run_id))
    return record is not None and Owner.decode(record.content) == owner


def owner_records(store: ObjectStore, folder: str) -> Mapping[str, ObjectInfo]:
    """Return the records of owners that lie in a folder, by what they are the owners of."""
    found = store.list(folder).items()
    return {name.removesuffix(".owner"): info for name, info in found if name.endswith(".owner") and "/" not in name}


def is_dead(owner: Owner | None, info: ObjectInfo, patience: float = ABANDONED_SECONDS) -> bool:
    """Return whether an owner of this host has ended, or the record of another is older than so many seconds."""
    if owner is not None and owner.is_here():
        return not owner.is_alive()
    return bool(info.mtime) and _age(info) > patience


def _age(info: ObjectInfo) -> float:
    return time.time() - info.mtime if info.mtime else 0.0
