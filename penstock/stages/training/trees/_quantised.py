"""The matrices of a rank that XGBoost learns from and watches: made once for all trainings on the same rows."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Self

import xgboost as xgb

from penstock.spmd import Rank
from penstock.stages.training.trees import _bins
from penstock.stages.training.trees._groups import bring_together
from penstock.stages.training.trees._matrix import Batches, ToBatch


class QuantisedInputs:
    """A rank's rows, read before the ranks meet, and the matrices that are made of them when they have met.

    Parameters
    ----------
    rank : Rank
    convert : ToBatch
    folder : str or None
        Of the files of a training from external memory.

    Attributes
    ----------
    names : list of str or None
        Of the columns of the matrices.
    beyond : mapping of str to int
        What `_float32` has to say of the features of this rank; all of it once the matrices are made.
    """

    def __init__(self, rank: Rank, convert: ToBatch, folder: str | None = None) -> None:
        converts = dict.fromkeys(rank.datasets, convert)
        converts["train"] = replace(convert, numbered=rank.numbers_rows("train"))
        caches = {name: None if folder is None else os.path.join(folder, name) for name in rank.datasets}
        self._batches = {name: Batches(rank, name, converts[name], caches[name]) for name in rank.datasets}
        self._sample = _bins.sample(rank, self._batches["train"])
        self._made: list[xgb.DMatrix] = []
        self.names = convert.names
        self.beyond: Mapping[str, int] = {}

    @classmethod
    def of(cls, rank: Rank, convert: ToBatch, settings: Mapping[str, Any], folder: str | None) -> Self:
        """Return the inputs of a training; those of an earlier one with such bins, unless files go with each."""
        if folder is not None:
            return cls(rank, convert, folder)
        key: Hashable = (cls, convert.key, settings.get("max_bin"))
        return rank.prepared(key, lambda: cls(rank, convert))

    def matrices(self, rank: Rank, settings: Mapping[str, Any]) -> list[xgb.DMatrix]:
        """Return the matrix to learn from, and after it that to watch, if any; all ranks call it at the same time."""
        if not self._made:
            self._made = self._quantised(rank, settings)
            self.beyond = self._batches["train"].beyond
            self._batches, self._sample = {}, None
        return self._made

    def _quantised(self, rank: Rank, settings: Mapping[str, Any]) -> list[xgb.DMatrix]:
        reference = _bins.cut(rank, self._sample, self.names, settings)
        for each in self._batches.values():
            if each.grouped:
                bring_together(rank, each)
        train = _matrix(self._batches["train"], settings, reference)
        watched = [_matrix(self._batches["validation"], settings, train)] if "validation" in self._batches else []
        return [train, *watched]


def _matrix(batches: Batches, settings: Mapping[str, Any], reference: Any) -> xgb.DMatrix:
    make = xgb.ExtMemQuantileDMatrix if batches.external else xgb.QuantileDMatrix
    matrix = make(batches, ref=reference, max_bin=settings.get("max_bin"), nthread=settings["nthread"])
    batches.release()
    return matrix
