"""Frames to the tensors of one rank, read once and kept on its device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import torch

from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.classes import label_codes
from penstock.stages.training._finite import finite_matrix
from penstock.statistics.rules import ColumnRules, refuse, valid_rows


@dataclass(frozen=True)
class Rows:
    """Some rows on one device.

    Attributes
    ----------
    features : torch.Tensor
        float32 of shape (rows, features).
    codes : torch.Tensor or None
        int64 of shape (rows, categories): 0 for what was not seen at fit, otherwise one more than the value.
    label : torch.Tensor
        Places of classes (int64), or numbers (float32).
    weight : torch.Tensor
        float32.
    """

    features: torch.Tensor
    codes: torch.Tensor | None
    label: torch.Tensor
    weight: torch.Tensor

    def __len__(self) -> int:
        return len(self.label)

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """What the module is called with."""
        return (self.features,) if self.codes is None else (self.features, self.codes)

    def take(self, places: torch.Tensor) -> Rows:
        """Return the rows at these places."""
        codes = None if self.codes is None else self.codes[places]
        return Rows(self.features[places], codes, self.label[places], self.weight[places])


@dataclass(frozen=True)
class ToRows:
    """Turns a frame into rows.

    Parameters
    ----------
    features, categories : tuple of str
    cardinalities : tuple of int
        How many codes each category has, 0 included.
    label : str
    classes : tuple or None
        Labels become their place among these; None takes them as numbers.
    weight : str or None
    checks : sequence of (str, Rule)
        What the columns must be; training data was checked before, validation data only here.
    """

    features: tuple[str, ...]
    categories: tuple[str, ...]
    cardinalities: tuple[int, ...]
    label: str
    classes: tuple[Any, ...] | None
    weight: str | None
    checks: ColumnRules

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return (*self.features, *self.categories, self.label) + (() if self.weight is None else (self.weight,))

    def __call__(self, frame: nw.DataFrame) -> Rows:
        """Convert one frame.

        Raises
        ------
        DataValueError
            A value breaks one of the checks, is too large for float32, or is none of the classes.
        """
        refuse(self.checks, valid_rows(frame, self.checks)[1])
        features = tensor(finite_matrix(frame, self.features, "float32"))
        weight = features.new_ones(len(frame))
        if self.weight is not None:
            weight = tensor(finite_matrix(frame, (self.weight,), "float32"))[:, 0]
        return Rows(features, codes(frame, self.categories, self.cardinalities), self._labels(frame), weight)

    def _labels(self, frame: nw.DataFrame) -> torch.Tensor:
        if self.classes is None:
            return tensor(finite_matrix(frame, (self.label,), "float32"))[:, 0]
        return tensor(label_codes(frame, self.label, self.classes)).long()

    def empty(self, device: torch.device) -> Rows:
        """Return no rows, for a rank that has none."""
        label = torch.float32 if self.classes is None else torch.int64
        no_codes = torch.empty((0, len(self.categories)), dtype=torch.int64, device=device)
        return Rows(
            torch.empty((0, len(self.features)), device=device),
            no_codes if self.categories else None,
            torch.empty(0, dtype=label, device=device),
            torch.empty(0, device=device),
        )


def read(rank: Rank, name: str, convert: ToRows, device: torch.device, *, everything: bool = False) -> Rows:
    """Return this rank's rows of a dataset, or those of all ranks, in its order; no training changes them."""
    return rank.prepared(
        (name, convert, device, everything), lambda: _read(rank, name, convert, device, everything=everything)
    )


def _read(rank: Rank, name: str, convert: ToRows, device: torch.device, *, everything: bool) -> Rows:
    batches = rank.all_batches if everything else rank.batches
    parts = [convert.empty(device), *batches(name, convert.columns, convert)]
    coded = [part.codes for part in parts if part.codes is not None]
    return Rows(
        torch.cat([part.features for part in parts]),
        torch.cat(coded) if coded else None,
        torch.cat([part.label for part in parts]),
        torch.cat([part.weight for part in parts]),
    )


def tensor(values: Any) -> torch.Tensor:
    """Return a matrix as a tensor on its device, NumPy's or CuPy's memory shared where it may be written to."""
    if isinstance(values, np.ndarray):
        return torch.from_numpy(np.require(values, requirements=["C", "W"]))
    return torch.from_dlpack(values)


def codes(frame: nw.DataFrame, columns: Sequence[str], cardinalities: Sequence[int]) -> torch.Tensor | None:
    """Return codes for embeddings, see `Rows`; null becomes 0 too. None where there are no categories.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> codes(frames.from_arrow(pa.table({"c": [0, 1, 2, None, -1]})), ["c"], [3]).tolist()
    [[1], [2], [0], [0], [0]]
    """
    if not columns:
        return None
    values = tensor(matrices.to_matrix(frame, columns, "float64"))
    known = (values >= 0) & (values < values.new_tensor(cardinalities) - 1)
    return torch.where(known, values + 1, 0).long()
