"""Rows after some steps, read as if they were stored so: once they are made they are held, with what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import narwhals as nw
import pyarrow as pa

from penstock.dataset.steps import PassiveStep, RowLog, Step, history
from penstock.dataset.tasks import ReadTask
from penstock.frames import ROW, Kind
from penstock.io.fragments import Fragment, Piece, Sample
from penstock.io.persisted import FragmentRows, store_of
from penstock.io.sources.base import Reader, RowAccount


@dataclass(frozen=True)
class PreparedSchema:
    """The source of prepared rows: their columns. Rows are read by fragment, by `PreparedReader`."""

    schema: pa.Schema

    def read(self, piece: Piece, columns: Sequence[str], kind: Kind) -> nw.DataFrame[Any]:
        raise NotImplementedError("prepared rows are read by fragment")


@dataclass(frozen=True)
class PreparedReader(Reader):
    """Reads what steps make of fragments, and holds it.

    Parameters
    ----------
    rows : ReadTask
        The reader and the steps.
    """

    rows: ReadTask = field(kw_only=True)

    @property
    def sampled_times(self) -> int:
        return self.rows.reader.sampled_times

    def sampled(self, sample: Sample) -> Self:
        """Return a reader of what the steps make of those of the rows that a sample keeps."""
        inner = self.rows.reader.sampled(sample)
        return replace(self, samples=inner.samples, rows=replace(self.rows, reader=inner))

    def read(self, fragment: Fragment, columns: Sequence[str], kind: Kind) -> nw.DataFrame[Any]:
        """Return a frame of `columns`, which may name ``__row__`` where the steps leave row numbers."""
        return self.read_accounted(fragment, columns, kind, RowLog())

    def read_accounted(
        self, fragment: Fragment, columns: Sequence[str], kind: Kind, account: RowAccount
    ) -> nw.DataFrame[Any]:
        """Read a fragment, and say of its rows again what was said when they were made."""
        makes_rows = any(step.makes_rows for step in self.rows.steps)
        wanted = [name for name in columns if name != ROW or not makes_rows] or self.source.schema.names[:1]
        version = self.rows.reader.version(fragment)
        if self.persistence is None or self.persistence.released or version is None:
            rows = self._made(fragment, wanted, kind)
        else:
            rows = store_of(self.persistence, kind).read(
                fragment,
                wanted,
                version,
                lambda names: self._made(fragment, names, kind),
                variant=self.samples,
                mixes=not makes_rows,
            )
        account.repeat(rows.note)
        return rows.frame

    def _made(self, fragment: Fragment, columns: Sequence[str], kind: Kind) -> FragmentRows:
        log = RowLog()
        frame = replace(self.rows, columns=tuple(columns), kind=kind).frame(fragment, log)
        log.kept = 0  # those that are kept to the end are counted there
        unparsed = self.rows.reader.unparsed(fragment).num_rows > 0
        # Rows that a step sets aside have the columns that it was given.
        return FragmentRows(frame, log, is_whole=len(log.tables) > unparsed)


@dataclass(frozen=True)
class Persisted(PassiveStep):
    """Stands for the steps that rows have gone through before they were held.

    Parameters
    ----------
    steps : tuple of Step
    samples : tuple of Sample
        By which rows were chosen before.
    keeps_rows, makes_rows : bool
        What is true of all of the steps, and of any.
    """

    steps: tuple[Step, ...]
    samples: tuple[Sample, ...]
    keeps_rows: bool
    makes_rows: bool

    @classmethod
    def of(cls, steps: Sequence[Step], samples: tuple[Sample, ...]) -> Persisted:
        """Return what stands for `steps`."""
        keeps_rows, makes_rows = all(step.keeps_rows for step in steps), any(step.makes_rows for step in steps)
        return cls(tuple(steps), samples, keeps_rows, makes_rows)

    label = "persisted rows"

    @property
    def history(self) -> tuple[Step, ...]:
        return history(self.steps)
