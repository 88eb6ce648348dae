"""Put all outputs of a run that lie in one store in place together: every one of them, or none.

1. Entering, before any work: intents of other runs at the targets are carried out, what dead runs left is removed,
   and each output notes the version of what lies at its target and records its owner.
2. Parts are put where they stay; nobody takes them for rows, since no manifest lists them. Each output is sealed: what
   its head (the manifest; of a file, the file) is to be is put beside it.
3. The intent is written, and carried out (see `penstock.io.sinks.stores.intent`). If one head is not what it was on
   entering, another run has won: nothing is changed.
4. What was replaced is removed, then what was sealed, and last the record.

A process killed before the intent is written has changed nothing, and after that all: whoever enters one of the targets
carries the intent out. A reader between two replacements of heads may see the new model and the old scores; both name
their run.
"""

from __future__ import annotations

from typing import Self

from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.stores.intent import Intent, carry_out, give_up
from penstock.io.sinks.stores.output import StoreOutput


class StoreCommit:
    """The outputs of one run in one store, which appear at their targets together or not at all.

    Parameters
    ----------
    *outputs : StoreDirectory or StoreFile
        Of one run id, with targets apart from each other.

    Raises
    ------
    OutputExistsError
        On entering: a target exists and may not be replaced.
    CommitConflictError
        On entering: this run already writes to a target. On commit: another run changed one of them meanwhile.
    OutputError
        The store refused. Targets are as they were.
    """

    def __init__(self, *outputs: StoreOutput) -> None:
        self.outputs = sorted(outputs, key=lambda output: output.place.path)
        self._committed = False

    def __enter__(self) -> Self:
        """Settle what other runs left, check that the targets may be written, and record who does."""
        try:
            for output in self.outputs:
                output.claim([each.place for each in self.outputs])
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was put there and not committed."""
        self._close()

    def commit(self) -> None:
        """Put every output in its place; each must have been sealed, or left out."""
        changes = [change for output in self.outputs if (change := output.change()) is not None]
        if changes:
            self._carry_out(Intent(self.outputs[0].run_id, changes))
        self._committed = True
        self._close()

    def _carry_out(self, intent: Intent) -> None:
        store = self.outputs[0].store
        try:
            store.put(intent.path, intent.encode())
            failpoint("intent-written")
            committed = carry_out(store, intent.path)
        except BaseException:
            committed = self._save(intent)
            if not committed:
                raise
        failpoint("carried-out")
        if not committed:
            changed = next((output for output in self.outputs if not output.is_unchanged()), self.outputs[0])
            raise changed.refuse_conflict()

    def _save(self, intent: Intent) -> bool:
        """Give up what failed, or carry it out if that was decided; where the store does not answer, leave it all."""
        store = self.outputs[0].store
        try:
            return give_up(store, intent.path) and bool(carry_out(store, intent.path))
        except BaseException:
            for output in self.outputs:
                output.leave()
            raise

    def _close(self) -> None:
        for output in self.outputs:
            output.release(committed=self._committed)
        self._committed = False
